// The times of a camera's decoded frames: each is mapped as the packet was that it came in, by what was noted of that
// packet, even if the source's clock was corrected meanwhile. They strictly grow, and what has no timestamp gets one.
//
// Used by the camera's thread: connected() each time that the source was opened, note() for each packet before it is
// decoded, set_times() for each frame. All times in ns.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "app/master/decoding_context.h"
#include "app/master/timeline.h"
#include "app/rings/packet_note.h"
#include "core/source_stream.h"
#include "stages/decoders/decoder.h"

namespace campipe {

class FrameClock {
 public:
  explicit FrameClock(const DecodingContext& camera);

  // Before the first packet: nothing that a master before has published comes again. Else frames up to the newest of
  // these do, and are left out: by the packet that it came in, or where that is not known by its time.
  void begin_live();
  void begin_loop_after(std::int64_t resume);

  // `stream` stays until the next connected().
  void connected(const SourceStream& stream);
  void note(const PacketNote& note);
  // Of the packet that was noted last.
  [[nodiscard]] const PacketNote& newest() const { return newest_; }

  // Sets the times of a frame. False: a master before has published it.
  bool set_times(const DecodedFrame& frame, FrameTimes& times);
  // Where the next frame is expected.
  [[nodiscard]] std::int64_t frames_end() const { return frame_times_.end(); }

 private:
  // The newest frame of a master before.
  struct Before {
    std::int64_t pts = 0;
    std::optional<std::int64_t> packet;
    bool met = false;  // it has come again
  };
  [[nodiscard]] PacketNote note_of(std::int64_t packet);
  [[nodiscard]] bool comes_again(const DecodedFrame& frame, std::optional<std::int64_t> at, std::int64_t duration);

  const DecodingContext& camera_;
  const SourceStream* stream_ = nullptr;
  Timeline frame_times_;          // in the order in which they are shown; of copies see PacketCopies
  std::optional<Before> before_;  // none: all frames are new
  std::deque<PacketNote> notes_;  // of packets whose frames have not come out
  PacketNote newest_;
};

}  // namespace campipe
