#include "stages/filters/chain.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <mutex>
#include <new>
#include <sstream>

#include "core/error.h"

namespace campipe {
namespace {

constexpr std::size_t alignment = 64;  // a cache line, and the widest vector there is

std::size_t aligned(std::size_t size) { return (size + alignment - 1) / alignment * alignment; }

struct AlignedDelete {
  void operator()(std::uint8_t* pixels) const { ::operator delete[](pixels, std::align_val_t{alignment}); }
};

struct Picture {
  std::unique_ptr<std::uint8_t[], AlignedDelete> pixels;
  MutableFrameView view;
  alignas(std::max_align_t) std::array<std::byte, 96> control_block;  // of the shared_ptr that owns it; see below
};

std::unique_ptr<Picture> make_picture(const FrameFormat& format) {
  auto picture = std::make_unique<Picture>();
  picture->view.format = format;
  std::array<std::size_t, 3> offsets{};
  std::size_t size = 0;
  for (int i = 0; i < plane_count(format.pixels); ++i) {
    const PlaneSize plane = plane_size(format, i);
    const std::size_t stride = aligned(static_cast<std::size_t>(plane.width));
    const auto index = static_cast<std::size_t>(i);
    offsets[index] = size;
    picture->view.stride[index] = static_cast<std::int32_t>(stride);
    size += stride * static_cast<std::size_t>(plane.height);
  }
  picture->pixels.reset(static_cast<std::uint8_t*>(::operator new[](size, std::align_val_t{alignment})));
  for (int i = 0; i < plane_count(format.pixels); ++i)
    picture->view.data[static_cast<std::size_t>(i)] = picture->pixels.get() + offsets[static_cast<std::size_t>(i)];
  return picture;
}

// Pictures of one format. Each one handed out keeps the pool alive, and comes back from whichever thread drops it.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  explicit Pool(const FrameFormat& format) : format_(format) {}

  struct Lease {
    MutableFrameView view;
    std::shared_ptr<const void> owner;
  };
  Lease take();

 private:
  // A shared_ptr allocates a control block each time one is made: this puts it into the picture itself. The picture
  // is free again when the block is, which is the last thing that happens to a shared_ptr (weak ones included).
  template <typename T>
  struct InPicture {
    using value_type = T;
    std::shared_ptr<Pool> pool;
    Picture* picture;

    InPicture(std::shared_ptr<Pool> p, Picture* in) : pool(std::move(p)), picture(in) {}
    template <typename U>
    explicit InPicture(const InPicture<U>& other) : pool(other.pool), picture(other.picture) {}
    T* allocate(std::size_t count) {
      static_assert(sizeof(T) <= sizeof(Picture::control_block) && alignof(T) <= alignof(std::max_align_t));
      if (count != 1) throw std::bad_alloc();
      return reinterpret_cast<T*>(picture->control_block.data());
    }
    void deallocate(T* /*block*/, std::size_t /*count*/) { pool->put_back(picture); }
    template <typename U>
    friend bool operator==(const InPicture& a, const InPicture<U>& b) {
      return a.picture == b.picture;
    }
  };

  void put_back(Picture* picture) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(picture);  // has room: see take()
  }

  const FrameFormat format_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Picture>> all_;
  std::vector<Picture*> free_;
};

Pool::Lease Pool::take() {
  Picture* picture = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) {
      all_.push_back(make_picture(format_));
      free_.reserve(all_.capacity());
      free_.push_back(all_.back().get());
    }
    picture = free_.back();
    free_.pop_back();
  }
  const auto nothing_to_delete = [](const Picture*) {};
  return {picture->view,
          std::shared_ptr<const void>(picture, nothing_to_delete, InPicture<Picture>(shared_from_this(), picture))};
}

std::string range_text(const ParameterInfo& info) {
  std::ostringstream text;
  text << (info.whole ? "a whole number" : "a number") << " from " << info.min << " to " << info.max;
  return text.str();
}

bool in_range(const ParameterInfo& info, double value) {
  return value >= info.min && value <= info.max && (!info.whole || value == std::floor(value));  // NaN: no
}

// Checked, and with the fallbacks filled in.
FilterParameters complete(const FilterInfo& filter, const FilterParameters& given) {
  const std::string name(filter.name);
  FilterParameters complete;
  for (const ParameterInfo& info : filter.parameters) {
    const auto found = given.find(info.name);
    const std::string key = name + "." + std::string(info.name);
    if (found == given.end() && !info.fallback) throw Error(key + ": missing; it must be " + range_text(info));
    const double value = found == given.end() ? *info.fallback : found->second;
    if (!in_range(info, value)) throw Error(key + ": must be " + range_text(info));
    complete.emplace(info.name, value);
  }
  for (const auto& [key, value] : given)
    if (!complete.contains(key)) throw Error(name + "." + key + ": unknown parameter");
  return complete;
}

struct Stage {
  std::unique_ptr<Filter> filter;
  std::shared_ptr<Pool> pool;
};

}  // namespace

struct FilterChain::State {
  std::vector<Stage> stages;
};

FilterChain::FilterChain(const std::vector<FilterConfig>& filters) : state_(std::make_unique<State>()) {
  for (const FilterConfig& config : filters) {
    const FilterInfo* info = find_filter(config.name);
    if (info == nullptr) throw Error("unknown filter '" + config.name + "'");
    state_->stages.push_back({info->create(complete(*info, config.parameters)), nullptr});
  }
}

FilterChain::~FilterChain() = default;

bool FilterChain::empty() const { return state_->stages.empty(); }

FrameFormat FilterChain::configure(const FrameFormat& in) {
  FrameFormat format = in;
  for (Stage& stage : state_->stages) {
    format = stage.filter->configure(format);
    stage.pool = std::make_shared<Pool>(format);
  }
  return format;
}

FrameRef FilterChain::process(const FrameRef& in) {
  FrameRef picture = in;
  for (const Stage& stage : state_->stages) {
    auto [view, owner] = stage.pool->take();
    stage.filter->process(picture.view, view);
    picture = {as_const(view), std::move(owner)};
  }
  return picture;
}

}  // namespace campipe
