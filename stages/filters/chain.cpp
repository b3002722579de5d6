#include "stages/filters/chain.h"

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "core/frame_memory.h"
#include "core/frame_pool.h"
#include "stages/filters/filter_sequence.h"
#include "stages/filters/planes.h"

namespace campipe {

struct FilterChain::State {
  FilterSequence filters;
  std::vector<std::shared_ptr<FramePool>> pools;  // of what each filter makes; none: it only looks
  std::vector<FrameRows> rows;
  std::optional<std::size_t> last;  // that changes the frame
};

FilterChain::FilterChain(const std::vector<FilterConfig>& filters)
    : state_(new State{FilterSequence(filters), {}, {}, {}}) {}

FilterChain::~FilterChain() = default;

bool FilterChain::empty() const { return state_->filters.stages().empty(); }

FrameFormat FilterChain::configure(const FrameFormat& in, RowRange band) {
  const std::span formats = state_->filters.configure(in);
  const std::span stages = state_->filters.stages();
  state_->rows = state_->filters.rows_for(band);
  state_->pools.assign(stages.size(), nullptr);
  state_->last.reset();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].only_looks) continue;
    const FrameLayout layout{formats[i + 1], host_frame_alignment, MemoryKind::host, {}, state_->rows[i + 1]};
    state_->pools[i] = std::make_shared<FramePool>(layout, host_frame_bytes);
    state_->last = i;
  }
  return formats.back();
}

const FrameRows& FilterChain::needs() const { return state_->rows.front(); }

FrameRef FilterChain::process(const FrameRef& in, std::int64_t pts, const MutableFrameView* target) {
  FrameRef frame = in;
  const std::span stages = state_->filters.stages();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    Filter& filter = *stages[i].filter;
    if (stages[i].only_looks) {
      filter.look(frame.view, pts);
    } else {
      auto [view, owner] =
          i == state_->last && target != nullptr ? FramePool::Lease{*target, nullptr} : state_->pools[i]->take();
      view.rows = state_->rows[i + 1];
      filter.process(frame.view, view);
      frame.view = as_const(view);
      frame.owner = std::move(owner);
    }
    filter.add_metadata(frame.metadata);
  }
  frame.view.rows = state_->rows.back();
  if (!state_->last && target != nullptr) {
    MutableFrameView copy = *target;
    copy.rows = frame.view.rows;
    for (int i = 0; i < plane_count(copy.format.pixels); ++i) copy_plane(plane_of(frame.view, i), plane_of(copy, i));
    frame.view = as_const(copy);
    frame.owner = nullptr;
  }
  return frame;
}

}  // namespace campipe
