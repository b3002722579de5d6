// One camera in the master: decodes what comes in its packet rings into frame rings, on a thread of its own.
//
// Frames are published in order, with times that strictly grow. At the end of the packets what is left in the decoder
// is published, and the frame ring closed; the object stays, so that the ring can be looked after until the master
// leaves. A live camera that cannot be decoded is tried again, with waits that grow, at a key frame.
//
// Packets come in one ring after the other: a source's process that dies leaves one, and its successor makes the next.
// The thread takes them through PacketIntake into Decoding, which has the parts.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "app/master/decoding.h"
#include "app/master/packet_intake.h"
#include "app/rings/packet_feed.h"
#include "app/rings/ring_queue.h"
#include "core/retry_wait.h"

namespace campipe {

// Called on the camera's decoding thread.
struct CameraDecodingEvents {
  // A ring to read from, after all before it. `decoder`: for people, "h264" or "h264 (nvdec)".
  FrameRings::OnRing on_ring;
  // This process's context on the GPU is lost, with the rings of all cameras there: must end the process at once.
  std::function<void(const std::string& reason)> on_gpu_lost;
  // No frame will come any more. `failure`: empty if it ended as it should.
  std::function<void(const std::string& failure)> on_over;
  // Its work was left: another master goes on as after a death.
  std::function<void()> on_left = [] {};
  // A live camera: is decoded, or is not for this reason.
  std::function<void(bool decodes, const std::string& reason)> on_state = [](bool, const std::string&) {};
  // All of that packet ring has been taken.
  std::function<void(std::uint64_t epoch)> on_fed = [](std::uint64_t) {};
};

// Public functions: any thread.
class CameraDecoding {
 public:
  using Events = CameraDecodingEvents;
  struct Feed {
    FeedStart start;
    std::shared_ptr<PacketRingMemory> packets;
  };

  CameraDecoding(const DecodingStart& start, const RigPage& page, Events events);
  ~CameraDecoding();

  // The next packet ring.
  void add(const Feed& feed) { feeds_.add(feed); }
  // No further one will come.
  void finish() { feeds_.finish(); }
  // The source is being ended: what it has read is still handed over, within seconds.
  void stop() { stop_.stop(); }
  // Another process goes on with it: nothing is handed over any more, and all that it has not published stays in the
  // packet ring. The frame ring is closed, and stays until its readers are done.
  void leave() { stop_.leave(); }
  // See Decoding.
  void show(bool shown) { decoding_.show(shown); }
  void shed(ShedStep step) { decoding_.shed(step); }
  void renew(const std::optional<RingMemory>& memory) { decoding_.renew(memory); }
  [[nodiscard]] EdgeId edge() const { return decoding_.edge(); }
  // Looks after the ring of a camera that is over. Does nothing before.
  void service() { decoding_.service(over_); }
  [[nodiscard]] bool over() const { return over_; }

 private:
  void run();
  void pin_to_cores() const;
  void take_all();
  void end_if_left() const;
  void take(const Feed& feed);
  [[nodiscard]] bool comes_again(const FeedStart& feed) const;
  bool try_to_take(PacketIntake& intake);
  void end_without_end();
  void begin(const AVPacket& packet, PacketNote& note);
  void wait_for_start();
  void report_state(bool decodes, const std::string& reason);

  const DecodingStart start_;
  const RigPage& page_;
  Events events_;
  StopSignal stop_;
  Decoding decoding_;
  RingQueue<Feed> feeds_;
  RetryWait retry_;
  std::optional<std::string> failing_;  // why, as it was reported; none: it is decoded
  std::uint64_t given_before_ = 0;      // frames, when that was reported
  bool any_feed_ = false;
  bool started_ = false;
  std::atomic<bool> over_{false};
  std::jthread thread_;  // last: the rest outlives it
};

}  // namespace campipe
