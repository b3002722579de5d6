#include "app/publisher/server/nodes/clocks.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "core/log.h"
#include "core/shallow_json.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using Duration = std::chrono::nanoseconds;

constexpr const char* clock_path = "/clock";
constexpr auto clock_period = 10s;
constexpr auto period_without_answer = 2s;
constexpr std::int64_t latest_utc = std::int64_t{1} << 62U;  // ns since 1970

double seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

// As people need it: microseconds are less than any bound.
double rounded(Duration time) { return std::round(seconds(time) * 1e6) / 1e6; }

std::string problem_of(const std::string& node, const std::string& own, Duration offset, Duration tolerance) {
  return fmt::format(
      "the clock of node '{}' is {:.3f} s {} that of node '{}', and {:g} s are allowed: see that NTP runs on both",
      node, std::abs(seconds(offset)), offset > 0ns ? "ahead of" : "behind", own, seconds(tolerance));
}

}  // namespace

HttpServer::Route clock_route() {
  return {clock_path, false, [](const HttpRequest&) {
            HttpAnswer answer;
            answer.body = json{{"utc_ns", utc_now_ns()}}.dump();
            return answer;
          }};
}

std::optional<std::int64_t> time_in(const Nodes::Reply& reply) {
  const json body = parse_shallow(reply.body);
  if (reply.status != 200 || !body.is_object()) return std::nullopt;
  const auto utc = body.find("utc_ns");
  const bool is_time = utc != body.end() && utc->is_number_integer() && *utc > 0 && *utc < latest_utc;
  return is_time ? std::optional(utc->get<std::int64_t>()) : std::nullopt;
}

bool is_clock_off(Duration offset, Duration bound, Duration tolerance, bool was) {
  return std::chrono::abs(offset) - bound > (was ? tolerance / 2 : tolerance);
}

void NodeClocks::tick() {
  const std::set<std::string> others = nodes_.places()->others_here();
  std::erase_if(peers_, [&](const auto& peer) { return !others.contains(peer.first); });
  for (const std::string& node : others) {
    Peer& peer = peers_[node];
    const bool is_asked = peer.reply.valid();
    if (is_asked && peer.reply.wait_for(0s) == std::future_status::ready) {
      take(peer, peer.reply.get());
    } else if (!is_asked && Clock::now() >= peer.next) {
      peer.reply = nodes_.get(node, clock_path, {node_own_header, "1"}, answer_patience);
    }
  }
}

// That a node cannot be asked is the wall's to report.
void NodeClocks::take(Peer& peer, const Nodes::Reply& reply) {
  const auto utc = time_in(reply);
  peer.next = Clock::now() + (utc ? clock_period : period_without_answer);
  if (utc) peer.clock.answered(to_ns(reply.sent), to_ns(reply.received), *utc);
}

void NodeClocks::add_to(json& cluster, const ClockReading& now) {
  const std::string own = cluster.at("node");
  const auto tolerance = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(cluster.at("clock_tolerance_s").get<double>()));
  for (auto& [node, peer] : peers_) {
    const auto found = cluster.at("nodes").find(node);
    const auto known = peer.clock.offset(now.at);
    if (found == cluster.at("nodes").end() || !known) continue;
    const Duration offset(known->value - now.offset());
    const Duration bound(known->bound);
    json& shown = (*found)["clock"] = {{"offset_s", rounded(offset)}, {"bound_s", rounded(bound)}};
    const bool was_off = std::exchange(peer.is_off, is_clock_off(offset, bound, tolerance, peer.is_off));
    const std::string problem = problem_of(node, own, offset, tolerance);
    if (peer.is_off) shown["problem"] = problem;
    if (peer.is_off && !was_off) spdlog::warn("{}", problem);
    if (!peer.is_off && was_off) spdlog::info("the clock of node '{}' is right again", node);
  }
}

}  // namespace campipe
