#include "stages/filters/chain.h"

#include <cstddef>
#include <new>
#include <utility>

#include "core/frame_pool.h"

namespace campipe {
namespace {

constexpr std::size_t alignment = 64;  // a cache line, and the widest vector there is

FrameBytes allocate(std::size_t size) {
  return {static_cast<std::uint8_t*>(::operator new[](size, std::align_val_t{alignment})),
          [](std::uint8_t* bytes) { ::operator delete[](bytes, std::align_val_t{alignment}); }};
}

struct Stage {
  std::unique_ptr<Filter> filter;
  bool only_looks;
  std::shared_ptr<FramePool> pool;  // if it does more
};

}  // namespace

struct FilterChain::State {
  std::vector<Stage> stages;
};

FilterChain::FilterChain(const std::vector<FilterConfig>& filters) : state_(std::make_unique<State>()) {
  for (const FilterConfig& config : filters) {
    const FilterInfo& info = known_filter(config.name);
    state_->stages.push_back({info.create(complete_parameters(info, config.parameters)), info.only_looks, nullptr});
  }
}

FilterChain::~FilterChain() = default;

bool FilterChain::empty() const { return state_->stages.empty(); }

FrameFormat FilterChain::configure(const FrameFormat& in) {
  FrameFormat format = in;
  for (Stage& stage : state_->stages) {
    format = stage.filter->configure(format);
    if (!stage.only_looks) stage.pool = std::make_shared<FramePool>(FrameLayout{format, alignment}, allocate);
  }
  return format;
}

FrameRef FilterChain::process(const FrameRef& in, std::int64_t pts) {
  FrameRef frame = in;
  for (const Stage& stage : state_->stages) {
    if (stage.only_looks) {
      stage.filter->look(frame.view, pts);
    } else {
      auto [view, owner] = stage.pool->take();
      stage.filter->process(frame.view, view);
      frame.view = as_const(view);
      frame.owner = std::move(owner);
    }
    stage.filter->add_metadata(frame.metadata);
  }
  return frame;
}

}  // namespace campipe
