#include "app/worker/output_filters.h"

#include "app/control/thread_scope.h"
#include "core/clock.h"

namespace campipe {

FrameFormat OutputFilters::configure(const std::vector<FilterConfig>& filters, const FrameFormat& in, bool on_gpu,
                                     RowRange band) {
  if (!path_ || filters != filters_) {
    path_ = make_frame_path(filters, place_.gpu, place_.stream);
    place_.stream = path_->stream();
    filters_ = filters;
  }
  return path_->configure(in, on_gpu, band);
}

std::optional<FrameRef> OutputFilters::process(RingInUse* ring, FrameRingReader::Lease& lease,
                                               const std::function<void()>& beat, const MutableFrameView* target) {
  const ThreadWait wait(WaitsFor::filter);
  const std::int64_t begin = now_ns();
  auto frame = path_->process(ring, lease, beat, target);
  cost_ = now_ns() - begin;
  return frame;
}

}  // namespace campipe
