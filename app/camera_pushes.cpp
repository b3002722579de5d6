#include "app/camera_pushes.h"

#include "core/log.h"

namespace campipe {

CameraPushes::CameraPushes(const CameraConfig& config, const StateHandler& on_state) : camera_(config.name) {
  for (const std::string& url : config.push) {
    const std::string name = push_name(url);
    pushers_.push_back(
        std::make_unique<Pusher>(url, [name, on_state, camera = camera_](PushState state, const std::string& reason) {
          if (state == PushState::connected) {
            spdlog::info("{}: pushes to {}", camera, name);
          } else {
            spdlog::warn("{}: cannot push to {}: {}", camera, name, reason);
          }
          on_state(name, state, reason);
        }));
  }
}

CameraPushes::~CameraPushes() {
  for (const auto& pusher : pushers_) pusher->finish();
  for (auto& pusher : pushers_) {
    pusher->wait();
    const PushCounts counts = pusher->counts();
    spdlog::info("{}: {} packets pushed to {}, {} dropped", camera_, counts.sent, pusher->name(), counts.dropped);
  }
}

void CameraPushes::offer(const PacketView& packet, const StreamParameters& stream) {
  for (const auto& pusher : pushers_) pusher->offer(packet, stream);
}

}  // namespace campipe
