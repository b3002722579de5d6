// How fast the GPU paths of the filters are: the bytes of a frame in and out over the time of one, beside a copy on
// the device of as many bytes. Both go round more frames than the GPU's cache holds. Needs a GPU.
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/cuda.h"
#include "stages/filters/filter.h"

namespace campipe {
namespace {

constexpr std::size_t round_bytes = 512u << 20;  // several times the cache
constexpr int repeats = 240;                     // fit into the queue of a stream
constexpr int rounds = 9;

struct Case {
  const char* filter;
  FilterParameters parameters;
};

const std::array cases{
    Case{"resize", {{"width", 1920}, {"height", 1080}}},
    Case{"resize", {{"width", 1280}, {"height", 720}}},
    Case{"blur", {{"sigma", 1.5}}},
    Case{"blur", {{"sigma", 5}}},
    Case{"blur", {{"sigma", 15}}},
    Case{"sharpen", {{"amount", 1}}},
    Case{"crop", {{"x", 322}, {"y", 180}, {"width", 1280}, {"height", 720}}},
    Case{"color", {{"brightness", 0.1}, {"contrast", 1.2}, {"saturation", 1.5}, {"gamma", 1.4}}},
    Case{"undistort", {{"k1", -0.28}, {"k2", 0.07}, {"p1", 0.001}, {"p2", -0.0005}}},
    Case{"rotate", {{"angle", 90}}},
    Case{"rotate", {{"angle", 180}}},
    Case{"deinterlace", {{"field", 0}}},
    Case{"denoise", {{"strength", 4}, {"patch", 5}, {"window", 9}}},
    Case{"denoise", {{"strength", 4}, {"patch", 7}, {"window", 11}}},
    Case{"motion", {{"sensitivity", 50}}},
};

std::size_t plane_bytes(const FrameFormat& format, int plane, int stride) {
  return static_cast<std::size_t>(stride) * static_cast<std::size_t>(plane_size(format, plane).height);
}

// What a filter has to move, without the ends of rows.
std::size_t picture_bytes(const FrameFormat& format) {
  return plane_bytes(format, 0, plane_size(format, 0).width) + plane_bytes(format, 1, plane_size(format, 1).width);
}

// Frames of random samples, one behind the other, with rows as they are in rings.
class Pictures {
 public:
  Pictures(const FrameFormat& format, std::size_t count) : format_(format), stride_((format.width + 255) / 256 * 256) {
    const std::size_t one = plane_bytes(format, 0, stride_) + plane_bytes(format, 1, stride_);
    size_ = (one + 511) / 512 * 512;
    bytes_ = allocate_on_device(size_ * count);
    std::vector<std::uint8_t> samples(size_);
    std::mt19937 random(1);
    for (auto& sample : samples) sample = static_cast<std::uint8_t>(random());
    for (std::size_t i = 0; i < count; ++i)
      cuda_check(cudaMemcpy(bytes_.get() + i * size_, samples.data(), size_, cudaMemcpyHostToDevice), "upload");
  }

  [[nodiscard]] MutableFrameView at(std::size_t i) const {
    std::uint8_t* const luma = bytes_.get() + i * size_;
    return {
        format_, {luma, luma + plane_bytes(format_, 0, stride_), nullptr}, {stride_, stride_, 0}, MemoryKind::cuda, {}};
  }

 private:
  FrameFormat format_;
  int stride_;
  std::size_t size_;
  DeviceBytes bytes_;
};

class Stopwatch {
 public:
  Stopwatch() : stream_(make_cuda_stream()), ahead_(allocate_on_device(round_bytes)) {
    for (CudaEvent* event : {&start_, &stop_}) {
      cudaEvent_t made = nullptr;
      cuda_check(cudaEventCreate(&made), "cannot make an event");
      event->reset(made);
    }
  }

