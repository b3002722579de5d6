#include "stages/filters/gpu_chain.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "core/cuda.h"
#include "core/error.h"
#include "core/frame_memory.h"
#include "core/frame_pool.h"
#include "kernels/transfer.h"
#include "stages/filters/filter_sequence.h"
#include "stages/filters/gpu_pointwise.h"

namespace campipe {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::size_t results = 4;           // that may be in use at once before more are allocated
constexpr auto settle = milliseconds(1000);  // how long work that was enqueued may take when it is not wanted any more

SharedGpuStream make_stream() {
  CudaStream stream = make_cuda_stream();
  return {stream.release(), CudaStreamTraits::close};
}

Device current_gpu() {
  int index = 0;
  cuda_check(cudaGetDevice(&index), "cannot find the current GPU");
  return gpu_at(index);
}

// What consecutive point-wise filters do.
class Merged : public GpuPointwise {
 public:
  void append(const Pointwise& next) {
    for (std::size_t i = 0; i < 256; ++i) {
      pointwise_.luma[i] = next.luma[pointwise_.luma[i]];
      pointwise_.chroma[i] = next.chroma[pointwise_.chroma[i]];
    }
    pointwise_.x += next.x;
    pointwise_.y += next.y;
  }
  FrameFormat configure(const FrameFormat& in) override { return in; }
};

// `out`: of the plane's first row.
void copy_rows_async(const FrameView& in, std::uint8_t* out, std::int32_t out_stride, int plane, RowRange rows,
                     GpuStream stream) {
  const auto i = static_cast<std::size_t>(plane);
  // By its address CUDA knows what memory it is.
  cuda_check(
      cudaMemcpy2DAsync(out + std::ptrdiff_t{rows.begin} * out_stride, static_cast<std::size_t>(out_stride),
                        in.data[i] + std::ptrdiff_t{rows.begin} * in.stride[i], static_cast<std::size_t>(in.stride[i]),
                        static_cast<std::size_t>(plane_size(in.format, plane).width),
                        static_cast<std::size_t>(rows.count()), cudaMemcpyDefault, stream),
      "cannot copy a frame to or from the GPU");
}

// The rows of `out`.
void copy_async(const FrameView& in, const MutableFrameView& out, GpuStream stream) {
  for (int plane = 0; plane < plane_count(in.format.pixels); ++plane) {
    const auto i = static_cast<std::size_t>(plane);
    copy_rows_async(in, out.data[i], out.stride[i], plane, plane_rows(out, plane), stream);
  }
}

// Brings i420 to the GPU, and makes nv12 of it there.
class PlanarUpload {
 public:
  void configure(const FrameFormat& in, RowRange chroma) {
    constexpr std::size_t alignment = device_frame_alignment;
    const auto width = static_cast<std::size_t>(plane_size(in, 1).width);
    stride_ = static_cast<std::int32_t>((width + alignment - 1) & ~(alignment - 1));
    plane_bytes_ = std::ptrdiff_t{stride_} * chroma.count();
    chroma_ = allocate_on_device(2 * static_cast<std::size_t>(plane_bytes_));
  }
  void enqueue(const FrameView& in, const MutableFrameView& out, GpuStream stream) {
    const RowRange rows = plane_rows(out, 1);
    std::uint8_t* const u = chroma_.get() - std::ptrdiff_t{rows.begin} * stride_;
    std::uint8_t* const v = u + plane_bytes_;
    copy_rows_async(in, out.data[0], out.stride[0], 0, plane_rows(out, 0), stream);
    copy_rows_async(in, u, stride_, 1, rows, stream);
    copy_rows_async(in, v, stride_, 2, rows, stream);
    enqueue_interleave_chroma(u, v, stride_, out, stream);
  }

 private:
  DeviceBytes chroma_;  // both planes
  std::int32_t stride_ = 0;
  std::ptrdiff_t plane_bytes_ = 0;
};

// Tells how far a stream has come. The stream counts in page-locked memory, and the CPU looks there.
//
// Why not cudaEventSynchronize: it has no deadline, and a stream that waits for an event of a process that was killed
// never goes on. Why not cudaStreamQuery alone: each is a call of some microseconds into the driver, under a lock that
// all threads of the process share.
class Progress {
 public:
  void enqueue(GpuStream stream) {
    ++enqueued_;
    if (!by_word_) return;
    cuda_check(cuda_driver().stream_write_value(stream, reinterpret_cast<CUdeviceptr>(word_.get()), enqueued_,
                                                CU_STREAM_WRITE_VALUE_DEFAULT),
               "cannot enqueue a GPU's signal");
  }

