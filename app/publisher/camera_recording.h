// The recording of one output as it is switched on and off: a Recording while it is on. Used by the camera's thread in
// the publisher, but for what says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "app/config/stream_config.h"
#include "app/publisher/recording/recording.h"
#include "core/profile.h"
#include "ipc/packet_ring.h"

namespace campipe {

class ThreadScope;
struct RecordState;

class CameraRecording {
 public:
  // `config`, `state` and `audio` outlive it. `on`: begin with a recording, if `config` has one. `house` and `run`: see
  // Recording.
  CameraRecording(const ResolvedOutput& config, RecordState& state, AudioFeed& audio, Recording::Events events, bool on,
                  std::shared_ptr<Housekeeping> house, const RunStart& run);

  // Any thread. Ends the recording, or begins a new one with the next key frame. Does nothing where none is configured.
  void set_on(bool on) {
    on_ = on;
    if (!on) was_stopped_ = true;
  }
  // Any thread. Of a node of a cluster: see RecordNames. Files go on under another name with the next key frame.
  void set_fence(const std::string& fence);
  // Any thread. This machine's clock was set: the next key frame begins a new file.
  void clock_jumped() { clock_jumped_ = true; }
  // Begins or ends it as it was set. `reader`: of the ring that is being drained, null: of none; `scope`: this
  // thread's.
  void follow(PacketRingReader* reader, ThreadScope& scope);
  // Packets go into it.
  [[nodiscard]] bool takes() const;
  // See Recording::newest_file().
  [[nodiscard]] std::string newest_file() const { return recording_ ? recording_->newest_file() : ""; }
  // Takes the packet, and releases those that are in the file; releases it at once where none takes it.
  void take(PacketRingReader& reader, const PacketView& packet, std::uint64_t number, const StreamParameters& stream);
  // Everything taken so far goes into the file; then its packets are released.
  void commit(PacketRingReader& reader);
  // To be called several times a second.
  void tick();
  // Ends the file, and waits a moment until the disk has it.
  void end(ThreadScope& scope);

 private:
  void follow_fence();
  void wait_for_disk(ThreadScope& scope);

  const ResolvedOutput& config_;
  RecordState& state_;
  AudioFeed& audio_;
  const Recording::Events events_;
  const std::shared_ptr<Housekeeping> house_;
  const RunStart run_;
  const ProfileName write_range_;
  std::atomic<bool> on_;
  std::atomic<bool> was_stopped_{false};  // also where it is on again by now
  std::mutex fence_mutex_;
  std::string fence_;  // empty: no cluster
  std::atomic<bool> fence_is_new_{false};
  std::atomic<bool> clock_jumped_{false};
  std::optional<Recording> recording_;
};

}  // namespace campipe