  // The median time of one, in µs, when many are enqueued one behind the other. They begin behind a longer work, so
  // that the GPU never waits for the CPU.
  double time_of(const std::function<void(int, GpuStream)>& enqueue) {
    std::vector<double> times;
    for (int round = 0; round <= rounds; ++round) {
      for (int i = 0; i < 6; ++i)
        cuda_check(cudaMemsetAsync(ahead_.get(), i, round_bytes, stream_.get()), "cannot enqueue");
      cuda_check(cudaEventRecord(start_.get(), stream_.get()), "cannot record");
      for (int i = 0; i < repeats; ++i) enqueue(i, stream_.get());
      cuda_check(cudaEventRecord(stop_.get(), stream_.get()), "cannot record");
      cuda_check(cudaEventSynchronize(stop_.get()), "the GPU failed");
      float milliseconds = 0;
      cuda_check(cudaEventElapsedTime(&milliseconds, start_.get(), stop_.get()), "cannot tell the time");
      if (round > 0) times.push_back(1000.0 * milliseconds / repeats);  // the first one warms up
    }
    std::ranges::nth_element(times, times.begin() + rounds / 2);
    return times[rounds / 2];
  }

 private:
  CudaStream stream_;
  DeviceBytes ahead_;
  CudaEvent start_;
  CudaEvent stop_;
};

double time_of_copies(std::size_t bytes, Stopwatch& stopwatch) {
  const std::size_t place = (bytes + 511) / 512 * 512;
  const std::size_t count = round_bytes / (2 * place) + 1;
  const DeviceBytes from = allocate_on_device(place * count), to = allocate_on_device(place * count);
  return stopwatch.time_of([&](int i, GpuStream stream) {
    const std::size_t at = static_cast<std::size_t>(i) % count * place;
    cuda_check(cudaMemcpyAsync(to.get() + at, from.get() + at, bytes, cudaMemcpyDeviceToDevice, stream), "copy");
  });
}

std::string title(const Case& it) {
  std::string text = it.filter;
  for (const auto& [name, value] : it.parameters) {
    std::array<char, 64> one{};
    std::snprintf(one.data(), one.size(), " %s=%g", name.c_str(), value);
    text += one.data();
  }
  return text;
}

void measure(const Case& it, const FrameFormat& in, Stopwatch& stopwatch) {
  const FilterInfo& info = known_filter(it.filter);
  const auto filter = info.create_gpu(complete_parameters(info, it.parameters));
  const FrameFormat out = filter->configure(in);
  const std::size_t bytes = picture_bytes(in) + picture_bytes(out);
  const std::size_t count = round_bytes / bytes + 1;
  const Pictures from(in, count), to(out, count);
  const double time = stopwatch.time_of([&](int i, GpuStream stream) {
    const std::size_t at = static_cast<std::size_t>(i) % count;
    if (info.only_looks) {
      filter->enqueue_look(as_const(from.at(at)), i * 50'000'000LL, stream);  // as a chain does
    } else {
      filter->enqueue(as_const(from.at(at)), to.at(at), stream);
    }
  });
  const double copy = time_of_copies(bytes / 2, stopwatch);
  std::printf("%8.2f %8.0f %8.2f %8.0f %7.2f  %s\n", time, static_cast<double>(bytes) / time / 1000, copy,
              static_cast<double>(bytes) / copy / 1000, copy / time, title(it).c_str());
  std::fflush(stdout);
}

void measure_all(int width, int height, Stopwatch& stopwatch) {
  std::printf("\n%dx%d\n%8s %8s %8s %8s %7s\n", width, height, "us", "GB/s", "copy us", "GB/s", "ratio");
  for (const Case& it : cases) measure(it, {.pixels = PixelFormat::nv12, .width = width, .height = height}, stopwatch);
}

}  // namespace
}  // namespace campipe

int main() {
  using namespace campipe;
  try {
    cudaDeviceProp gpu{};
    cuda_check(cudaGetDeviceProperties(&gpu, 0), "no GPU");
    std::printf("%s, %d multiprocessors, %d MiB of cache\n", gpu.name, gpu.multiProcessorCount, gpu.l2CacheSize >> 20);
    Stopwatch stopwatch;
    measure_all(3840, 2160, stopwatch);
    measure_all(1920, 1080, stopwatch);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
