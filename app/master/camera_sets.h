// Which set of its synchronised group each frame of a camera belongs to: SetNumbering by the frame's media time, as
// long as that is of the group's present (GroupClock). A file that begins later than the others is moved there.
//
// Used by the camera's decoding thread.
#pragma once

#include <cstdint>
#include <optional>

#include "app/master/decoding_context.h"
#include "app/master/set_numbering.h"
#include "app/rings/packet_note.h"
#include "core/line_limit.h"

namespace campipe {

class CameraSets {
 public:
  explicit CameraSets(DecodingContext& camera);

  // The source was opened (again).
  void lock_anew();
  // Sets the number of a frame, or why it has none, and moves its media time; nothing for a camera that is in no group.
  // `newest`: of the packet that came last.
  void enter(FrameTimes& times, const PacketNote& newest);

 private:
  [[nodiscard]] bool is_present(const FrameTimes& times, const PacketNote& newest);
  void move_to_present(FrameTimes& times, const PacketNote& newest);
  void go_with_others();
  void note_phase();

  DecodingContext& camera_;
  std::optional<SetNumbering> numbering_;  // none: it is in no group
  std::optional<CaptureClock> clock_;      // of the frame before
  std::optional<double> phase_;            // likewise
  double drift_ = 0;                       // ns
  bool moves_ = false;                     // a file that may have to be moved, before its first frame
  LineLimit lines_{std::chrono::minutes(1)};
};

}  // namespace campipe
