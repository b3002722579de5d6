// One camera in the publisher: packet rings → recording and push targets, on a thread of its own.
//
// A packet is given back to its ring when it is in the file (or when nothing is recorded), and how far the file
// is stands in the rig page. So a successor of a dead publisher goes on in the same file and finds every packet
// that is not in it; a new worker's packets go on in the same file if its stream is the same, else in a new one. With
// record.when: motion packets are given back at once, and a publisher's death costs those that were kept.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/config/stream_config.h"
#include "app/publisher/camera_live.h"
#include "app/publisher/camera_pushes.h"
#include "app/publisher/camera_recording.h"
#include "app/publisher/motion_events.h"
#include "app/rings/ring_queue.h"
#include "core/packet.h"
#include "ipc/ids.h"
#include "ipc/packet_ring.h"

namespace campipe {

class ThreadScope;
struct PublishBlock;
class RigPage;

class CameraPublisher {
 public:
  struct Ring {
    std::shared_ptr<PacketRingMemory> memory;
    std::uint64_t epoch = 0;
    StreamParameters stream;
  };
  using AudioRing = AudioFeed::Ring;
  // Called on the camera's thread.
  struct Events {
    std::function<void(std::uint64_t epoch)> on_ring_done;
    std::function<void(std::uint64_t epoch)> on_audio_ring_done;
    std::function<void(const std::string& path)> on_file;
    std::function<void(const std::string& reason)> on_record_failed;  // there will be no more recording
    std::function<void(const std::string& reason)> on_record_paused;
    std::function<void(std::uint64_t unrecorded)> on_record_resumed;
    MotionEvents::Handler on_motion;           // empty: nobody asks
    CameraPushes::StateHandler on_push_state;  // on other threads
    std::function<void()> on_done;
  };

  // `live` takes every packet for viewers; null: there can be none. `records`: begin with a recording, if there is one.
  // `house` and `start`: see Recording. Of a node of a cluster, which `config` names, it pushes as long as the rig page
  // says, and set_fence() says at once how its files are named.
  CameraPublisher(OutputId output, ResolvedOutput config, const RigPage& page, const Events& events,
                  std::shared_ptr<Housekeeping> house, std::shared_ptr<LiveStream> live = nullptr, bool records = true,
                  const RunStart& start = {});
  ~CameraPublisher();

  // Main thread.
  void add(const Ring& ring) { rings_.add(ring); }
  // The first one before the first of add(): then the first file has a track for it.
  void add_audio(const AudioRing& ring) { audio_.add(ring); }
  // Ends the recording, or begins a new one with the next key frame. Does nothing where none is configured.
  void set_recording(bool on) { recording_.set_on(on); }
  void set_fence(const std::string& fence) { recording_.set_fence(fence); }
  void clock_jumped() { recording_.clock_jumped(); }
  // No further ring will come: finish those that are there, then close the file.
  void finish() { rings_.finish(); }
  // Take what is in the rings now, as far as that goes quickly, and close the file: the process has to leave.
  void abandon() { rings_.abandon(); }

 private:
  void run();
  std::optional<Ring> next_ring();
  void drain(const Ring& ring);
  bool is_too_late();
  void take(PacketRingReader& reader, const PacketView& packet, std::uint64_t number, const Ring& ring);

  ResolvedOutput config_;
  PublishBlock& block_;
  const PushPermit push_permit_;
  Events events_;
  ThreadScope* scope_ = nullptr;
  AudioFeed audio_;
  std::vector<std::uint8_t> bytes_;  // of the packet that was read last
  CameraRecording recording_;
  MotionEvents motion_;
  std::optional<CameraPushes> pushes_;
  CameraLive live_;
  RingQueue<Ring> rings_;
  std::optional<Deadline> take_until_;  // since the camera's thread has seen that it is abandoned
  std::jthread thread_;
};

}  // namespace campipe
