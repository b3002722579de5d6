// A network between a rig and its camera: hands connections to one port of this machine on to another one, and stalls
// or breaks when it is told to. All ends with the object.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/unique_handle.h"

namespace campipe::test {

class TcpRelay {
 public:
  explicit TcpRelay(int target_port);
  ~TcpRelay();
  TcpRelay(const TcpRelay&) = delete;
  TcpRelay& operator=(const TcpRelay&) = delete;

  [[nodiscard]] int port() const { return port_; }
  // Nothing comes through until resume(); nothing is lost here, and what has no room waits at the sender.
  void pause() { inwards_paused_ = outwards_paused_ = true; }
  // Likewise, one direction alone: from who has connected, or to it.
  void pause_inwards() { inwards_paused_ = true; }
  void pause_outwards() { outwards_paused_ = true; }
  void resume() { inwards_paused_ = outwards_paused_ = false; }
  // Closes all connections; new ones may come.
  void cut();

 private:
  struct Connection {
    UniqueFd outside;
    UniqueFd inside;
  };
  void accept_connections(const std::stop_token& stop);
  void pump(const std::stop_token& stop, const Connection& connection, int cuts);  // until there are more cuts

  int target_port_;
  int port_ = 0;
  UniqueFd listener_;
  std::atomic<bool> inwards_paused_{false};
  std::atomic<bool> outwards_paused_{false};
  std::atomic<int> cuts_{0};
  std::vector<std::jthread> pumps_;  // of accept_connections()
  std::jthread thread_;
};

}  // namespace campipe::test