  // Sleeps until all is done; cudaErrorNotReady: `deadline` came first; else what the GPU failed with. The naps grow,
  // so that short work is noticed soon and long work costs little.
  cudaError_t wait(GpuStream stream, Deadline deadline) const {
    auto nap = microseconds(20);
    auto ask = Clock::now() + ask_every;
    for (;;) {
      if (by_word_ && done()) return cudaSuccess;
      const auto now = Clock::now();
      if (!by_word_ || now >= ask || now >= deadline) {
        // The only way to learn that the GPU failed.
        const cudaError_t state = cudaStreamQuery(stream);
        if (state != cudaErrorNotReady) return state;
        ask = now + ask_every;
      }
      if (now >= deadline) return cudaErrorNotReady;
      std::this_thread::sleep_for(std::min<Clock::duration>(nap, deadline - now));
      nap = std::min(nap * 2, microseconds(200));
    }
  }

 private:
  static constexpr auto ask_every = milliseconds(10);

  using Word = std::uint64_t;

  [[nodiscard]] bool done() const {
    Word& word = *reinterpret_cast<Word*>(word_.get());
    return std::atomic_ref(word).load(std::memory_order_acquire) >= enqueued_;
  }

  static bool can_write_words() {
    int device = 0;
    int can = 0;
    cuda_check(cudaGetDevice(&device), "cannot find the current GPU");
    cuda_check(cuda_driver().device_get_attribute(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, device),
               "cannot ask the GPU what it can do");
    return can != 0;
  }
  static PinnedBytes make_word() {
    PinnedBytes bytes = allocate_pinned(sizeof(Word));
    std::memset(bytes.get(), 0, sizeof(Word));
    return bytes;
  }

  bool by_word_ = can_write_words();
  PinnedBytes word_ = make_word();
  Word enqueued_ = 0;
};

struct Configured {
  std::unique_ptr<GpuFilter> filter;
  bool only_looks;
};

struct Filtering {
  std::unique_ptr<GpuFilter> merged;  // of point-wise filters; else none
  GpuFilter* filter = nullptr;
  std::shared_ptr<FramePool> pool;  // none: it only looks
};

// All of a configuration that belongs to one format of input.
struct Plan {
  FrameFormat input;
  GpuChain::Output output = GpuChain::Output::device;
  std::vector<FrameRows> rows;  // of each filter's input, and of the last one's output
  PlanarUpload planar;
  std::shared_ptr<FramePool> uploaded;
  std::vector<Filtering> filters;
  const Filtering* last = nullptr;        // of them, that changes the frame
  std::shared_ptr<FramePool> downloaded;  // none: results stay on the device
};

}  // namespace

struct GpuChain::State {
  Device gpu = current_gpu();
  SharedGpuStream stream;
  Progress progress;
  std::vector<Configured> filters;
  FilterSequence sequence;  // of the same filters: knows which rows they need
  Plan plan;

  explicit State(const std::vector<FilterConfig>& configs) : sequence(configs) {}

  std::shared_ptr<FramePool> make_pool(const FrameFormat& format, const FrameRows& rows, bool host,
                                       std::size_t count) const {
    const FrameLayout layout = host ? FrameLayout{format, device_frame_alignment, MemoryKind::host, {}, rows}
                                    : FrameLayout{format, device_frame_alignment, MemoryKind::cuda, gpu, rows};
    auto pool = std::make_shared<FramePool>(layout, host ? pinned_frame_bytes : device_frame_bytes);
    pool->reserve(count);
    return pool;
  }
  std::vector<Filtering> plan_filters(FrameFormat& format, const std::vector<FrameRows>& rows);
  FrameRef upload(const FrameView& in);
};

GpuChain::GpuChain(const std::vector<FilterConfig>& filters, const SharedGpuStream& stream)
    : state_(std::make_unique<State>(filters)) {
  state_->stream = stream ? stream : make_stream();
  for (const FilterConfig& config : filters) {
    const FilterInfo& info = known_filter(config.name);
    const FilterParameters parameters = complete_parameters(info, config.parameters);
    if (info.create_gpu == nullptr) {
      throw Error("filter '" + config.name + "' cannot run on a GPU; set `gpu: cpu` for this camera");
    }
    state_->filters.push_back({info.create_gpu(parameters), info.only_looks});
  }
}

// A stream may wait for what never comes: for a frame of a master that was killed. Then it never ends, and freeing
// any memory of the GPU would wait for it. So everything is left where it is, on purpose: the supervisor ends such a
// process, and only that helps. A GPU that failed waits for nothing.
GpuChain::~GpuChain() {
  if (state_->progress.wait(state_->stream.get(), Clock::now() + settle) == cudaErrorNotReady) {
    static_cast<void>(state_.release());
  }
}

GpuStream GpuChain::stream() const { return state_->stream.get(); }

SharedGpuStream GpuChain::shared_stream() const { return state_->stream; }

