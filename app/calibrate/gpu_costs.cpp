// A GPU: by its own clock, many frames enqueued one behind the other, behind work that keeps it busy until they all
// are, so that it never waits for the CPU.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "app/calibrate/calibrate.h"
#include "app/calibrate/clip.h"
#include "app/calibrate/footage.h"
#include "app/costs/codec_work.h"
#include "core/cuda.h"
#include "core/frame_memory.h"
#include "stages/decoders/decoder.h"
#include "stages/filters/filter.h"
#include "stages/filters/gpu_chain.h"

namespace campipe {
namespace {

constexpr std::size_t frames_in_turn = 4;
constexpr std::size_t busy_bytes = 256U << 20;  // a fill of them takes about 0.1 ms
constexpr int first_fills = 8;
constexpr int most_fills = 512;
constexpr int rounds = 5;
constexpr double longest_round_us = 100'000;

class GpuStopwatch {
 public:
  explicit GpuStopwatch() : ahead_(allocate_on_device(busy_bytes)) {
    for (CudaEvent* event : {&begin_, &end_}) {
      cudaEvent_t made = nullptr;
      cuda_check(cudaEventCreate(&made), "cannot make an event");
      event->reset(made);
    }
  }

  // µs for one, the least of some rounds. Those are of fewer, or behind more work, where the GPU has waited for the
  // CPU.
  double time_of(GpuStream stream, const std::function<void(int)>& enqueue) {
    const double once = time_of_round(stream, 1, enqueue).us;
    int repeats = std::clamp(static_cast<int>(longest_round_us / std::max(once, 1.0)), 2, 100);
    double least = std::numeric_limits<double>::max();
    for (int round = 0; round < rounds;) {
      const Round found = time_of_round(stream, repeats, enqueue);
      if (found.waited && fills_ < most_fills) {
        fills_ *= 2;
      } else if (found.waited && repeats > 2) {
        repeats = std::max(2, repeats / 2);
      } else {
        least = std::min(least, found.us);
        ++round;
      }
    }
    return least;
  }

 private:
  struct Round {
    double us = 0;
    bool waited = false;  // the GPU had begun before all was enqueued
  };

  Round time_of_round(GpuStream stream, int repeats, const std::function<void(int)>& enqueue) {
    for (int i = 0; i < fills_; ++i) cuda_check(cudaMemsetAsync(ahead_.get(), i, busy_bytes, stream), "cannot enqueue");
    cuda_check(cudaEventRecord(begin_.get(), stream), "cannot record an event");
    for (int i = 0; i < repeats; ++i) enqueue(i);
    cuda_check(cudaEventRecord(end_.get(), stream), "cannot record an event");
    const cudaError_t begun = cudaEventQuery(begin_.get());
    if (begun != cudaErrorNotReady) cuda_check(begun, "the GPU failed");
    cuda_check(cudaEventSynchronize(end_.get()), "the GPU failed");
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()), "cannot tell the time");
    return {1000.0 * static_cast<double>(milliseconds) / repeats, begun == cudaSuccess};
  }

  int fills_ = first_fills;
  DeviceBytes ahead_;
  CudaEvent begin_;
  CudaEvent end_;
};

// nv12 frames on the GPU, as its decoders make them.
std::vector<FrameRef> frames_on_gpu(const FrameFormat& size, bool interlaced, const Device& gpu) {
  FrameFormat format = size;
  format.pixels = PixelFormat::nv12;
  const auto pool = std::make_shared<FramePool>(FrameLayout{format, device_frame_alignment, MemoryKind::cuda, gpu, {}},
                                                device_frame_bytes);
  const Footage footage(size, interlaced);
  std::vector<FrameRef> frames;
  for (std::size_t i = 0; i < frames_in_turn; ++i) {
    auto [view, owner] = pool->take();
    const FrameRef drawn = footage.frame(static_cast<int>(i));
    // Luma is as it is; both planes of chroma go into one, whose samples are then of other places, but as smooth.
    const auto copy = [&](std::size_t to, std::size_t from, std::ptrdiff_t row, std::size_t bytes, int rows) {
      cuda_check(cudaMemcpy2D(view.data[to] + row * view.stride[to], static_cast<std::size_t>(view.stride[to]),
                              drawn.view.data[from], bytes, bytes, static_cast<std::size_t>(rows), cudaMemcpyDefault),
                 "cannot copy a frame to the GPU");
    };
    const auto width = static_cast<std::size_t>(size.width);
    copy(0, 0, 0, width, size.height);
    copy(1, 1, 0, width, size.height / 4);
    copy(1, 2, size.height / 4, width, size.height / 4);
    frames.push_back({as_const(view), owner});
  }
  return frames;
}

