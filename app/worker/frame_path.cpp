#include "app/worker/frame_path.h"

#include "core/error.h"

namespace campipe {
namespace {

class CpuFramePath final : public FramePath {
 public:
  explicit CpuFramePath(const std::vector<FilterConfig>& filters) : chain_(filters) {}

  EncoderPlace place() const override { return {}; }
  SharedGpuStream stream() const override { return nullptr; }
  FrameFormat configure(const FrameFormat& in, bool /*on_gpu*/, RowRange band) override {
    return chain_.configure(in, band);
  }
  std::optional<FrameRef> process(RingInUse*, FrameRingReader::Lease& lease, const std::function<void()>&,
                                  const MutableFrameView* target) override {
    return chain_.process(lease.frame, lease.times.pts, target);
  }

 private:
  FilterChain chain_;
};

}  // namespace

std::unique_ptr<FramePath> make_frame_path(const std::vector<FilterConfig>& filters, const Device& gpu,
                                           [[maybe_unused]] const SharedGpuStream& stream) {
  if (!on_gpu(gpu)) return std::make_unique<CpuFramePath>(filters);
  if constexpr (with_cuda) {
    return make_gpu_frame_path(filters, gpu, stream);
  } else {
    throw Error("this campipe was built without CUDA and cannot use " + to_string(gpu));
  }
}

}  // namespace campipe