FrameFormat GpuChain::configure(const FrameFormat& in, Output output, RowRange band) {
  if (!wait(Clock::now() + settle)) {
    throw GpuError("the GPU has not finished the camera's earlier frames within a second", GpuError::Kind::broken);
  }
  state_->plan = {};  // first: two plans may be more than there is room for
  Plan plan;
  plan.input = in;
  plan.output = output;
  FrameFormat format = in;
  format.pixels = PixelFormat::nv12;
  state_->sequence.configure(format);
  plan.rows = state_->sequence.rows_for(band);
  plan.uploaded = state_->make_pool(format, plan.rows.front(), false, 1);
  if (in.pixels == PixelFormat::i420) plan.planar.configure(in, plan.rows.front().chroma);
  plan.filters = state_->plan_filters(format, plan.rows);
  FramePool* last = plan.uploaded.get();
  for (const Filtering& step : plan.filters) {
    if (!step.pool) continue;
    step.pool->reserve(1);
    last = step.pool.get();
    plan.last = &step;
  }
  if (output == Output::device) last->reserve(results);
  if (output == Output::host) plan.downloaded = state_->make_pool(format, plan.rows.back(), true, results);
  state_->plan = std::move(plan);
  return format;
}

const FrameRows& GpuChain::needs() const { return state_->plan.rows.front(); }

// `format`: the first one's input; becomes the last one's output. `rows`: of each one's input, and of the last one's
// output.
std::vector<Filtering> GpuChain::State::plan_filters(FrameFormat& format, const std::vector<FrameRows>& rows) {
  std::vector<Filtering> steps;
  Merged* open = nullptr;  // the last step, if it is point-wise
  for (std::size_t i = 0; i < filters.size(); ++i) {
    const auto& [filter, only_looks] = filters[i];
    format = filter->configure(format);
    const Pointwise* pointwise = filter->pointwise();
    if (pointwise == nullptr) {
      open = nullptr;
      steps.push_back({nullptr, filter.get(), nullptr});
    } else {
      if (open == nullptr) {
        auto merged = std::make_unique<Merged>();
        open = merged.get();
        steps.push_back({std::move(merged), open, nullptr});
      }
      open->append(*pointwise);
    }
    if (!only_looks) steps.back().pool = make_pool(format, rows[i + 1], false, 0);
  }
  return steps;
}

FrameRef GpuChain::State::upload(const FrameView& in) {
  auto [view, owner] = plan.uploaded->take();
  if (in.format.pixels == PixelFormat::i420) {
    plan.planar.enqueue(in, view, stream.get());
  } else {
    copy_async(in, view, stream.get());
  }
  return {as_const(view), std::move(owner)};
}

FrameRef GpuChain::process(const FrameRef& in, std::int64_t pts, const MutableFrameView* target) {
  const Plan& plan = state_->plan;
  const GpuStream stream = state_->stream.get();
  const bool nv12 = in.view.format.pixels == PixelFormat::nv12;
  const bool there = in.view.memory != MemoryKind::host;
  const bool wanted_there = plan.output == Output::device;
  if (plan.filters.empty() && nv12 && there == wanted_there && target == nullptr) {
    state_->progress.enqueue(stream);  // what fills it may be something that the stream waits for
    FrameRef same = in;
    same.view.rows = plan.rows.back();
    return same;
  }
  FrameRef frame = there && nv12 ? in : state_->upload(in.view);
  frame.metadata = in.metadata;
  bool delivered = false;  // to `target`
  for (const Filtering& step : plan.filters) {
    if (!step.pool) {
      step.filter->enqueue_look(frame.view, pts, stream);
      continue;
    }
    delivered = &step == plan.last && wanted_there && target != nullptr;
    auto [view, owner] = delivered ? FramePool::Lease{*target, nullptr} : step.pool->take();
    if (delivered) view.rows = plan.rows.back();
    step.filter->enqueue(frame.view, view, stream);
    frame.view = as_const(view);
    frame.owner = std::move(owner);
  }
  if (!delivered && (!wanted_there || target != nullptr)) {
    auto [view, owner] = target != nullptr ? FramePool::Lease{*target, nullptr} : plan.downloaded->take();
    copy_async(frame.view, view, stream);
    frame.view = as_const(view);
    frame.owner = std::move(owner);
  }
  frame.view.rows = plan.rows.back();
  state_->progress.enqueue(stream);
  return frame;
}

bool GpuChain::wait(Deadline deadline) {
  const cudaError_t state = state_->progress.wait(state_->stream.get(), deadline);
  if (state == cudaErrorNotReady) return false;
  cuda_check(state, "the GPU failed while it worked on a frame");
  return true;
}

void GpuChain::add_metadata(FrameMetadata& metadata) const {
  for (const Configured& configured : state_->filters) configured.filter->add_metadata(metadata);
}

}  // namespace campipe
