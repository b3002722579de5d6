#include "core/frame_pool.h"

#include <utility>

namespace campipe {

void FramePool::add_picture() {
  auto frame = std::make_unique<Picture>(Picture{{nullptr, nullptr}, {}, {}});
  MutableFrameView& view = frame->view;
  view.format = layout_.format;
  view.memory = layout_.memory;
  view.device = layout_.device;
  view.rows = layout_.rows;
  std::array<std::ptrdiff_t, 3> offsets{};  // of the frame's first row, which need not be there
  std::size_t size = 0;
  const auto planes = static_cast<std::size_t>(plane_count(view.format.pixels));
  for (std::size_t i = 0; i < planes; ++i) {
    const RowRange rows = plane_rows(view, static_cast<int>(i));
    const auto width = static_cast<std::size_t>(plane_size(view.format, static_cast<int>(i)).width);
    const std::size_t stride = (width + layout_.alignment - 1) & ~(layout_.alignment - 1);
    view.stride[i] = static_cast<std::int32_t>(stride);
    offsets[i] = static_cast<std::ptrdiff_t>(size) - std::ptrdiff_t{rows.begin} * view.stride[i];
    size += stride * static_cast<std::size_t>(rows.end - rows.begin);
  }
  frame->pixels = allocate_(size);
  for (std::size_t i = 0; i < planes; ++i) view.data[i] = frame->pixels.get() + offsets[i];
  all_.push_back(std::move(frame));
  free_.reserve(all_.capacity());  // so that put_back() never has to
  free_.push_back(all_.back().get());
}

void FramePool::reserve(std::size_t count) {
  const std::scoped_lock lock(mutex_);
  while (all_.size() < count) add_picture();
}

FramePool::Lease FramePool::take() {
  Picture* frame = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) add_picture();
    frame = free_.back();
    free_.pop_back();
  }
  const auto nothing_to_delete = [](const Picture*) {};
  return {frame->view,
          std::shared_ptr<const void>(frame, nothing_to_delete, InPicture<Picture>(shared_from_this(), frame))};
}

void FramePool::put_back(Picture* frame) {
  const std::scoped_lock lock(mutex_);
  free_.push_back(frame);
}

}  // namespace campipe
