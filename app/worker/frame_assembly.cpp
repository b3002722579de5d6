#include "app/worker/frame_assembly.h"

#include <utility>

#include "core/frame_memory.h"

namespace campipe {
namespace {

std::shared_ptr<FramePool> make_pool(const FrameFormat& format, const Device& gpu) {
  if constexpr (with_cuda) {
    if (on_gpu(gpu)) {
      return std::make_shared<FramePool>(FrameLayout{format, device_frame_alignment, MemoryKind::cuda, gpu, {}},
                                         device_frame_bytes);
    }
  }
  return std::make_shared<FramePool>(FrameLayout{format, host_frame_alignment, MemoryKind::host, {}, {}},
                                     host_frame_bytes);
}

}  // namespace

FrameFormat FrameAssembly::configure(const FrameFormat& format, const std::vector<FrameRows>& rows) {
  rows_ = rows;
  pool_.reset();  // first: there may be no room for both
  copies_.clear();
  FrameFormat whole = format;
  for (const FrameRows& part : rows) {
    auto& copy = copies_.emplace_back(make_frame_path({}, place_.gpu, place_.stream));
    place_.stream = copy->stream();
    whole.pixels = copy->configure(part_format(format, part), on_gpu(place_.gpu)).pixels;
  }
  pool_ = make_pool(whole, place_.gpu);
  return whole;
}

void FrameAssembly::begin() { frame_ = pool_->take(); }

bool FrameAssembly::add(std::size_t part, RingInUse& ring, FrameRingReader::Lease& lease,
                        const std::function<void()>& beat) {
  const MutableFrameView target = part_of(frame_.view, rows_[part]);
  const auto copied = copies_[part]->process(&ring, lease, beat, &target);
  lease.frame = {};
  return copied.has_value();
}

FrameRef FrameAssembly::finish() {
  FrameRef frame{as_const(frame_.view), std::move(frame_.owner)};
  frame_ = {};
  return frame;
}

}  // namespace campipe
