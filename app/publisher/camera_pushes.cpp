#include "app/publisher/camera_pushes.h"

#include "app/config/stream_config.h"
#include "core/log.h"

namespace campipe {

CameraPushes::CameraPushes(const ResolvedOutput& config, const StateHandler& on_state, const PushPermit& permit)
    : camera_(config.name) {
  if (permit.open != nullptr) permit.open->store(0);  // connections of a predecessor died with it
  for (const PushUrl& url : config.push) {
    const std::string name = push_name(url);
    const auto tell = [name, on_state, camera = camera_](const PushReport& report) {
      if (report.state == PushState::connected) {
        spdlog::info("{}: pushes to {}", camera, name);
      } else {
        spdlog::warn("{}: cannot push to {}: {}", camera, name, report.reason);
      }
      on_state(name, report);
    };
    targets_.push_back({url, std::make_unique<Pusher>(url, tell, PushPatience(), permit), std::nullopt});
  }
}

CameraPushes::~CameraPushes() {
  for (const Target& target : targets_) target.pusher->finish();
  for (const Target& target : targets_) {
    Pusher& pusher = *target.pusher;
    pusher.wait();
    const PushCounts counts = pusher.counts();
    spdlog::info("{}: {} packets pushed to {}, {} dropped", camera_, counts.sent, pusher.name(), counts.dropped);
  }
}

void CameraPushes::offer(const PacketView& packet, const StreamParameters& stream, AudioFeed& audio) {
  if (packet.key && !targets_.empty() && audio_ != audio.stream()) find_audio(audio);
  for (const Target& target : targets_) target.pusher->offer(packet, stream, target.audio);
}

void CameraPushes::offer_audio(const PacketView& packet, const AudioParameters& stream) {
  if (audio_ != stream) return;
  for (const Target& target : targets_) target.pusher->offer_audio(packet);
}

void CameraPushes::find_audio(AudioFeed& feed) {
  const auto audio = feed.described();
  if (!audio) return;
  audio_ = feed.stream();
  for (Target& target : targets_) {
    target.audio.reset();
    if (can_push_audio(target.url, *audio)) {
      target.audio = audio;
    } else {
      spdlog::warn("{}: pushes to {} without audio: {} cannot be sent there", camera_, target.pusher->name(),
                   audio->codec);
    }
  }
}

}  // namespace campipe
