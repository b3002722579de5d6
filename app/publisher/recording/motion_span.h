// When a motion begins and when it is over, by the frames that move: from the first one until none has for `after`.
#pragma once

#include <chrono>
#include <cstdint>

namespace campipe {

class MotionSpan {
 public:
  explicit MotionSpan(std::chrono::nanoseconds after) : after_(after) {}

  // What a frame does: nothing; it begins a motion; it is a part of one; or it is the first one behind it.
  enum class Does : std::uint8_t { nothing, begin, go_on, end };
  Does take(bool moves, std::int64_t pts) {
    if (moves) last_ = pts;
    if (!is_on_) {
      is_on_ = moves;
      return moves ? Does::begin : Does::nothing;
    }
    if (pts - last_ < after_.count()) return Does::go_on;
    is_on_ = false;
    return Does::end;
  }
  // Continues a motion that the process before has begun.
  void resume(std::int64_t last) {
    is_on_ = true;
    last_ = last;
  }

  [[nodiscard]] bool is_on() const { return is_on_; }
  [[nodiscard]] std::int64_t last() const { return last_; }  // pts of the newest frame that moved

 private:
  std::chrono::nanoseconds after_;
  bool is_on_ = false;
  std::int64_t last_ = 0;
};

}  // namespace campipe
