// The GPU path of every filter in the registry against its CPU path: those that compute with integers exactly,
// point-wise ones within one level, others within two levels at 99.9 % of the samples, and a PSNR of 45 dB.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>

#include "core/metadata_types.h"
#include "kernels/transfer.h"
#include "stages/filters/filter.h"
#include "tests/gpu/gpu_pictures.h"
#include "tests/unit/filter_cases.h"

namespace campipe {
namespace {

using test::download;
using test::GpuPicture;
using test::Rows;

constexpr std::array<std::array<int, 2>, 13> sizes{{{1, 1},
                                                    {2, 2},
                                                    {3, 5},
                                                    {17, 9},
                                                    {16, 16},
                                                    {15, 33},
                                                    {1, 40},
                                                    {40, 1},
                                                    {63, 64},
                                                    {130, 75},
                                                    {641, 361},
                                                    {1918, 1079},
                                                    {3840, 2160}}};

struct Difference {
  std::size_t samples = 0;
  std::size_t beyond = 0;  // the limit
  double squares = 0;

  [[nodiscard]] double psnr() const {
    return squares == 0 ? INFINITY : 10 * std::log10(255.0 * 255.0 * static_cast<double>(samples) / squares);
  }
};

Difference difference(const Picture& a, const Picture& b, int limit) {
  Difference found;
  for (int plane = 0; plane < plane_count(a.view.format.pixels); ++plane) {
    const auto i = static_cast<std::size_t>(plane);
    const PlaneSize size = plane_size(a.view.format, plane);
    for (int y = 0; y < size.height; ++y) {
      const std::uint8_t* const row_a = a.view.data[i] + std::ptrdiff_t{y} * a.view.stride[i];
      const std::uint8_t* const row_b = b.view.data[i] + std::ptrdiff_t{y} * b.view.stride[i];
      for (int x = 0; x < size.width; ++x) {
        const int by = std::abs(row_a[x] - row_b[x]);
        found.beyond += by > limit ? 1 : 0;
        found.squares += by * by;
      }
    }
    found.samples += static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
  }
  return found;
}

// Both paths follow the same rule in integers.
constexpr std::array<std::string_view, 4> exact_filters{"deinterlace", "denoise", "motion", "rotate"};

// Runs both paths on `in` and compares them.
void compare(const FilterInfo& info, const FilterParameters& parameters, const Picture& in, Rows rows) {
  const auto cpu = info.create(parameters);
  const auto gpu = info.create_gpu(parameters);
  const FrameFormat format = cpu->configure(in.view.format);
  ASSERT_EQ(gpu->configure(in.view.format), format);
  Picture expected(format);
  cpu->process(as_const(in.view), expected.view);

  GpuPicture from(in.view.format, rows), to(format, rows);
  from.upload(as_const(in.view));
  const CudaStream stream = make_cuda_stream();
  gpu->enqueue(as_const(from.view), to.view, stream.get());
  cuda_check(cudaStreamSynchronize(stream.get()), "the filter");

  const bool exact = std::ranges::find(exact_filters, info.name) != exact_filters.end();
  const int limit = exact ? 0 : gpu->pointwise() != nullptr ? 1 : 2;
  const Difference found = difference(expected, download(as_const(to.view)), limit);
  EXPECT_LE(static_cast<double>(found.beyond), limit < 2 ? 0 : 0.001 * static_cast<double>(found.samples));
  EXPECT_GE(found.psnr(), 45);
  EXPECT_TRUE(to.padding_untouched());
}

using FiltersGpu = test::GpuTest;

TEST_F(FiltersGpu, AreThere) {
  for (const FilterInfo& info : filter_registry()) {
    EXPECT_NE(info.create_gpu, nullptr) << info.name << " has no GPU path";
    EXPECT_FALSE(filter_cases(info.name, format_of(PixelFormat::nv12, 64, 64)).empty())
        << "enter " << info.name << " into tests/unit/filter_cases.h";
  }
}

class FiltersGpuOfSize : public FiltersGpu, public testing::WithParamInterface<std::array<int, 2>> {};

TEST_P(FiltersGpuOfSize, DoWhatTheCpuDoes) {
  const FrameFormat format = format_of(PixelFormat::nv12, GetParam()[0], GetParam()[1]);
  const Picture random = random_picture(format), real = test::real_picture(format);
  for (const FilterInfo& info : filter_registry()) {
    int number = 0;
    for (const FilterParameters& given : filter_cases(info.name, format)) {
      const FilterParameters parameters = complete_parameters(info, given);
      for (const Rows rows : {Rows::aligned, Rows::odd}) {
        SCOPED_TRACE(testing::Message() << info.name << ", case " << number << (rows == Rows::odd ? ", odd rows" : ""));
        {
          SCOPED_TRACE("random");
          compare(info, parameters, random, rows);
        }
        SCOPED_TRACE("real");
        compare(info, parameters, real, rows);
      }
      ++number;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, FiltersGpuOfSize, testing::ValuesIn(sizes), [](const auto& size) {
  return std::to_string(size.param[0]) + "x" + std::to_string(size.param[1]);
});

TEST_F(FiltersGpu, HonourTheRange) {
  FrameFormat format = format_of(PixelFormat::nv12, 130, 75);
  format.color_range = 2;
  const Picture in = random_picture(format);
  for (const char* name : {"color", "undistort"}) {
    const FilterInfo& info = known_filter(name);
    for (const FilterParameters& given : filter_cases(name, format))
      compare(info, complete_parameters(info, given), in, Rows::aligned);
  }
}

// Noise in which a block moves and then stands; the light changes, and the scene.
void next_scene(Picture& picture, int number, std::minstd_rand& random) {
  const FrameFormat& format = picture.view.format;
  const int base = number < 60 ? 100 : number < 80 ? 80 : 40, slope = number < 80 ? 1 : -1;
  const int left = std::min(number, 45) * format.width / 60, top = format.height / 8;
  for (int y = 0; y < format.height; ++y)
    for (int x = 0; x < format.width; ++x) {
      const bool inside = number % 100 < 70 && x >= left && x < left + format.width / 6 && y >= top && y < 5 * top;
      const int level = inside ? 220 : base + slope * (x / 16 % 32);
      picture.at(0, x, y) = static_cast<std::uint8_t>(level + static_cast<int>(random() >> 8) % 8);
    }
}

// Whatever the size of a cell, whether cells are cut off, and whether a kernel's units can be read.
TEST_F(FiltersGpu, ReportTheMotionThatTheCpuReports) {
  for (const auto& [width, height] : {std::array{29, 19}, {321, 240}, {640, 481}, {1281, 720}, {1924, 1090}}) {
    for (const Rows rows : {Rows::aligned, Rows::odd}) {
      SCOPED_TRACE(testing::Message() << width << "x" << height << (rows == Rows::odd ? ", odd rows" : ""));
      const FilterInfo& info = known_filter("motion");
      const FilterParameters parameters = complete_parameters(info, {{"sensitivity", 70}, {"width", 90}});
      const auto cpu = info.create(parameters);
      const auto gpu = info.create_gpu(parameters);
      Picture in(format_of(PixelFormat::nv12, width, height), 128);
      cpu->configure(in.view.format);
      gpu->configure(in.view.format);
      GpuPicture there(in.view.format, rows);
      const CudaStream stream = make_cuda_stream();
      std::minstd_rand random(1);
      int moving = 0;
      for (int number = 0; number < 110; ++number) {
        next_scene(in, number, random);
        there.upload(as_const(in.view));
        cpu->look(as_const(in.view), number * 50'000'000LL);
        gpu->enqueue_look(as_const(there.view), number * 50'000'000LL, stream.get());
        cuda_check(cudaStreamSynchronize(stream.get()), "the filter");
        FrameMetadata expected, got;
        cpu->add_metadata(expected);
        gpu->add_metadata(got);
        const auto score = expected.get<MotionScore>();
        ASSERT_TRUE(score.has_value());
        ASSERT_EQ(got.get<MotionScore>(), score) << "frame " << number;
        moving += score->moving > 0 ? 1 : 0;
      }
      EXPECT_GE(moving, 10);
    }
  }
}

// Both places of a crop that a vector of the kernel can begin at.
TEST_F(FiltersGpu, CropBeginsAnywhere) {
  const Picture in = random_picture(format_of(PixelFormat::nv12, 200, 100));
  for (int x = 0; x <= 34; x += 2)
    for (const Rows rows : {Rows::aligned, Rows::odd})
      compare(known_filter("crop"), {{"x", x}, {"y", 6}, {"width", 131}, {"height", 77}}, in, rows);
}

TEST_F(FiltersGpu, TenBitsBecomeEight) {
  for (const auto [width, height] : sizes) {
    if (width > 641) continue;
    for (const Rows rows : {Rows::aligned, Rows::odd}) {
      SCOPED_TRACE(testing::Message() << width << "x" << height << (rows == Rows::odd ? ", odd rows" : ""));
      const FrameFormat format = format_of(PixelFormat::nv12, width, height);
      // A frame of twice the width holds the bytes of its samples.
      const FrameFormat deep = format_of(PixelFormat::nv12, 2 * ((width + 1) / 2 * 2), height);
      Picture in = random_picture(deep);
      in.each([](std::uint8_t& byte, int, int x, int) { byte = x % 2 == 0 ? byte & 0xC0 : byte; });
      GpuPicture from(deep, rows), to(format, rows);
      from.upload(as_const(in.view));
      const CudaStream stream = make_cuda_stream();
      enqueue_p010_to_nv12(from.view.data[0], from.view.stride[0], from.view.data[1], from.view.stride[1], to.view,
                           stream.get());
      cuda_check(cudaStreamSynchronize(stream.get()), "the conversion");
      download(as_const(to.view)).each([&](std::uint8_t& sample, int plane, int x, int y) {
        const int ten = (in.at(plane, 2 * x + 1, y) << 8 | in.at(plane, 2 * x, y)) >> 6;
        ASSERT_EQ(sample, std::min((ten + 2) / 4, 255)) << plane << " " << x << " " << y;
      });
      EXPECT_TRUE(to.padding_untouched());
    }
  }
}

}  // namespace
}  // namespace campipe
