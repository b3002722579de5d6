// A node of a cluster in a process of its own, for cluster_agent_test: it runs nothing, but notes each 20 ms which
// cameras it would run at that moment, and with which of them it would do what must not happen twice.
//   cluster_peer NODE LOG TTL CAMERAS NODES URL…
// It plans once it has seen that many nodes, so that all of them get cameras.
// Lines of the log: monotonic ns, 'r' (runs) or 'e' (effects), camera, epoch, revision.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "app/cluster/agent.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

int run(int count, char** given) {
  const std::vector<std::string> arguments(given, given + count);
  const UniqueFd log(::open(arguments.at(2).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  NodeOffer offer{arguments.at(1), new_instance(), "127.0.0.1:8443", "test"};
  offer.capacity = {{"cores", 10}};
  const EtcdServers servers{{arguments.begin() + 6, arguments.end()}};
  ClusterAgent agent({servers, "test", std::move(offer), std::chrono::seconds(std::stoi(arguments.at(3)))});
  std::vector<ClusterCamera> cameras;
  for (int i = 0; i < std::stoi(arguments.at(4)); ++i) {
    cameras.push_back({"c" + std::to_string(i), 50, {{{"cores", 0.5}}}});
  }
  const auto nodes = static_cast<std::size_t>(std::stoi(arguments.at(5)));
  while (true) {
    const auto tick = Clock::now() + 20ms;
    auto fds = agent.fds();
    ::poll(fds.data(), fds.size(), 20);
    const ClusterAgent::View& view = agent.update(Clock::now());
    if (!cameras.empty() && view.nodes.size() == nodes) agent.set_cameras(std::exchange(cameras, {}));
    // Only now: the process may have been stopped in between.
    std::string lines;
    const auto now = Clock::now();
    std::set<std::string> own;
    for (const auto& [camera, duty] : view.duties) {
      const Fence& fence = duty.fence;
      own.insert(camera);
      const std::string of = ' ' + camera + ' ' + std::to_string(fence.epoch) + ' ' + std::to_string(fence.revision);
      lines += std::to_string(to_ns(now)) + " r" + of + '\n';
      const bool has_effects = view.effects.contains(camera) && now < view.membership.effects_end;
      if (has_effects) lines += std::to_string(to_ns(now)) + " e" + of + '\n';
    }
    agent.want_effects(std::move(own));
    std::map<std::string, std::string> recorded;
    for (const auto& [camera, duty] : view.duties) recorded[camera] = text_of(duty.fence);
    agent.set_recorded(std::move(recorded));
    if (!lines.empty() && ::write(log.get(), lines.data(), lines.size()) < 0) return 1;
    std::this_thread::sleep_until(tick);
  }
}

}  // namespace
}  // namespace campipe

int main(int count, char** arguments) { return campipe::run(count, arguments); }
