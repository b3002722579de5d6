// Which set of a synchronised group a camera's frames belong to: set n is due at n / rate by the media clock
// (FrameTimes::media_time), and each camera gives one frame to it.
//
// The nearest number alone will not do: a camera whose frames lie half-way between two sets would, with half a
// millisecond of jitter, give two frames to the one and none to the next, again and again. So the camera's phase
// against the sets is learnt and taken away first: the number is round(time * rate - phase). The phase follows what is
// left by a small part, so that jitter averages out. A camera that drifts, since it runs by a clock of its own, takes
// its phase along until that is more than three quarters of a set: then it slips by one set, and the phase by one with
// it.
//
// The middle between two sets may lie between the frames of two cameras. If each took its nearest number, frames taken
// a moment apart would be of different sets. So a camera takes the number that is nearest by the phase of another
// camera of its group (lock_near()).
//
// A camera with more frames than there are sets gives those that lie nearest to the sets: one is passed over where the
// next will lie nearer, by the distance of its frames so far.
//
// Used by one thread.
#pragma once

#include <cstdint>
#include <optional>

namespace campipe {

class SetNumbering {
 public:
  // `rate`: of the group's sets, a second; more than 0.
  explicit SetNumbering(double rate) : rate_(rate) {}

  // The number of a frame's set; frames in order, times in ns. Numbers grow. Nothing: the frame's set has one already,
  // and this frame is to be dropped.
  std::optional<std::int64_t> number_of(std::int64_t media_time);
  // The media clock was taken over anew, as when sender reports replace the arrivals: the next frame's phase is learnt
  // from that frame alone. Likewise by itself after a gap.
  void lock_anew() { phase_.reset(); }
  // Sets the phase, in sets, that the next lock begins with: another member's. A slip is a move of three quarters of a
  // set from it. 0 at first.
  void lock_near(double phase) { home_ = phase; }

  // How far its frames lie behind their sets on average, in sets; nothing as long as it is not locked.
  [[nodiscard]] std::optional<double> phase() const { return phase_; }
  // How often it has gone on with one number more, or less, than its frames are.
  [[nodiscard]] std::uint64_t slips() const { return slips_; }

 private:
  void follow(double behind);
  void measure_step(double sets);

  double rate_;
  double home_ = 0;
  std::optional<double> phase_;
  std::optional<std::int64_t> last_time_;
  std::optional<std::int64_t> last_number_;
  std::optional<double> step_;  // from one frame to the next on average, in sets
  std::uint64_t slips_ = 0;
};

}  // namespace campipe
