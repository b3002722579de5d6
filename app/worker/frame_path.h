// What happens to a node's frames between the ring that it reads and what they are for: filters, on the CPU or on a
// GPU.
//
// Life and threads: one object for each of a node's outputs, made, used and destroyed by the node's thread:
// make_frame_path → place → configure → process, process, … → (configure again for another format) → destroy.
// After a GpuError of kind `broken` this process cannot use its GPU any more and must end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/frame.h"
#include "core/gpu.h"
#include "ipc/frame_ring.h"
#include "stages/encoders/encoder.h"
#include "stages/filters/chain.h"

namespace campipe {

// A ring that this node's thread reads.
struct RingInUse {
  FrameRingReader reader;
  FrameRingObserver ring;
  bool fills_lost = false;  // its writer died before it had filled what it published
};

class FramePath {
 public:
  virtual ~FramePath() = default;
  // For an encoder: the GPU and the stream that the frames are finished on.
  [[nodiscard]] virtual EncoderPlace place() const = 0;
  // For other paths of the same node; none on the CPU.
  [[nodiscard]] virtual SharedGpuStream stream() const = 0;
  // The format that comes out for `in`. `on_gpu`: the frames are wanted in the GPU's memory; else they come out in
  // host memory. `band`: of the rows of what comes out, those that are made. Throws Error where a filter refuses the
  // input, GpuError where there is no room: then it may be tried again.
  virtual FrameFormat configure(const FrameFormat& in, bool on_gpu, RowRange band = all_rows) = 0;
  // The finished frame, complete, with the metadata of the lease's and what the filters found. Nothing: the writer died
  // before it had filled this one; then none that it published later was filled. Calls `beat` while it waits. Throws
  // GpuError, also (`broken`) when a GPU does not finish in time. `target`: of the format and in the memory that was
  // configured, where the pixels are to be written, which the result then does not own; null: wherever. `ring`: see
  // NodeOutput::process().
  virtual std::optional<FrameRef> process(RingInUse* ring, FrameRingReader::Lease& lease,
                                          const std::function<void()>& beat, const MutableFrameView* target) = 0;
};

// `gpu`: the CPU, or the worker's GPU, which becomes this thread's. `stream`: of another path that reads the same
// frames, so that a slot goes back behind the work of both; none: one of its own. Throws Error, GpuError.
std::unique_ptr<FramePath> make_frame_path(const std::vector<FilterConfig>& filters, const Device& gpu,
                                           const SharedGpuStream& stream = nullptr);

// CUDA only: the one on a GPU.
std::unique_ptr<FramePath> make_gpu_frame_path(const std::vector<FilterConfig>& filters, const Device& gpu,
                                               const SharedGpuStream& stream);

}  // namespace campipe
