// One output's encoder with what it was opened for: frames in, packets to the output's packet ring.
//
// It outlives frame rings, and formats too, as long as what the filters make of the frames is the same (goes_on()).
// Key frames of a gop that is a time lie on a grid, whatever encoder there is. New viewers get a key frame soon.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "app/config/stream_config.h"
#include "app/worker/key_frame_requests.h"
#include "app/worker/output_events.h"
#include "app/worker/packet_output.h"
#include "core/frame.h"
#include "core/profile.h"
#include "stages/encoders/encoder.h"
#include "stages/encoders/key_frame_grid.h"

namespace campipe {

namespace messages {
struct EncodedOutput;
}  // namespace messages
struct EncodeBlock;
class RigPage;
struct ResolvedOutput;

// Where the key frames of an output lie; nothing: the encoder counts frames.
std::optional<KeyFrameGrid> key_frame_grid(const ResolvedOutput& config);

// Used by one thread. What it is given outlives it.
class EncodedStream {
 public:
  EncodedStream(const messages::EncodedOutput& output, const RigPage& page, const OutputEvents& events);

  // Null: there is none.
  [[nodiscard]] const Encoder* encoder() const { return encoder_.get(); }
  // There is an encoder, and it was opened for such frames.
  [[nodiscard]] bool goes_on(const FrameFormat& input, double frame_rate) const;
  // It takes such a frame, in that memory.
  [[nodiscard]] bool takes(const FrameRef& frame) const;
  // Goes on with this one, in a packet ring of its own; the one before has been flushed. `input`, `frame_rate`: what it
  // was opened for. Throws where there is no room for the ring; then there is no encoder.
  void begin(std::unique_ptr<Encoder> encoder, const FrameFormat& input, double frame_rate);
  // `number`: of the frame. Throws Error when the encoder fails.
  void encode(const FrameRef& frame, const FrameTimes& times, std::uint64_t number);
  // All packets come out, and there is no encoder any more. Throws like encode().
  void flush();
  // Likewise, but the frames inside are counted as lost.
  void fail();
  // See PacketOutput::go_on_from().
  void go_on_from(std::uint64_t epoch, std::uint64_t base) { packets_.go_on_from(epoch, base); }

 private:
  void take(const PacketView& packet);
  bool is_whole(const PacketView& packet);

  const messages::EncodedOutput& output_;
  EncodeBlock& block_;
  const OutputEvents& events_;
  ProfileName range_;
  PacketOutput packets_;
  std::optional<KeyFrameGrid> grid_;  // none: the encoder counts frames
  KeyFrameRequests key_frames_;       // of viewers
  std::unique_ptr<Encoder> encoder_;
  FrameFormat input_;                      // that encoder_ was opened for
  double frame_rate_ = 0;                  // likewise
  std::uint64_t inside_ = 0;               // frames that the encoder has and whose packets have not come out
  std::deque<std::int64_t> shown_inside_;  // when these are shown, of a member of a group
  std::int64_t shown_last_ = 0;            // likewise, the latest of those that have come out
  std::int64_t begin_ = 0;                 // of the work for the packet that comes out next, monotonic ns
};

}  // namespace campipe
