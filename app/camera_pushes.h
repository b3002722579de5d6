// All push targets of one output in the publisher.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/config.h"
#include "core/packet.h"
#include "stages/sinks/pusher.h"

namespace campipe {

class CameraPushes {
 public:
  // `url`: for people. On a thread of the target's; it has been logged.
  using StateHandler = std::function<void(const std::string& url, PushState state, const std::string& reason)>;

  CameraPushes(const CameraConfig& config, const StateHandler& on_state);
  // Gives the targets a moment for what they have not got yet: at most a second, for all of them together.
  ~CameraPushes();
  CameraPushes(const CameraPushes&) = delete;
  CameraPushes& operator=(const CameraPushes&) = delete;

  // To each of them. Never waits.
  void offer(const PacketView& packet, const StreamParameters& stream);

 private:
  std::string camera_;
  std::vector<std::unique_ptr<Pusher>> pushers_;
};

}  // namespace campipe
