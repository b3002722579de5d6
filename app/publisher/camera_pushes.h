// All push targets of one output in the publisher.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/publisher/recording/audio_feed.h"
#include "core/packet.h"
#include "stages/sinks/push_url.h"
#include "stages/sinks/pusher.h"

namespace campipe {

struct ResolvedOutput;

class CameraPushes {
 public:
  // `url`: for people. On a thread of the target's; it has been logged.
  using StateHandler = std::function<void(const std::string& url, const PushReport& report)>;

  // What the permit points to outlives it.
  CameraPushes(const ResolvedOutput& config, const StateHandler& on_state, const PushPermit& permit = {});
  // Gives the targets a moment for what they have not got yet: at most a second, for all of them together.
  ~CameraPushes();
  CameraPushes(const CameraPushes&) = delete;
  CameraPushes& operator=(const CameraPushes&) = delete;

  // To each of them. Never waits. `audio`: what comes beside it; what kind that is is looked up with key frames.
  void offer(const PacketView& packet, const StreamParameters& stream, AudioFeed& audio);
  // `stream`: of its ring. Left out, where it is not what was found with the last key frame.
  void offer_audio(const PacketView& packet, const AudioParameters& stream);
  [[nodiscard]] bool empty() const { return targets_.empty(); }

 private:
  std::string camera_;
  struct Target {
    PushUrl url;
    std::unique_ptr<Pusher> pusher;
    std::optional<AudioParameters> audio;  // that goes there, with its headers
  };
  void find_audio(AudioFeed& feed);

  std::vector<Target> targets_;
  std::optional<AudioParameters> audio_;  // as its ring has it
};

}  // namespace campipe