class GpuFrames {
 public:
  explicit GpuFrames(const Device& gpu) : gpu_(gpu) {}
  const std::vector<FrameRef>& of(const FrameFormat& size, bool interlaced) {
    const bool same = !frames_.empty() && size_.width == size.width && size_.height == size.height;
    if (!same || interlaced != interlaced_) {
      frames_.clear();
      frames_ = frames_on_gpu(size, interlaced, gpu_);
      size_ = size;
      interlaced_ = interlaced;
    }
    return frames_;
  }

 private:
  Device gpu_;
  FrameFormat size_;
  bool interlaced_ = false;
  std::vector<FrameRef> frames_;
};

double time_on_gpu(const std::vector<FilterConfig>& filters, const FrameFormat& in, GpuFrames& frames,
                   GpuStopwatch& stopwatch) {
  const auto& input = frames.of(in, filters.front().name == "deinterlace");
  GpuChain chain(filters);
  chain.configure(input.front().view.format, GpuChain::Output::device);
  std::int64_t pts = 0;
  const double us = stopwatch.time_of(chain.stream(), [&](int i) {
    pts += static_cast<std::int64_t>(1e9 / compared_rate);
    chain.process(input[static_cast<std::size_t>(i) % input.size()], pts);
  });
  cuda_check(cudaStreamSynchronize(chain.stream()), "the GPU failed");
  return us;
}

bool is_pointwise(const FilterConfig& config, const FrameFormat& in) {
  FrameFormat format = in;
  format.pixels = PixelFormat::nv12;
  const auto filter = known_filter(config.name).create_gpu(config.parameters);
  filter->configure(format);
  return filter->pointwise() != nullptr;
}

void measure_copies(DeviceCosts& costs, GpuStopwatch& stopwatch) {
  const CudaStream stream = make_cuda_stream();
  for (const FrameFormat& size : probed_filter_sizes()) {
    const auto bytes = static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) * 3 / 2;
    const DeviceBytes here = allocate_on_device(bytes), there = allocate_on_device(bytes);
    const PinnedBytes host = allocate_pinned(bytes);
    const auto add = [&](const Work& work, std::uint8_t* to, const std::uint8_t* from) {
      const double us = stopwatch.time_of(stream.get(), [&](int) {
        cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.get()), "cannot copy");
      });
      costs.at(work.name).add(0, {work.megapixels, us});
    };
    add(copy_work(size), there.get(), here.get());
    add(upload_work(size), here.get(), host.get());
    add(download_work(size), host.get(), here.get());
  }
}

// Nothing: the GPU does not decode it, or nothing here makes such a stream.
std::optional<double> decode_us(const std::string& codec, const FrameFormat& size, const Device& gpu,
                                const ReportProgress& progress) {
  try {
    return gpu_decode_us_of(encode_footage(codec, size), gpu);
  } catch (const HardwareRefused& refusal) {
    progress(fmt::format("{} of {}: {}", codec, size_text(size), refusal.what()));
    return std::nullopt;
  }
}

}  // namespace

DeviceCosts measure_gpu(const CostKey& key, const Device& gpu, const ReportProgress& progress) {
  use_gpu(gpu);
  DeviceCosts costs{key, utc_text_of_now()};
  GpuStopwatch stopwatch;
  GpuFrames frames(gpu);
  measure_filters(costs, progress, [&](const FilterConfig& filter, const FrameFormat& in) {
    const Work work = chain_work({filter}, in, compared_rate).front();
    costs.at(work.name).merges = is_pointwise(filter, in);
    return time_on_gpu({filter}, in, frames, stopwatch);
  });
  progress("copies");
  measure_copies(costs, stopwatch);
  for (const FrameFormat& size : probed_codec_sizes()) {
    for (const std::string& codec : probed_codecs()) {
      progress(fmt::format("{} of {}", codec, size_text(size)));
      const Work work = decode_work(codec, size);
      if (const auto us = decode_us(codec, size, gpu, progress)) costs.at(work.name).add(0, {work.megapixels, *us});
    }
  }
  return costs;
}

std::vector<CostComparison> compare_gpu(const DeviceCosts& costs, const Device& gpu, const ReportProgress& progress) {
  use_gpu(gpu);
  GpuStopwatch stopwatch;
  GpuFrames frames(gpu);
  std::vector<CostComparison> all =
      compare_chains(costs, progress, [&](const std::vector<FilterConfig>& filters, const FrameFormat& in) {
        return time_on_gpu(filters, in, frames, stopwatch);
      });
  for (const FrameFormat& size : compared_codec_sizes()) {
    for (const std::string& codec : probed_codecs()) {
      const std::string what = fmt::format("{}, {}", size_text(size), codec);
      progress(what);
      const double predicted = cost_us(costs, decode_work(codec, size)).value_or(0);
      if (const auto us = decode_us(codec, size, gpu, progress)) all.push_back({"decode " + what, predicted, *us});
    }
  }
  return all;
}

}  // namespace campipe
