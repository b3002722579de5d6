#include "stages/filters/chain.h"

#include <cstddef>
#include <new>
#include <span>
#include <utility>

#include "stages/filters/filter_sequence.h"
#include "stages/filters/frame_pool.h"

namespace campipe {
namespace {

constexpr std::size_t alignment = 64;  // a cache line, and the widest vector there is

FrameBytes allocate(std::size_t size) {
  return {static_cast<std::uint8_t*>(::operator new[](size, std::align_val_t{alignment})),
          [](std::uint8_t* bytes) { ::operator delete[](bytes, std::align_val_t{alignment}); }};
}

}  // namespace

struct FilterChain::State {
  FilterSequence filters;
  std::vector<std::shared_ptr<FramePool>> pools;  // of what each filter makes; none: it only looks
  std::vector<FrameRows> rows;
};

FilterChain::FilterChain(const std::vector<FilterConfig>& filters)
    : state_(new State{FilterSequence(filters), {}, {}}) {}

FilterChain::~FilterChain() = default;

bool FilterChain::empty() const { return state_->filters.stages().empty(); }

FrameFormat FilterChain::configure(const FrameFormat& in, RowRange band) {
  const std::span formats = state_->filters.configure(in);
  const std::span stages = state_->filters.stages();
  state_->rows = state_->filters.rows_for(band);
  state_->pools.assign(stages.size(), nullptr);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].only_looks) continue;
    const FrameLayout layout{formats[i + 1], alignment, MemoryKind::host, {}, state_->rows[i + 1]};
    state_->pools[i] = std::make_shared<FramePool>(layout, allocate);
  }
  return formats.back();
}

const FrameRows& FilterChain::needs() const { return state_->rows.front(); }

FrameRef FilterChain::process(const FrameRef& in, std::int64_t pts) {
  FrameRef frame = in;
  const std::span stages = state_->filters.stages();
  for (std::size_t i = 0; i < stages.size(); ++i) {
    Filter& filter = *stages[i].filter;
    if (stages[i].only_looks) {
      filter.look(frame.view, pts);
    } else {
      auto [view, owner] = state_->pools[i]->take();
      filter.process(frame.view, view);
      frame.view = as_const(view);
      frame.owner = std::move(owner);
    }
    filter.add_metadata(frame.metadata);
  }
  frame.view.rows = state_->rows.back();
  return frame;
}

}  // namespace campipe
