// A camera's filters on a GPU, with what brings frames there and back: upload (only for frames that lie in host
// memory) → filters → download (only where the encoder wants host memory), all of it on one stream. CUDA only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/clock.h"
#include "core/frame.h"
#include "core/gpu.h"
#include "stages/filters/chain.h"

namespace campipe {

// Used by one thread, whose current GPU (use_gpu) it works on. Frames that process() hands out return to a pool of
// the chain when their owner is dropped (any thread); those in device memory may be reused by later work on the same
// stream. Consecutive point-wise filters run as one kernel.
class GpuChain {
 public:
  enum class Output : std::uint8_t { device, host };  // host: page-locked

  // `stream`: of another chain of the same thread; none: one of its own. Throws Error like FilterChain.
  explicit GpuChain(const std::vector<FilterConfig>& filters, const SharedGpuStream& stream = nullptr);
  ~GpuChain();

  [[nodiscard]] GpuStream stream() const;
  [[nodiscard]] SharedGpuStream shared_stream() const;
  // The format that comes out for `in`, always nv12; its rows `band`, as FilterChain::configure() has them. Allocates
  // all that the frames need: afterwards process() allocates nothing. Throws Error where a filter refuses the input,
  // GpuError where there is no room on the GPU; then it may be tried again.
  FrameFormat configure(const FrameFormat& in, Output output, RowRange band = all_rows);
  // After configure(): the rows of the input that process() reads.
  [[nodiscard]] const FrameRows& needs() const;
  // Enqueues all work for `in`, whose time `pts` is (nanoseconds), and returns at once. `in` may lie on this GPU, on
  // one whose memory is mapped here, or in host memory (page-locked or not); its owner is dropped when nothing more
  // will be enqueued that reads it (a lease must have been given to FrameRingReader::use_on with this stream). With
  // nothing to change `in` itself comes back. The metadata is that of `in`: see add_metadata(). The result's pixels are
  // complete after wait(), or for later work on the same stream. `target`: of the configured output's format and in its
  // memory (page-locked or not, where that is the host's); the pixels are written there, and the result does not own
  // them.
  FrameRef process(const FrameRef& in, std::int64_t pts, const MutableFrameView* target = nullptr);
  // Sleeps until all enqueued work has completed; false: `deadline` came first. Throws GpuError when the GPU failed.
  bool wait(Deadline deadline);
  // After wait(): adds what the filters found in the frame that process() was called for last.
  void add_metadata(FrameMetadata& metadata) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace campipe
