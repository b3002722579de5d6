// Frames in a GPU's memory for tests, beside those of tests/unit/filter_test_support.h.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "core/cuda.h"
#include "tests/unit/filter_test_support.h"
#include "tests/unit/moving_picture.h"

namespace campipe::test {

// Nothing where this machine has no GPU, or no driver.
inline std::optional<Device> first_gpu() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) return std::nullopt;
  return gpu_at(0);
}

// Tests of this kind are skipped where there is no GPU.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto gpu = first_gpu();
    if (!gpu) GTEST_SKIP() << "this machine has no GPU";
    use_gpu(*gpu);
  }
};

// How the rows of a frame lie: as GPUs like it, or at odd addresses.
enum class Rows { aligned, odd };

// Like Frame, with rows further apart than they are wide, and the guard between them.
struct GpuPicture {
  GpuPicture(const FrameFormat& format, Rows rows) {
    view.format = format;
    view.memory = MemoryKind::cuda;
    view.device = *first_gpu();
    for (int i = 0; i < plane_count(format.pixels); ++i) {
      const PlaneSize size = plane_size(format, i);
      const auto at = static_cast<std::size_t>(i);
      view.stride[at] = rows == Rows::odd ? size.width + 7 - size.width % 2 : (size.width + 511) / 256 * 256;
      bytes[at] = static_cast<std::size_t>(view.stride[at]) * static_cast<std::size_t>(size.height);
      planes[at] = allocate_on_device((bytes[at] + 16) / 4 * 4);  // kernels read whole words
      view.data[at] = planes[at].get() + (rows == Rows::odd ? 1 : 0);
      cuda_check(cudaMemset(view.data[at], guard, bytes[at]), "memset");
    }
    finish();
  }

  void upload(const FrameView& from) {
    for (int i = 0; i < plane_count(view.format.pixels); ++i) {
      const PlaneSize size = plane_size(view.format, i);
      const auto at = static_cast<std::size_t>(i);
      cuda_check(cudaMemcpy2D(view.data[at], static_cast<std::size_t>(view.stride[at]), from.data[at],
                              static_cast<std::size_t>(from.stride[at]), static_cast<std::size_t>(size.width),
                              static_cast<std::size_t>(size.height), cudaMemcpyDefault),
                 "upload");
    }
    finish();
  }

  [[nodiscard]] bool padding_untouched() const {
    for (int i = 0; i < plane_count(view.format.pixels); ++i) {
      const PlaneSize size = plane_size(view.format, i);
      const auto at = static_cast<std::size_t>(i);
      std::vector<std::uint8_t> all(bytes[at]);
      cuda_check(cudaMemcpy(all.data(), view.data[at], all.size(), cudaMemcpyDefault), "download");
      for (std::size_t k = 0; k < all.size(); ++k)
        if (static_cast<int>(k) % view.stride[at] >= size.width && all[k] != guard) return false;
    }
    return true;
  }

  // Streams of campipe do not wait for the default one, which these copies are made on.
  static void finish() { cuda_check(cudaStreamSynchronize(nullptr), "the default stream"); }

  MutableFrameView view;
  std::array<DeviceBytes, 3> planes;
  std::array<std::size_t, 3> bytes{};
};

// From wherever it lies.
inline Picture download(const FrameView& view) {
  Picture picture(view.format);
  for (int i = 0; i < plane_count(view.format.pixels); ++i) {
    const PlaneSize size = plane_size(view.format, i);
    const auto at = static_cast<std::size_t>(i);
    cuda_check(cudaMemcpy2D(picture.view.data[at], static_cast<std::size_t>(picture.view.stride[at]), view.data[at],
                            static_cast<std::size_t>(view.stride[at]), static_cast<std::size_t>(size.width),
                            static_cast<std::size_t>(size.height), cudaMemcpyDefault),
               "download");
  }
  return picture;
}

// As a camera might see it: gradients and an edge, in all planes.
inline Picture real_picture(const FrameFormat& format) {
  Picture picture(format);
  picture.each([](std::uint8_t& sample, int plane, int x, int y) {
    sample = plane == 0 ? moving_luma(x, y, 5) : static_cast<std::uint8_t>(64 + (x / 3 + y / 2) % 128);
  });
  return picture;
}

}  // namespace campipe::test
