#include "stages/sources/decode_times.h"

#include <algorithm>
#include <iterator>

extern "C" {
#include <libavutil/common.h>
#include <libavutil/mathematics.h>
}

namespace campipe {
namespace {

constexpr std::size_t most_delayed = 16;          // frames, as in H.264 and HEVC
constexpr std::int64_t usual_step = 90'000;       // as long as the length of a frame is not known: a second of RTP's
constexpr std::int64_t frames_of_one_clock = 50;  // between neighbours; B-frames lie 16 apart at most

std::uint64_t distance(std::int64_t a, std::int64_t b) {
  const auto apart = static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b);
  return a > b ? apart : 0 - apart;
}

std::size_t possible(int delay) { return std::min(static_cast<std::size_t>(std::max(delay, 0)), most_delayed); }

}  // namespace

DecodeTimes::DecodeTimes(int delay, std::int64_t frame)
    : delay_(possible(delay)),
      frame_(std::max<std::int64_t>(frame, 0)),
      longest_step_(std::max(frame_, usual_step) * frames_of_one_clock) {}

// As if frames had come before it, each a frame's length before the next.
void DecodeTimes::begin_at(std::int64_t pts) {
  waiting_.clear();
  decoded_.reset();
  if (frame_ == 0) return;
  for (std::size_t i = delay_; i > 0; --i) waiting_.push_back(av_sat_sub64(pts, static_cast<std::int64_t>(i) * frame_));
}

void DecodeTimes::change_delay(int delay) { delay_ = possible(delay); }

// What was decoded cannot have been decoded earlier: where there are more frames ahead than before, the first of them
// lie between it and what comes next.
void DecodeTimes::fit_to_delay(std::int64_t pts) {
  if (!decoded_) return;
  const std::int64_t next = waiting_.empty() ? pts : std::min(pts, waiting_.front());
  const std::int64_t step = av_sat_sub64(next, *decoded_);
  const auto missing = static_cast<std::int64_t>(delay_) - std::ssize(waiting_);
  for (std::int64_t i = missing; i > 0 && step > missing; --i)
    waiting_.insert(waiting_.begin(), *decoded_ + av_rescale(step, i, missing + 1));
  while (waiting_.size() > delay_) waiting_.erase(waiting_.begin());
}

void DecodeTimes::date(AVPacket& packet, bool is_b_frame) {
  packet.dts = AV_NOPTS_VALUE;
  if (packet.pts == AV_NOPTS_VALUE) return;
  const std::int64_t pts = packet.pts;
  if (!newest_ || distance(pts, *newest_) > static_cast<std::uint64_t>(longest_step_)) begin_at(pts);
  if (waiting_.size() != delay_) fit_to_delay(pts);
  if (decoded_ && pts <= *decoded_) {
    if (is_b_frame && delay_ < most_delayed) {
      // More frames are decoded ahead than the stream had said.
      ++delay_;
      waiting_.insert(std::ranges::upper_bound(waiting_, *newest_), *newest_);
    } else if (!is_b_frame) {
      begin_at(pts);
    }
  }
  newest_ = pts;
  waiting_.insert(std::ranges::upper_bound(waiting_, pts), pts);
  if (waiting_.size() <= delay_) return;
  packet.dts = waiting_.front();
  waiting_.erase(waiting_.begin());
  decoded_ = packet.dts;
}

}  // namespace campipe
