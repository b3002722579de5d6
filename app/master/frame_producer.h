// A camera's frames: packets in, frames in the camera's ring out, in the order in which they are shown.
//
// Owns the decoder; publishes through FrameRings, with the times of FrameClock. A decoder of the GPU that refuses or
// gives up is replaced by one on the CPU, which decodes the packets since the last key frame again (ReplayWindow) into
// a ring of the next epoch: no frame is lost or comes twice. If the frames' size changes in mid-stream, a ring of the
// next epoch begins, too.
//
// With DecodingStart::decode unset it decodes on demand (OnDemandDecoding): it then never waits, begins only at a
// key frame that a worker will see, and what was not decoded is not counted.
//
// Used by the camera's decoding thread. What fails is thrown as Error, and as GpuError if the GPU is lost; then the
// decoder must be closed before it is used again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "app/master/beginning.h"
#include "app/master/camera_decoder.h"
#include "app/master/camera_sets.h"
#include "app/master/corrupt_packets.h"
#include "app/master/decoding_context.h"
#include "app/master/frame_clock.h"
#include "app/master/frame_rings.h"
#include "app/master/replay_window.h"
#include "core/line_limit.h"
#include "core/profile.h"

namespace campipe {

class FrameProducer {
 public:
  // A frame is about to be published, in a slot of that ring, and has its times.
  using OnFrame = std::function<void(const FrameRingMemory& ring, const DecodedFrame& frame)>;
  FrameProducer(DecodingContext& camera, FrameClock& clock, FrameRings& rings, OnFrame on_frame);

  // A new decoder for the source that was opened. The ring stays if the stream is as it was.
  void begin(const SourceStream& stream);
  [[nodiscard]] bool decodes() const { return decoder_.is_open(); }
  // See Decoding.
  void on_shown(std::function<void(std::int64_t packet)> shown) { on_shown_ = std::move(shown); }
  // After begin(): until the ring has a reader, at most so long.
  void wait_for_reader(std::chrono::nanoseconds longest) { rings_.wait_for_reader(longest); }
  [[nodiscard]] bool on_hardware() const { return decoder_.on_hardware(); }
  // Of a file, after begin(): prime() must be given the first packet before its time, and take() again when that has
  // come.
  [[nodiscard]] bool wants_first_packet() const;
  void prime(const AVPacket& packet);

  // How many frames, or packets, have been left out since other cameras need the time.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
  // Nothing is decoded, likewise.
  [[nodiscard]] bool is_off() const { return shed_; }
  // After FrameClock::note().
  void take(const AVPacket& packet);
  // The source knew that this packet is damaged, and has counted it.
  void know_corrupt(std::int64_t packet) { corrupt_.know(packet); }
  // No packet follows: publishes what is still in the decoder.
  void drain();
  // The same, and it can begin anew at a key frame.
  void empty();
  // Whether a file may begin again without that: its first packet refers to nothing before it. A GPU's decoder that is
  // emptied is made anew by FFmpeg, which takes tenths of a second, one camera after the other.
  [[nodiscard]] bool may_begin_again() const { return decodes() && !await_key_ && begins_clean_.value_or(false); }
  // Without what is still in it.
  void close() { decoder_.close(); }
  // The same where it decodes on demand: what is still in it was never counted. Viewers who come later find a ring of
  // the next epoch.
  void end();

 private:
  [[nodiscard]] bool is_shed(const AVPacket& packet);
  [[nodiscard]] bool is_shed();
  void leave_out(std::int64_t packet);
  void count_corrupt(std::int64_t packet) { corrupt_.count(packet); }
  void open_ring();
  void replace_ring();
  void renew_ring();
  bool decode(const AVPacket* packet);
  bool feed(const AVPacket* packet);
  void change_size();
  bool hand_over(DecodedFrame& frame, Decoder::Receive received);
  bool hand_over_or_drop(DecodedFrame& frame, Decoder::Receive received);
  void count_beginning(const DecodedFrame& first);
  bool publish(DecodedFrame& frame);
  bool fall_back_to_cpu(const std::string& reason);
  bool begin_again();
  [[nodiscard]] bool may_begin(const AVPacket& packet);

  DecodingContext& camera_;
  FrameClock& clock_;
  FrameRings& rings_;
  OnFrame on_frame_;
  std::function<void(std::int64_t packet)> on_shown_ = [](std::int64_t) {};
  ProfileName packet_range_;
  CameraDecoder decoder_;
  Beginning beginning_;
  ReplayWindow window_;                      // used only with a GPU's decoder
  std::multiset<std::int64_t> seen_before_;  // frames that will come again out of the decoder that took over
  CorruptPackets corrupt_;
  CameraSets sets_;
  bool shed_ = false;  // nothing is decoded: see is_shed()
  std::uint64_t left_out_ = 0;
  std::uint64_t frames_ = 0;          // that could be published
  bool primed_ = false;               // the decoder has the first packet already
  std::optional<bool> begins_clean_;  // the opened source: see is_clean_start(); none: before its first packet
  bool await_key_ = false;            // the decoder is empty, and begins with a key frame: see may_begin()
  LineLimit size_lines_{std::chrono::minutes(1)};
  std::int64_t decode_cost_ = 0;  // ns, since the frame before
};

}  // namespace campipe
