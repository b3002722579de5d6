// An RTSP camera of a test: H.264 by RTP in the connection itself (TCP, interleaved) or by UDP, PCMU beside it where it
// was set up, and whatever answers a test wants.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/unit/peers.h"

namespace campipe::test {

std::string header_of(const std::string& request, const std::string& name);

class RtspCamera {
 public:
  struct Rules {
    std::string h264;               // Annex B
    std::string h264_later = {};    // from the second time on that it plays; empty: the same
    std::string more = {};          // of the description, behind the video's part: other tracks
    std::string before = {};        // before it
    std::string control = "video";  // of its video
    bool udp = false;               // it takes that, too
    unsigned frames = 0;            // it sends so many, and closes the connection; 0: it goes on
    // Of a request: the status line's end ("500 Internal Server Error") with what else it is answered with, each line
    // with its end; empty: it is obeyed; "hangs up": the connection is closed.
    std::function<std::string(const std::string& request)> refusal = {};
    // How it writes what it answers otherwise.
    std::function<std::string(const std::string& answer)> writes = {};
  };
  explicit RtspCamera(Rules rules);

  [[nodiscard]] int port() const { return server_->port(); }
  [[nodiscard]] int connections() const { return server_->connections(); }
  [[nodiscard]] std::string url(const std::string& user = "") const {
    return "rtsp://" + user + "127.0.0.1:" + std::to_string(port()) + "/s";
  }
  // All requests so far that begin with `method`.
  [[nodiscard]] std::vector<std::string> requests(const std::string& method) const;

 private:
  void serve(int fd, const std::atomic<bool>& over);
  // Where a track goes: a channel of the connection, or a port of UDP.
  struct Place {
    int channel = 0;
    int port = 0;
  };
  using Places = std::map<std::string, Place>;
  std::string answer_to(const std::string& request, Places& places) const;
  using Frames = std::vector<std::vector<std::string>>;  // the units of each
  void play(int fd, const std::atomic<bool>& over, Places places, const Frames& frames);
  [[nodiscard]] bool send_packet(int fd, const Place& place, const std::string& packet) const;

  Rules rules_;
  Frames frames_;
  Frames later_;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::atomic<int> played_ = 0;
  UniqueFd udp_ = bind_any(SOCK_DGRAM);
  std::unique_ptr<Server> server_;
};

}  // namespace campipe::test
