// Bands of every filter in the registry, and of chains made of them, against whole frames on the same GPU: within one
// level, whatever lies in the rows that were not asked for. CAMPIPE_FUZZ_SEED repeats a run: the seed is printed.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "stages/filters/filter_sequence.h"
#include "stages/filters/gpu_chain.h"
#include "tests/gpu/gpu_pictures.h"
#include "tests/unit/band_test_support.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;
using test::download;
using test::GpuPicture;
using test::Rows;

constexpr std::array<std::array<int, 2>, 10> sizes{
    {{1, 1}, {3, 5}, {17, 9}, {16, 16}, {1, 40}, {40, 1}, {63, 64}, {130, 75}, {331, 411}, {641, 361}}};

constexpr int most_levels = 1;

RowRange random_rows(int height, std::minstd_rand& random) {
  const int begin = pick(random, 0, height - 1);
  return {begin, std::min(height, begin + pick(random, 1, std::max(1, height / 3)))};
}

RowRange clipped(RowRange rows, int height) {
  const int begin = std::clamp(rows.begin, 0, height - 1);
  return {begin, std::clamp(rows.end, begin + 1, height)};
}

// One filter with the rows of frames of one format.
class AnyRows {
 public:
  AnyRows(const FilterInfo& info, const FilterParameters& given, const Picture& in, Rows layout)
      : needs_(info.create(complete_parameters(info, given))),
        filter_(info.create_gpu(complete_parameters(info, given))),
        out_format_(needs_->configure(in.view.format)),
        in_(in),
        layout_(layout),
        stream_(make_cuda_stream()),
        whole_(out_format_) {
    filter_->configure(in.view.format);
    GpuPicture from(in.view.format, layout), to(out_format_, layout);
    from.upload(as_const(in.view));
    run(from, to);
    whole_ = download(as_const(to.view));
  }

  void check(std::minstd_rand& random) {
    FrameRows made, needed;
    for (int plane = 0; plane < 2; ++plane) {
      RowRange& rows = plane == 0 ? made.luma : made.chroma;
      rows = random_rows(plane_size(out_format_, plane).height, random);
      (plane == 0 ? needed.luma : needed.chroma) =
          clipped(needs_->needs(plane, rows), plane_size(in_.view.format, plane).height);
    }
    SCOPED_TRACE(testing::Message() << "luma " << made.luma.begin << " to " << made.luma.end << ", chroma "
                                    << made.chroma.begin << " to " << made.chroma.end);
    const Picture some = with_rows_alone(in_, needed, random);
    GpuPicture from(in_.view.format, layout_), to(out_format_, layout_);
    from.upload(as_const(some.view));
    from.view.rows = needed;
    to.view.rows = made;
    run(from, to);
    int different = 0, written = 0;
    download(as_const(to.view)).each([&](std::uint8_t& sample, int plane, int x, int y) {
      if (has_row(made, plane, y))
        different += std::abs(sample - whole_.at(plane, x, y)) > most_levels ? 1 : 0;
      else
        written += sample != guard ? 1 : 0;
    });
    EXPECT_EQ(different, 0);
    EXPECT_EQ(written, 0) << "rows that were not asked for";
    EXPECT_TRUE(to.padding_untouched());
  }

 private:
  void run(const GpuPicture& from, const GpuPicture& to) {
    filter_->enqueue(as_const(from.view), to.view, stream_.get());
    cuda_check(cudaStreamSynchronize(stream_.get()), "the filter");
  }

  std::unique_ptr<Filter> needs_;
  std::unique_ptr<GpuFilter> filter_;
  FrameFormat out_format_;
  const Picture& in_;
  Rows layout_;
  CudaStream stream_;
  Picture whole_;
};

using FilterBandsGpu = test::GpuTest;

TEST_F(FilterBandsGpu, AreOfTheRowsThatTheyNeed) {
  std::minstd_rand random = seeded_random();
  for (const FilterInfo& info : filter_registry())
    for (const auto [width, height] : sizes) {
      const Picture in = random_picture(format_of(PixelFormat::nv12, width, height));
      int number = 0;
      for (const FilterParameters& given : filter_cases(info.name, in.view.format)) {
        for (const Rows layout : {Rows::aligned, Rows::odd}) {
          SCOPED_TRACE(testing::Message() << info.name << ", case " << number << ", " << width << "x" << height
                                          << (layout == Rows::odd ? ", odd rows" : ""));
          AnyRows rows(info, given, in, layout);
          for (int i = 0; i < 3; ++i) rows.check(random);
        }
        ++number;
      }
    }
}

