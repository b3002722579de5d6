#include "app/publisher/server/login_limit.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "core/log.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr int free_failures = 5;
constexpr auto longest_lock = 60s;
constexpr auto forgotten_after = 15min;
constexpr std::size_t most_networks = 10'000;  // who has more addresses than that is not stopped by counting them

std::chrono::seconds wait_after(int failures) {
  constexpr int most_doublings = 6;
  if (failures < free_failures) return 0s;
  return std::min<std::chrono::seconds>(1s * (1 << std::min(failures - free_failures, most_doublings)), longest_lock);
}

}  // namespace

std::string network_of(const std::string& address) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  if (::inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) return address;
  // IPv4 as a socket of both kinds writes it: each of them is an address of its own.
  constexpr std::array<unsigned char, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  const bool is_ipv4 = std::equal(mapped.begin(), mapped.end(), bytes.begin());
  if (!is_ipv4) std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(is_ipv4 ? AF_INET : AF_INET6, bytes.data() + (is_ipv4 ? mapped.size() : 0), text.data(), text.size());
  return is_ipv4 ? text.data() : std::string(text.data()) + "/64";
}

int LoginLimit::wait_s(const std::string& address, Clock::time_point now) const {
  const auto found = networks_.find(network_of(address));
  if (found == networks_.end() || found->second.until <= now) return 0;
  return static_cast<int>(std::chrono::ceil<std::chrono::seconds>(found->second.until - now).count());
}

void LoginLimit::failed(const std::string& address, Clock::time_point now) {
  std::erase_if(networks_, [now](const auto& entry) { return now - entry.second.last > forgotten_after; });
  const std::string network = network_of(address);
  if (networks_.size() >= most_networks && !networks_.contains(network)) {
    networks_.erase(std::ranges::min_element(networks_, {}, [](const auto& entry) { return entry.second.last; }));
  }
  Failures& failures = networks_[network];
  if (failures.until > now) return;
  const auto wait = wait_after(++failures.count);
  failures.last = now;
  failures.until = now + wait;
  failures.asked.clear();
  if (wait > 0s) spdlog::warn("{}: {} logins failed; the next waits {} s", network, failures.count, wait.count());
}

bool LoginLimit::may_ask_memory(const std::string& address, const std::string& user) const {
  const auto found = networks_.find(network_of(address));
  if (found == networks_.end()) return true;
  const auto asked = found->second.asked.find(user);
  return asked == found->second.asked.end() || asked->second < free_failures;
}

void LoginLimit::forgot(const std::string& address, const std::string& user) {
  if (const auto found = networks_.find(network_of(address)); found != networks_.end()) ++found->second.asked[user];
}

}  // namespace campipe
