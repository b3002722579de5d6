#include "app/worker/output_filters.h"

#include "app/control/thread_scope.h"
#include "stages/filters/filter_sequence.h"

namespace campipe {

FrameFormat OutputFilters::configure(const FrameFormat& in, int rotation, bool on_gpu) {
  if (!path_ || rotation != rotation_) {
    path_ = make_frame_path(with_rotation(config_, rotation), place_.gpu, place_.stream);
    place_.stream = path_->stream();
    rotation_ = rotation;
  }
  return path_->configure(in, on_gpu);
}

std::optional<FrameRef> OutputFilters::process(RingInUse* ring, FrameRingReader::Lease& lease,
                                               const std::function<void()>& beat, const MutableFrameView* target) {
  const ThreadWait wait(WaitsFor::filter);
  return path_->process(ring, lease, beat, target);
}

}  // namespace campipe
