#include "core/name_lookup.h"

#include <netdb.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace campipe {
namespace {

constexpr auto asking = std::chrono::milliseconds(50);  // how often `stop` is asked

NameLookup::Result look_up(const std::string& host, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  if (const int status = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); status != 0)
    return {"", ::gai_strerror(status)};
  std::array<char, NI_MAXHOST> text{};
  const int status =
      ::getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  ::freeaddrinfo(found);
  if (status != 0) return {"", ::gai_strerror(status)};
  return {text.data(), ""};
}

}  // namespace

struct NameLookup::Lookup {
  std::mutex mutex;
  std::condition_variable done;
  std::optional<Result> result;
};

NameLookup::NameLookup(const std::string& host) : lookup_(std::make_shared<Lookup>()) {
  if (Result given = look_up(host, AI_NUMERICHOST); given.problem.empty()) {
    lookup_->result = std::move(given);
    return;
  }
  // Nothing waits for it where it takes too long: it owns all that it needs, and ends by itself.
  std::thread([host, lookup = lookup_] {
    Result found = look_up(host, 0);
    const std::lock_guard lock(lookup->mutex);
    lookup->result = std::move(found);
    lookup->done.notify_one();
  }).detach();
}

std::optional<NameLookup::Result> NameLookup::result() const { return wait_for({}); }

std::optional<NameLookup::Result> NameLookup::wait_for(std::chrono::nanoseconds time) const {
  std::unique_lock lock(lookup_->mutex);
  lookup_->done.wait_for(lock, time, [this] { return lookup_->result.has_value(); });
  return lookup_->result;
}

bool can_resolve(const std::string& host, const std::function<bool()>& stop) {
  if (host.empty()) return true;
  const NameLookup lookup(host);
  while (!stop()) {
    if (const auto result = lookup.wait_for(asking)) return result->problem.empty();
  }
  return false;
}

}  // namespace campipe
