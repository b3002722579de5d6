#include "stages/compose/compositor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/frame_memory.h"
#include "stages/compose/card.h"

namespace campipe {
namespace {

constexpr std::size_t usual_frames = 2;  // one is being encoded while the next one is drawn

// From arrays of its own, and so many at once, compilers make vectors of it.
void convert_row(const std::uint8_t* in, int count, LevelRule levels, std::uint8_t* out) {
  constexpr int block = 64;
  std::array<std::uint8_t, block> from{}, to{};
  for (int x = 0; x < count; x += block) {
    const auto bytes = static_cast<std::size_t>(std::min(block, count - x));
    std::memcpy(from.data(), in + x, bytes);
    for (std::size_t i = 0; i < block; ++i) to[i] = levels(from[i]);
    std::memcpy(out + x, to.data(), bytes);
  }
}

// Every `in_step`th byte of a row becomes every `out_step`th of another one.
struct RowCopy {
  int count;
  int in_step = 1;
  int out_step = 1;
  const LevelRule* levels = nullptr;  // null: as they are

  void operator()(const std::uint8_t* in, std::uint8_t* out) const {
    const bool is_dense = in_step == 1 && out_step == 1;
    if (is_dense && levels == nullptr) {
      std::memcpy(out, in, static_cast<std::size_t>(count));
    } else if (is_dense) {
      convert_row(in, count, *levels, out);
    } else {
      const LevelRule rule = levels != nullptr ? *levels : LevelRule();
      for (int x = 0; x < count; ++x) out[x * out_step] = rule(in[x * in_step]);
    }
  }
};

void copy_rows(const std::uint8_t* in, std::int32_t in_stride, std::uint8_t* out, std::int32_t out_stride, int rows,
               const RowCopy& copy) {
  for (int y = 0; y < rows; ++y) copy(in + std::ptrdiff_t{y} * in_stride, out + std::ptrdiff_t{y} * out_stride);
}

// Where a chroma component begins, and how far its samples are apart.
template <typename Byte>
struct Component {
  Byte* data;
  std::int32_t stride;
  int step;

  Component(const BasicFrameView<Byte>& view, std::size_t number) {
    const bool nv12 = view.format.pixels == PixelFormat::nv12;
    const std::size_t plane = nv12 ? 1 : 1 + number;
    data = view.data[plane] + (nv12 ? number : 0);
    stride = view.stride[plane];
    step = nv12 ? 2 : 1;
  }
};

void copy_chroma(const FrameView& in, const MutableFrameView& out, const LevelRule* levels) {
  const PlaneSize size{in.format.width / 2, in.format.height / 2};
  if (in.format.pixels == PixelFormat::nv12 && out.format.pixels == PixelFormat::nv12) {
    copy_rows(in.data[1], in.stride[1], out.data[1], out.stride[1], size.height, {2 * size.width, 1, 1, levels});
    return;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const Component<const std::uint8_t> from(in, i);
    const Component<std::uint8_t> to(out, i);
    copy_rows(from.data, from.stride, to.data, to.stride, size.height, {size.width, from.step, to.step, levels});
  }
}

void fill(const MutableFrameView& view, const Rgb& background) {
  const YuvColour colour = yuv_colour(background, view.format);
  const PlaneSize size = plane_size(view.format, 0);
  for (int y = 0; y < size.height; ++y)
    std::memset(view.data[0] + std::ptrdiff_t{y} * view.stride[0], colour.y, static_cast<std::size_t>(size.width));
  for (std::size_t i = 0; i < 2; ++i) {
    const Component<std::uint8_t> chroma(view, i);
    for (int y = 0; y < size.height / 2; ++y) {
      std::uint8_t* const row = chroma.data + std::ptrdiff_t{y} * chroma.stride;
      for (int x = 0; x < size.width / 2; ++x) row[x * chroma.step] = i == 0 ? colour.u : colour.v;
    }
  }
}

}  // namespace

Compositor::Compositor(CanvasConfig config)
    : config_(std::move(config)),
      states_(config_.cells),
      pool_(std::make_shared<FramePool>(FrameLayout{config_.format, host_frame_alignment}, host_frame_bytes)) {
  for (const CanvasCell& cell : config_.cells) {
    require_inside(cell, config_.format);
    const bool has_label = config_.labels && config_.font != nullptr;
    labels_.push_back(has_label ? make_label(*config_.font, cell.name, cell_format(config_.format, cell)) : Label());
  }
  pool_->reserve(usual_frames);
}

FrameRef Compositor::compose(std::span<const CellContent> contents) {
  for (std::size_t i = 0; i < config_.cells.size(); ++i) {
    if (contents[i].frame != nullptr) check_cell(config_.cells[i], *contents[i].frame);
  }
  states_.set(contents, true);
  auto [view, owner] = pool_->take();
  const CellStates::ToDraw to_draw = states_.to_draw(view.data[0]);
  if (to_draw.everything) fill(view, config_.background);
  for (const std::size_t cell : to_draw.cells) draw(cell, contents[cell], view);
  return {as_const(view), std::move(owner)};
}

void Compositor::draw(std::size_t cell, const CellContent& content, const MutableFrameView& canvas) const {
  const MutableFrameView out = region_of(canvas, config_.cells[cell].region);
  if (content.frame == nullptr) {
    draw_card(out, config_.font, {config_.cells[cell].name, states_.reason(cell), states_.since(cell)});
    return;
  }
  const FrameView& in = *content.frame;
  const bool same_range = has_full_range(in.format) == has_full_range(canvas.format);
  const LevelRules* const levels = same_range ? nullptr : &levels_from_other_range(canvas.format);
  copy_rows(in.data[0], in.stride[0], out.data[0], out.stride[0], in.format.height,
            {in.format.width, 1, 1, same_range ? nullptr : &levels->luma});
  copy_chroma(in, out, same_range ? nullptr : &levels->chroma);
  draw_label(labels_[cell], out);
}

}  // namespace campipe
