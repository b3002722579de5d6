#include "app/publisher/motion_events.h"

#include <algorithm>
#include <utility>

#include "core/clock.h"
#include "core/frame_age.h"
#include "core/metadata_types.h"
#include "ipc/motion_block.h"

namespace campipe {

MotionEvents::MotionEvents(const ResolvedOutput& config, OpenMotion& open, Handler handler)
    : open_(open),
      handler_(std::move(handler)),
      span_(config.record.value_or(RecordConfig{}).after),
      newest_utc_(utc_now_ns()) {
  if (handler_ && open_.is_on != 0) span_.resume(open_.last);
}

void MotionEvents::take(const PacketView& packet, const std::string& file) {
  if (!handler_) return;
  newest_utc_ = capture_utc_of(packet.times);
  const auto found = packet.metadata.get<MotionScore>();
  const bool moves = found && found->moving > 0;
  const MotionSpan::Does does = span_.take(moves, packet.times.pts);
  if (moves) {
    open_.last = packet.times.pts;
    open_.highest = does == MotionSpan::Does::begin ? found->moving : std::max(open_.highest.load(), found->moving);
  }
  if (does == MotionSpan::Does::begin) begin(newest_utc_, file);
  if (does == MotionSpan::Does::end) end(newest_utc_, file);
}

void MotionEvents::finish(const std::string& file) {
  if (span_.is_on()) end(newest_utc_, file);
}

// Reported first: after a death in between it is reported twice, and not left out.
void MotionEvents::begin(std::int64_t utc, const std::string& file) {
  handler_({true, open_.highest, utc, file});
  open_.is_on = 1;
}

void MotionEvents::end(std::int64_t utc, const std::string& file) {
  handler_({false, open_.highest, utc, file});
  open_.is_on = 0;
}

}  // namespace campipe
