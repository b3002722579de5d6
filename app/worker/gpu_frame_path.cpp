#include <algorithm>
#include <utility>

#include "app/control/thread_scope.h"
#include "app/worker/frame_path.h"
#include "core/clock.h"
#include "stages/filters/gpu_chain.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;

constexpr auto gpu_patience = milliseconds(2000);  // a frame takes milliseconds, also on a GPU that is shared
// When a writer's process is gone, its GPU has done what it ever will: only this process's own work takes time.
constexpr auto fill_patience = milliseconds(250);

class GpuFramePath final : public FramePath {
 public:
  GpuFramePath(const std::vector<FilterConfig>& filters, const Device& gpu, const SharedGpuStream& stream)
      : gpu_(gpu), chain_(filters, stream) {}

  EncoderPlace place() const override { return {.gpu = gpu_, .stream = chain_.stream()}; }

  SharedGpuStream stream() const override { return chain_.shared_stream(); }

  FrameFormat configure(const FrameFormat& in, bool on_gpu, RowRange band) override {
    return chain_.configure(in, on_gpu ? GpuChain::Output::device : GpuChain::Output::host, band);
  }

  std::optional<FrameRef> process(RingInUse* ring, FrameRingReader::Lease& lease, const std::function<void()>& beat,
                                  const MutableFrameView* target) override {
    if (ring != nullptr) {
      if (ring->fills_lost) return std::nullopt;
      ring->reader.use_on(chain_.stream(), lease);
    }
    FrameRef frame = std::exchange(lease.frame, {});
    FrameRef result = chain_.process(frame, lease.times.pts, target);
    frame = {};  // with the chain's own copies the last: the slot goes back behind the work that reads it
    wait(ring, beat);
    if (ring != nullptr && ring->fills_lost) return std::nullopt;
    chain_.add_metadata(result.metadata);
    return result;
  }

 private:
  void wait(RingInUse* ring, const std::function<void()>& beat) {
    const Clock::time_point begin = Clock::now();
    while (!chain_.wait(Clock::now() + beat_slice)) {
      beat();
      const auto waited = Clock::now() - begin;
      const bool writer_gone = ring != nullptr && ring->ring.writer_state() == WriterState::gone;
      if (writer_gone && waited >= fill_patience && !ring->fills_lost) release(*ring);
      if (waited < gpu_patience) continue;
      throw GpuError(to_string(gpu_) + " did not finish a frame within two seconds", GpuError::Kind::broken);
    }
  }

  void release(RingInUse& ring) {
    ring.fills_lost = true;
    if (ring.reader.release_waits()) return;
    throw GpuError("a process died while it filled a frame, for which work on " + to_string(gpu_) +
                       " now waits for ever (ready_signal: timeline would not)",
                   GpuError::Kind::broken);
  }

  Device gpu_;
  GpuChain chain_;
};

}  // namespace

std::unique_ptr<FramePath> make_gpu_frame_path(const std::vector<FilterConfig>& filters, const Device& gpu,
                                               const SharedGpuStream& stream) {
  use_gpu(gpu);
  return std::make_unique<GpuFramePath>(filters, gpu, stream);
}

}  // namespace campipe
