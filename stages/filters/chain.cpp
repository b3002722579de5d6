#include "stages/filters/chain.h"

#include <utility>

#include "core/frame_memory.h"
#include "core/frame_pool.h"

namespace campipe {
namespace {

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
    if (!stage.only_looks)
      stage.pool = std::make_shared<FramePool>(FrameLayout{format, host_frame_alignment}, host_frame_bytes);
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
