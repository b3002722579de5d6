// A camera's frame rings, one after the other, each of the next epoch: makes them, publishes frames, waits for the
// worker, and keeps those that were replaced until their readers are done.
//
// Used by the camera's decoding thread, but for renew() and service(). All waits beat, end early when the camera has
// stopped (or given up, where frames that are decoded already are handed over), and have a deadline.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/master/camera_decoder.h"
#include "app/master/decoding_context.h"
#include "app/rings/retired_rings.h"
#include "core/profile.h"
#include "ipc/frame_ring.h"

namespace campipe {

enum class DropCause : std::uint8_t;

class FrameRings {
 public:
  // A ring to read from, after all before it. `decoder`: for people, "h264" or "h264 (nvdec)".
  using OnRing =
      std::function<void(const FrameRingMemory& ring, const SourceStream& stream, const std::string& decoder)>;
  FrameRings(DecodingContext& camera, OnRing on_ring);

  // A new ring with the slots that `decoder` needs, which writes to it from now on. Reported to `on_ring`.
  // Throws GpuError if the GPU has no room.
  void open(CameraDecoder& decoder);
  // Readers continue with the ring that is opened next.
  void retire();
  // The same, and there is none until then.
  void remove();
  // The source is over.
  void close();
  // None before the first open().
  [[nodiscard]] const std::shared_ptr<FrameRingWriter>& current() const { return ring_; }
  // The current ring can take the frames of this stream, too: as far as is known they are as those before.
  [[nodiscard]] bool suits(const SourceStream& stream) const;
  // A ring of the next epoch must begin at the next key frame: renew() was called, or its sequence is near its end.
  [[nodiscard]] bool renewal_is_due();

  // Publishes a frame in a slot of the current ring, counted. `record.times`: all but `decoded`.
  void publish(DecodedFrame& frame);
  // A frame that came in this packet, or such a packet, does not come into a ring.
  void count_unpublished(DropCause cause, std::int64_t packet);
  [[nodiscard]] std::uint64_t published() const { return published_; }  // by this process
  // Of the frame that is published next, over all epochs.
  [[nodiscard]] std::uint64_t next_number() const { return camera_.start.base + published_ + 1; }

  // What a frame is counted as that there is no reader for: its worker is away, or there was no time left to wait for
  // it.
  [[nodiscard]] DropCause without_reader() const;

  // The worker has attached.
  [[nodiscard]] bool has_reader();
  // False: stopped.
  bool wait_for_first_reader(Deadline deadline);
  void wait_for_reader(std::chrono::nanoseconds longest);
  // Before each frame; the policies `block` and `drop` differ here. False: there is no worker. Throws DecodingWasLeft:
  // who goes on decodes this frame, too.
  bool wait_for_room();
  // What was held up, or read while the source was being opened, comes at once: the worker is waited for, for a while;
  // longer where it is so far behind. (One that keeps up is waited for, too, without this.)
  void expect_burst(std::chrono::nanoseconds behind = {});
  // Serves readers meanwhile.
  void sleep_until(Deadline due);
  void serve();

  // Any thread. `memory`: of all rings from then on that a GPU fills.
  void renew(const std::optional<RingMemory>& memory);
  // Any thread, at least every 100 ms. `over`: the camera's thread has ended, and its last ring is looked after here.
  void service(bool over);

 private:
  // What distinguishes one stream from another for decoder and filters.
  struct StreamKind {
    AVCodecID codec = AV_CODEC_ID_NONE;
    int width = 0;
    int height = 0;
    int rotation = 0;
    double frame_rate = 0;
    [[nodiscard]] bool is_like(const StreamKind& other) const;
  };
  static StreamKind kind_of(const SourceStream& stream);
  // How long workers may still be waited for; anew once they have always had room for some seconds: they keep up.
  struct Patience {
    std::chrono::nanoseconds left{0};
    Deadline late{};  // when there was no room last
  };
  // Calls room_by(deadline), which waits for room until then, and returns how long it took; 0: there was room, or no
  // time is left to wait. `anew`: as much time as there is then.
  template <typename RoomBy>
  static std::chrono::nanoseconds wait_with(Patience& patience, std::chrono::nanoseconds anew, const RoomBy& room_by);
  bool wait_for_readers();
  void wait_for_successor();
  void wait_out_burst();
  void wait_out_hand_over();

  DecodingContext& camera_;
  OnRing on_ring_;
  ProfileName publish_range_;
  std::shared_ptr<FrameRingWriter> ring_;
  RetiredRings retired_;
  StreamKind kind_;  // of what ring_ holds
  std::uint64_t epoch_;
  std::uint64_t published_ = 0;
  Patience in_burst_;      // see wait_out_burst()
  Patience in_hand_over_;  // with two workers; see wait_out_hand_over()
  bool had_reader_ = false;
  bool takes_bursts_ = false;  // one of its workers was away or held up, and what waited meanwhile comes at once
  std::optional<Clock::time_point> reader_away_since_;  // there is none, and has been one
  std::atomic<MemoryKind> memory_;                      // of rings that a GPU fills
  std::atomic<ReadySignal> ready_;                      // likewise
  std::atomic<bool> renew_{false};
};

}  // namespace campipe
