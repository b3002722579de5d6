#include "app/publisher/server/nodes/links.h"

#include <algorithm>
#include <utility>

#include "app/control/messages/links_json.h"
#include "app/control/offered_links.h"
#include "core/log.h"
#include "core/shallow_json.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr const char* links_path = "/links";
constexpr auto links_period = 1s;
constexpr std::size_t longest_links = 100'000;  // bytes: it has to fit a message to the supervisor

}  // namespace

std::optional<messages::OfferedLinks> links_in(const Nodes::Reply& reply) {
  if (reply.status != 200 || reply.body.size() > longest_links) return std::nullopt;
  try {
    nlohmann::json body = parse_shallow(reply.body);
    messages::OfferedLinks offered;
    read_json(body, offered);
    return is_possible(offered) ? std::optional(std::move(offered)) : std::nullopt;
  } catch (const BadJson&) {
    return std::nullopt;
  }
}

void NodeLinks::set(messages::ShareLinks shared) {
  std::erase_if(peers_,
                [&](const auto& peer) { return std::ranges::find(shared.ask, peer.first) == shared.ask.end(); });
  for (const std::string& node : shared.ask) peers_.try_emplace(node);
  const std::lock_guard lock(own_->mutex);
  own_->offered = std::move(shared.own);
}

HttpServer::Route NodeLinks::route() const {
  return {links_path, false, [own = own_](const HttpRequest&) {
            HttpAnswer answer;
            const std::lock_guard lock(own->mutex);
            answer.body = write_json(own->offered).dump();
            return answer;
          }};
}

std::vector<messages::PeerLinks> NodeLinks::tick() {
  std::vector<messages::PeerLinks> news;
  for (auto& [node, peer] : peers_) {
    const bool is_asked = peer.reply.valid();
    if (is_asked && peer.reply.wait_for(0s) == std::future_status::ready) {
      const Nodes::Reply reply = peer.reply.get();
      auto offered = links_in(reply);
      peer.next = Clock::now() + links_period;
      const bool is_unreadable = reply.status == 200 && !offered;
      if (is_unreadable && !peer.is_unreadable)
        spdlog::warn(
            "node '{}' offers links that are unreadable (a key, name or port that cannot be, or more than {} kB), so "
            "links with it stay as they were: upgrade or restart campipe there",
            node, longest_links / 1000);
      peer.is_unreadable = is_unreadable;
      if (!offered || offered->key.empty() || *offered == peer.offered) continue;
      peer.offered = *offered;
      news.push_back({node, *std::move(offered)});
    } else if (!is_asked && Clock::now() >= peer.next) {
      peer.reply = nodes_.get(node, links_path, {node_own_header, "1"}, answer_patience);
    }
  }
  return news;
}

}  // namespace campipe
