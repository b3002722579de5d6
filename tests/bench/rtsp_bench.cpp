// What it costs to serve RTSP: `rtsp_bench [READERS] [SECONDS]` plays one stream of 2 Mb/s to so many readers over TCP,
// which are another process, and prints how much of one core the server took.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <vector>

#include "app/publisher/server/rtsp/server.h"
#include "core/clock.h"
#include "tests/bench/figures.h"
#include "tests/unit/live_camera.h"
#include "tests/unit/peers.h"
#include "tests/unit/rtsp_wire.h"

namespace campipe::test {
namespace {

// Until it is killed. Says `x` when all of them play.
[[noreturn]] void read_all(int port, int readers, int tell) {
  std::vector<std::unique_ptr<RtspWire>> wires;
  std::vector<pollfd> entries;
  for (int i = 0; i < readers; ++i) {
    wires.push_back(std::make_unique<RtspWire>(port));
    if (wires.back()->play("/dock") != 200) std::_Exit(1);
    entries.push_back({wires.back()->fd(), POLLIN, 0});
  }
  if (::write(tell, "x", 1) != 1) std::_Exit(1);
  for (;;) {
    ::poll(entries.data(), entries.size(), 1000);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].revents != 0 && wires[i]->receive(Clock::now()) < 0) std::_Exit(1);
    }
  }
}

void wait_for_dock(int port, const LiveCamera& camera) {
  while (!camera.stream()->parameters()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  RtspWire(port).ask("OPTIONS", "/dock");
}

int run(int readers, int seconds) {
  const int port = free_port();
  int go[2];
  int playing[2];
  if (::pipe(go) != 0 || ::pipe(playing) != 0) return 1;
  // Before there are threads.
  const pid_t child = ::fork();
  if (child == 0) {
    char letter = 0;
    if (::read(go[0], &letter, 1) != 1) std::_Exit(1);
    read_all(port, readers, playing[1]);
  }
  constexpr std::size_t packet = 2'000'000 / 8 / 25;
  LiveCamera camera(encode(Latency::low, steady(50)));
  camera.pad(packet);
  RigView rig([](const messages::Request&) {});
  rig.add_stream("dock", camera.stream());
  ServerConfig config;
  config.rtsp_address = "127.0.0.1:" + std::to_string(port);
  Access access(config);
  const RtspServer server(config, rig, access, {"dock"}, {.of_address = 1000});
  wait_for_dock(port, camera);
  char letter = 'x';
  if (::write(go[1], &letter, 1) != 1 || ::read(playing[0], &letter, 1) != 1) return 1;

  const double cpu = process_cpu_s();
  const auto begin = Clock::now();
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  const double share = (process_cpu_s() - cpu) / took;
  std::uint64_t bytes = 0;
  std::uint64_t dropped = 0;
  const nlohmann::json viewers = server.viewers();
  for (const auto& viewer : viewers) {
    bytes += viewer["bytes"].get<std::uint64_t>();
    dropped += viewer["dropped"].get<std::uint64_t>();
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  std::cout << viewers.size() << " readers, " << static_cast<double>(bytes) / 1e6 << " MB, " << dropped
            << " frames dropped, " << share * 100 << " % of one core\n";
  return 0;
}

}  // namespace
}  // namespace campipe::test

int main(int argc, char** argv) {
  return campipe::test::run(argc > 1 ? std::atoi(argv[1]) : 100, argc > 2 ? std::atoi(argv[2]) : 10);
}
