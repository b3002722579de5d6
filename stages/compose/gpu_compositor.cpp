#include "stages/compose/gpu_compositor.h"

#include <algorithm>
#include <utility>

#include "core/cuda.h"
#include "core/error.h"
#include "core/frame_memory.h"
#include "core/frame_pool.h"
#include "kernels/compose.h"
#include "kernels/fill.h"
#include "stages/compose/card.h"
#include "stages/compose/cell_states.h"
#include "stages/compose/label.h"

namespace campipe {
namespace {

constexpr std::size_t usual_gpu_frames = 3;  // one is being drawn, one encoded, and one waits for that

CudaEvent make_event() {
  CudaEvent event;
  cudaEvent_t made = nullptr;
  cuda_check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming), "cannot make an event of the GPU");
  event.reset(made);
  return event;
}

std::size_t card_bytes(const CanvasCell& cell) {
  return static_cast<std::size_t>(cell.region.width) * static_cast<std::size_t>(cell.region.height) * 3 / 2;
}

// A card for each cell: drawn in page-locked memory, and copied to the GPU.
class Cards {
 public:
  explicit Cards(const CanvasConfig& config) : config_(config), uploaded_(make_event()) {
    std::size_t size = 0;
    for (const CanvasCell& cell : config.cells) {
      offsets_.push_back(size);
      size += card_bytes(cell);
    }
    here_ = allocate_pinned(std::max<std::size_t>(size, 1));
    there_ = allocate_on_device(std::max<std::size_t>(size, 1));
    for (std::size_t i = 0; i < config.cells.size(); ++i) draw(i, "", "");
    cuda_check(cudaMemcpy(there_.get(), here_.get(), size, cudaMemcpyHostToDevice), "cannot copy cards to the GPU");
  }

  // What was drawn last has arrived, so that others may be drawn.
  [[nodiscard]] bool may_be_drawn() const {
    const cudaError_t state = cudaEventQuery(uploaded_.get());
    if (state == cudaErrorNotReady) return false;
    cuda_check(state, "the GPU failed while it worked on a mosaic");
    return true;
  }

  void draw_and_upload(std::span<const std::size_t> cells, const CellStates& states, GpuStream stream) {
    for (const std::size_t cell : cells) {
      draw(cell, states.reason(cell), states.since(cell));
      cuda_check(cudaMemcpyAsync(there_.get() + offsets_[cell], here_.get() + offsets_[cell],
                                 card_bytes(config_.cells[cell]), cudaMemcpyHostToDevice, stream),
                 "cannot copy a card to the GPU");
    }
    if (!cells.empty()) cuda_check(cudaEventRecord(uploaded_.get(), stream), "cannot record an event of the GPU");
  }

  [[nodiscard]] ComposedCell on_gpu(std::size_t cell) const {
    const FrameRegion& region = config_.cells[cell].region;
    const std::uint8_t* const luma = there_.get() + offsets_[cell];
    return {luma, luma + std::ptrdiff_t{region.width} * region.height, region.width, region.width, region};
  }

 private:
  void draw(std::size_t cell, std::string_view reason, std::string_view since) {
    MutableFrameView view;
    view.format = cell_format(config_.format, config_.cells[cell]);
    std::uint8_t* const luma = here_.get() + offsets_[cell];
    view.data = {luma, luma + std::ptrdiff_t{view.format.width} * view.format.height, nullptr};
    view.stride = {view.format.width, view.format.width, 0};
    draw_card(view, config_.font, {config_.cells[cell].name, reason, since});
  }

  const CanvasConfig& config_;
  CudaEvent uploaded_;
  std::vector<std::size_t> offsets_;
  PinnedBytes here_;
  DeviceBytes there_;
};

std::vector<Label> make_labels(const CanvasConfig& config) {
  std::vector<Label> labels(config.cells.size());
  if (!config.labels || config.font == nullptr) return labels;
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = make_label(*config.font, config.cells[i].name, cell_format(config.format, config.cells[i]));
  return labels;
}

