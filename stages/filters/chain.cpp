#include "stages/filters/chain.h"

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

#include "stages/filters/picture_pool.h"

namespace campipe {
namespace {

constexpr std::size_t alignment = 64;  // a cache line, and the widest vector there is

PictureBytes allocate(std::size_t size) {
  return {static_cast<std::uint8_t*>(::operator new[](size, std::align_val_t{alignment})),
          [](std::uint8_t* bytes) { ::operator delete[](bytes, std::align_val_t{alignment}); }};
}

struct Stage {
  std::unique_ptr<Filter> filter;
  std::shared_ptr<PicturePool> pool;  // none: it only looks
};

}  // namespace

struct FilterChain::State {
  std::vector<Stage> stages;
};

FilterChain::FilterChain(const std::vector<FilterConfig>& filters) : state_(std::make_unique<State>()) {
  for (const FilterConfig& config : filters) {
    const FilterInfo& info = known_filter(config.name);
    state_->stages.push_back({info.create(complete_parameters(info, config.parameters)), nullptr});
  }
}

FilterChain::~FilterChain() = default;

bool FilterChain::empty() const { return state_->stages.empty(); }

FrameFormat FilterChain::configure(const FrameFormat& in) {
  FrameFormat format = in;
  for (Stage& stage : state_->stages) {
    format = stage.filter->configure(format);
    if (!stage.filter->motion()) stage.pool = std::make_shared<PicturePool>(PictureLayout{format, alignment}, allocate);
  }
  return format;
}

FrameRef FilterChain::process(const FrameRef& in, std::int64_t pts) {
  FrameRef picture = in;
  for (const Stage& stage : state_->stages) {
    if (!stage.pool) {
      stage.filter->look(picture.view, pts);
      continue;
    }
    auto [view, owner] = stage.pool->take();
    stage.filter->process(picture.view, view);
    picture = {as_const(view), std::move(owner)};
  }
  return picture;
}

std::optional<MotionScore> FilterChain::motion() const {
  std::optional<MotionScore> found;
  for (const Stage& stage : state_->stages) found = highest(found, stage.filter->motion());
  return found;
}

std::optional<MotionScore> highest(const std::optional<MotionScore>& one, const std::optional<MotionScore>& other) {
  if (!one || !other) return one ? one : other;
  MotionScore found = one->score / one->threshold >= other->score / other->threshold ? *one : *other;
  found.moving = std::max(one->moving, other->moving);
  return found;
}

}  // namespace campipe