class ChainBandsGpu : public test::GpuTest {
 protected:
  // Rows `view.rows`, from wherever they lie.
  static void download_band(const FrameView& view, Picture& whole) {
    for (int plane = 0; plane < plane_count(view.format.pixels); ++plane) {
      const auto i = static_cast<std::size_t>(plane);
      const RowRange rows = plane_rows(view, plane);
      cuda_check(cudaMemcpy2D(whole.view.data[i] + std::ptrdiff_t{rows.begin} * whole.view.stride[i],
                              static_cast<std::size_t>(whole.view.stride[i]),
                              view.data[i] + std::ptrdiff_t{rows.begin} * view.stride[i],
                              static_cast<std::size_t>(view.stride[i]),
                              static_cast<std::size_t>(plane_size(view.format, plane).width),
                              static_cast<std::size_t>(rows.count()), cudaMemcpyDefault),
                 "download");
    }
  }

  static void run(GpuChain& chain, const FrameRef& in, Picture& whole) {
    const FrameRef out = chain.process(in, 0);
    ASSERT_TRUE(chain.wait(Clock::now() + 10s));
    download_band(out.view, whole);
  }

  void check(const std::vector<FilterConfig>& filters, Picture& in, int count, GpuChain::Output output, bool there) {
    GpuChain chain(filters);
    const FrameFormat format = chain.configure(in.view.format, output);
    Picture expected(format), got(format);
    run(chain, in.ref(), expected);
    for (const RowRange band : random_bands(format.height, count, random_)) {
      SCOPED_TRACE(testing::Message() << "rows " << band.begin << " to " << band.end);
      ASSERT_EQ(chain.configure(in.view.format, output, band), format);
      FilterSequence sequence(filters);
      sequence.configure(in.view.format);
      EXPECT_EQ(chain.needs(), sequence.rows_for(band).front()) << "as a plan has it";
      Picture some = with_rows_alone(in, chain.needs(), random_);
      if (there) {
        GpuPicture on_gpu(in.view.format, Rows::aligned);
        on_gpu.upload(as_const(some.view));
        on_gpu.view.rows = chain.needs();
        run(chain, {as_const(on_gpu.view), nullptr}, got);
      } else {
        run(chain, some.ref(), got);
      }
    }
    int different = 0;
    got.each([&](std::uint8_t& sample, int plane, int x, int y) {
      different += std::abs(sample - expected.at(plane, x, y)) > most_levels ? 1 : 0;
    });
    EXPECT_EQ(different, 0);
  }

  std::minstd_rand random_ = seeded_random();
};

TEST_F(ChainBandsGpu, AreTheWholeFrame) {
  constexpr std::array rotations{0, 0, 90, 180, 270};
  for (int i = 0; i < 120; ++i) {
    const bool there = pick(random_, 0, 1) == 1;
    const PixelFormat pixels = there || pick(random_, 0, 1) == 0 ? PixelFormat::nv12 : PixelFormat::i420;
    const FrameFormat format = format_of(pixels, pick(random_, 16, 400), pick(random_, 16, 400));
    const int rotation = rotations[static_cast<std::size_t>(pick(random_, 0, 4))];
    FrameFormat turned = format;
    if (rotation % 180 != 0) std::swap(turned.width, turned.height);
    const auto filters = with_rotation(random_filters(turned, pick(random_, 0, 4), random_), rotation);
    const auto output = pick(random_, 0, 1) == 0 ? GpuChain::Output::host : GpuChain::Output::device;
    const int count = pick(random_, 1, 8);
    SCOPED_TRACE(testing::Message() << "chain " << i << ":" << text_of(filters) << " of " << format.width << "x"
                                    << format.height << (there ? " on the GPU" : "") << " in " << count);
    Picture in = random_picture(format, static_cast<unsigned>(i) + 1);
    check(filters, in, count, output, there);
    if (HasFailure()) return;
  }
}

TEST_F(ChainBandsGpu, TakeTheMemoryOfTheirRows) {
  const FrameFormat format = format_of(PixelFormat::nv12, 7680, 4320);
  const auto taken_by = [&](RowRange band) {
    std::size_t before = 0, after = 0, total = 0;
    cuda_check(cudaMemGetInfo(&before, &total), "cannot ask for the GPU's memory");
    GpuChain chain({{"blur", {{"sigma", 1.5}}}, {"sharpen", {}}});
    chain.configure(format, GpuChain::Output::device, band);
    cuda_check(cudaMemGetInfo(&after, &total), "cannot ask for the GPU's memory");
    return before - after;
  };
  taken_by(all_rows);  // kernels are loaded when they first run
  const std::size_t whole = taken_by(all_rows), eighth = taken_by({0, 540});
  EXPECT_GT(eighth, 0U);
  EXPECT_LT(eighth, whole / 4);
}

}  // namespace
}  // namespace campipe