CellOverlays upload(const std::vector<Label>& labels) {
  std::vector<CellOverlay> overlays;
  for (const Label& label : labels)
    overlays.push_back({label.region, label.luma_keep, label.luma_add, label.chroma_keep});
  return CellOverlays(overlays);
}

std::shared_ptr<FramePool> make_pool(const FrameFormat& format) {
  int index = 0;
  cuda_check(cudaGetDevice(&index), "cannot find the current GPU");
  const FrameLayout layout{format, device_frame_alignment, MemoryKind::cuda, gpu_at(index)};
  auto pool = std::make_shared<FramePool>(layout, device_frame_bytes);
  pool->reserve(usual_gpu_frames);
  return pool;
}

}  // namespace

struct GpuCompositor::State {
  State(const CanvasConfig& given, SharedGpuStream on)
      : config(given),
        stream(std::move(on)),
        states(config.cells),
        cards(config),
        labels(make_labels(config)),
        overlays(upload(labels)),
        pool(make_pool(config.format)) {
    for (const CanvasCell& cell : config.cells) require_inside(cell, config.format);
    batch.reserve(most_composed_cells);
  }

  [[nodiscard]] ComposedCell composed(std::size_t cell, const CellContent& content) const;
  void enqueue(const ComposedCell& cell, const MutableFrameView& out);
  void flush(const MutableFrameView& out);

  const CanvasConfig config;
  const SharedGpuStream stream;
  CellStates states;
  Cards cards;
  const std::vector<Label> labels;
  const CellOverlays overlays;
  const std::shared_ptr<FramePool> pool;
  std::vector<ComposedCell> batch;  // cells that do not overlap
};

ComposedCell GpuCompositor::State::composed(std::size_t cell, const CellContent& content) const {
  if (content.frame == nullptr) return cards.on_gpu(cell);
  const FrameView& in = *content.frame;
  return {in.data[0],
          in.data[1],
          in.stride[0],
          in.stride[1],
          config.cells[cell].region,
          labels[cell].region.width > 0 ? static_cast<std::int32_t>(cell) : -1,
          has_full_range(in.format) != has_full_range(config.format)};
}

void GpuCompositor::State::enqueue(const ComposedCell& cell, const MutableFrameView& out) {
  const auto lies_on = [&](const ComposedCell& other) { return overlap(other.region, cell.region); };
  if (batch.size() == most_composed_cells || std::ranges::any_of(batch, lies_on)) flush(out);
  batch.push_back(cell);
}

void GpuCompositor::State::flush(const MutableFrameView& out) {
  enqueue_compose(batch, overlays, levels_from_other_range(config.format), out, stream.get());
  batch.clear();
}

GpuCompositor::GpuCompositor(const CanvasConfig& config, SharedGpuStream stream)
    : state_(std::make_unique<State>(config, std::move(stream))) {}
GpuCompositor::~GpuCompositor() = default;

FrameRef GpuCompositor::compose(std::span<const CellContent> contents) {
  State& state = *state_;
  const CanvasConfig& config = state.config;
  for (std::size_t i = 0; i < config.cells.size(); ++i) {
    if (contents[i].frame != nullptr) check_cell(config.cells[i], *contents[i].frame);
  }
  state.cards.draw_and_upload(state.states.set(contents, state.cards.may_be_drawn()), state.states, state.stream.get());
  auto [view, owner] = state.pool->take();
  const CellStates::ToDraw to_draw = state.states.to_draw(view.data[0]);
  if (to_draw.everything)
    enqueue_fill_around(view, {}, yuv_colour(config.background, config.format), state.stream.get());
  for (const std::size_t cell : to_draw.cells) state.enqueue(state.composed(cell, contents[cell]), view);
  state.flush(view);
  return {as_const(view), std::move(owner)};
}

}  // namespace campipe
