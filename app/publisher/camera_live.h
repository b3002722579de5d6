// What an output's viewers are given: its packets, and its audio. Used by the camera's thread in the publisher.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "app/publisher/recording/audio_feed.h"
#include "app/publisher/server/live/stream.h"

namespace campipe {

class CameraLive {
 public:
  // Null: there can be no viewers.
  explicit CameraLive(std::shared_ptr<LiveStream> stream) : stream_(std::move(stream)) {}

  // `audio`: what comes beside it; which audio that is, is looked up with key frames.
  void offer(const PacketView& packet, const StreamParameters& stream, AudioFeed& audio) {
    if (!stream_) return;
    if (packet.key && audio.stream() != audio_) {
      if (const auto described = audio.described()) {
        stream_->set_audio(*described);
        audio_ = audio.stream();
      }
    }
    stream_->offer(packet, stream);
  }
  // `stream`: of its ring. Left out where it is not what was found with the last key frame.
  void offer_audio(const PacketView& packet, const AudioParameters& stream) {
    if (stream_ && audio_ == stream) stream_->offer_audio(packet);
  }
  // Viewers that come from now on wait for what comes from now on.
  void forget() {
    if (stream_) stream_->forget();
  }

 private:
  const std::shared_ptr<LiveStream> stream_;
  std::optional<AudioParameters> audio_;  // that the stream has, as its ring has it
};

}  // namespace campipe
