// Whatever comes over a connection to the real RTSP server: it lives, ends the connection when its client does, and
// answers the next one. Without users, so that all of it can be reached; who is let in is rtsp_auth_fuzz's.
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>

#include "app/publisher/server/rtsp/server.h"
#include "core/clock.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/quiet.h"
#include "tests/unit/live_camera.h"
#include "tests/unit/peers.h"
#include "tests/unit/rtsp_wire.h"

namespace campipe::fuzz {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 30s;
constexpr std::size_t most_memory = 512U << 20U;  // more than after the first input

class Server {
 public:
  Server() {
    rig_.add_stream("dock", camera_.stream());
    config_.rtsp_address = "127.0.0.1:" + std::to_string(port_);
    server_ = std::make_unique<RtspServer>(config_, rig_, access_, std::set<std::string>{"dock"});
    const auto deadline = Clock::now() + patience;
    while (!camera_.stream()->parameters() && Clock::now() < deadline) std::this_thread::sleep_for(10ms);
    require(answers(), "the server begins");
  }

  [[nodiscard]] test::RtspWire connect() const { return test::RtspWire(port_); }
  [[nodiscard]] bool answers() const { return connect().ask("OPTIONS", "/dock").status == 200; }

 private:
  int port_ = test::free_port();
  ServerConfig config_;
  RigView rig_{[](const messages::Request&) {}};
  Access access_{config_};
  test::LiveCamera camera_{test::encode(Latency::low, test::steady(50))};
  std::unique_ptr<RtspServer> server_;
};

std::size_t memory() {
  std::size_t all = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void check(const std::string& input) {
  be_silent();
  static const auto* const server = new Server;  // as the process ends, it is still going
  test::RtspWire wire = server->connect();
  // It may be refused in the midst of it.
  static_cast<void>(wire.send(input));
  ::shutdown(wire.fd(), SHUT_WR);
  require(wire.is_closed(Clock::now() + patience), "the connection ends with its client", input);
  require(server->answers(), "the next one is answered", input);
  static const std::size_t memory_at_first = memory();
  require(memory() < memory_at_first + most_memory, "memory is bounded", input);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
