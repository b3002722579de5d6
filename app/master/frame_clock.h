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
#include "app/rings/packet_note.h"
#include "app/rings/timeline.h"
#include "core/source_stream.h"
#include "ipc/drop_note.h"
#include "stages/decoders/decoder.h"

namespace campipe {

class FrameClock {
 public:
  explicit FrameClock(const DecodingContext& camera);

  // Before the first packet of another process that reads the source: of a live one, and of a file that loops, nothing
  // that was published before comes again; of another file frames do, known by their times. Else, where the same
  // packets are decoded once more, they are known by the packets that they come in.
  void read_by_another();

  // A master before has published or dropped what came in this packet, or behind it.
  [[nodiscard]] bool knows_of(std::int64_t packet) const;
  // The same of a packet that no frame comes of, by the order of showing. Before the first frame that does.
  [[nodiscard]] bool has_passed(std::int64_t packet, std::int64_t pts) const;
  // Frames may come that one has.
  [[nodiscard]] bool repeats() const { return before_.has_value(); }

  // `stream` stays until the next connected().
  void connected(const SourceStream& stream);
  void note(const PacketNote& note);
  [[nodiscard]] bool began() const { return began_; }
  // Of the packet that was noted last.
  [[nodiscard]] const PacketNote& newest() const { return newest_; }

  // A master before has published it, or dropped and counted it. For each frame, in the order of showing.
  [[nodiscard]] bool comes_again(const DecodedFrame& frame);
  // Sets the times of one that does not.
  void set_times(const DecodedFrame& frame, FrameTimes& times);

 private:
  // The newest frame of a master before,
  struct Before {
    std::int64_t pts = -1;
    std::optional<std::int64_t> packet;  // of the one that was published
    std::optional<DropNote> dropped;     // or behind that one
    bool published_came = false;         // again
    bool dropped_came = false;
  };
  void begin_behind(std::int64_t packet);
  void forget_notes_before(std::int64_t packet);
  [[nodiscard]] PacketNote note_of(std::int64_t packet) const;
  [[nodiscard]] std::optional<Timeline::Mapped> mapped(const DecodedFrame& frame, const PacketNote& note) const;
  [[nodiscard]] bool is_known(const DecodedFrame& frame);
  [[nodiscard]] bool is_known_by_time(std::optional<std::int64_t> at, std::int64_t duration);

  const DecodingContext& camera_;
  const SourceStream* stream_ = nullptr;
  bool began_ = false;            // a packet was noted
  Timeline frame_times_;          // in the order in which they are shown; of copies see PacketCopies
  std::optional<Before> before_;  // none: all frames are new
  std::deque<PacketNote> notes_;  // of packets whose frames have not come out
  PacketNote newest_;
};

}  // namespace campipe
