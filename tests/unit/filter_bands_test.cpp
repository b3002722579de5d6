// Bands of every filter in the registry, and of chains made of them, against whole frames: what is put together from
// them is the same to the bit, whatever lies in the rows that were not asked for. CAMPIPE_FUZZ_SEED repeats a run: the
// seed is printed.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "core/error.h"
#include "core/frame_pool.h"
#include "stages/filters/chain.h"
#include "stages/filters/filter_sequence.h"
#include "tests/unit/allocation_count.h"
#include "tests/unit/band_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

constexpr std::array<std::array<int, 2>, 12> sizes{
    {{1, 1}, {2, 2}, {3, 5}, {17, 9}, {16, 16}, {15, 33}, {1, 40}, {40, 1}, {31, 8}, {63, 64}, {130, 75}, {97, 211}}};

RowRange random_rows(int height, std::minstd_rand& random) {
  const int begin = pick(random, 0, height - 1);
  return {begin, std::min(height, begin + pick(random, 1, std::max(1, height / 3)))};
}

RowRange clipped(RowRange rows, int height) {
  const int begin = std::clamp(rows.begin, 0, height);
  return {begin, std::clamp(rows.end, begin, height)};
}

class AnyRows {
 public:
  AnyRows(const FilterInfo& info, const FilterParameters& given, const FrameFormat& format)
      : filter_(info.create(complete_parameters(info, given))),
        out_format_(filter_->configure(format)),
        in_(random_picture(format)),
        whole_(whole_result({{std::string(info.name), given}}, in_)) {}

  void check(std::minstd_rand& random) {
    FrameRows wanted, needed;
    for (int plane = 0; plane < 2; ++plane) {
      RowRange& rows = plane == 0 ? wanted.luma : wanted.chroma;
      rows = random_rows(plane_size(out_format_, plane).height, random);
      (plane == 0 ? needed.luma : needed.chroma) =
          clipped(filter_->needs(plane, rows), plane_size(in_.view.format, plane).height);
    }
    const Picture in = with_rows_alone(in_, needed, random);
    Picture out(out_format_);
    out.view.rows = wanted;
    filter_->process(as_const(in.view), out.view);
    int different = 0, written = 0;
    out.each([&](std::uint8_t& sample, int plane, int x, int y) {
      if (has_row(wanted, plane, y))
        different += sample != whole_.at(plane, x, y);
      else
        written += sample != guard;
    });
    EXPECT_EQ(different, 0);
    EXPECT_EQ(written, 0) << "rows that were not asked for";
    EXPECT_TRUE(out.padding_untouched());
  }

 private:
  std::unique_ptr<Filter> filter_;
  FrameFormat out_format_;
  Picture in_, whole_;
};

TEST(EveryFilterInBands, MakesAnyRowsOfThoseThatItNeeds) {
  std::minstd_rand random = seeded_random();
  for (const FilterInfo& info : filter_registry())
    for (const auto [width, height] : sizes)
      for (const PixelFormat pixels : {PixelFormat::i420, PixelFormat::nv12}) {
        const FrameFormat format = format_of(pixels, width, height);
        int number = 0;
        for (const FilterParameters& given : filter_cases(info.name, format)) {
          SCOPED_TRACE(testing::Message() << info.name << ", case " << number++ << ", " << width << "x" << height);
          AnyRows rows(info, given, format);
          for (int i = 0; i < 4; ++i) rows.check(random);
        }
      }
}

// Which rows a lens reaches is not looked up for every sample.
TEST(UndistortInBands, NeedsEnoughOfAnyLens) {
  std::minstd_rand random = seeded_random();
  const auto between = [&](double low, double high) { return low + (high - low) * pick(random, 0, 1000) / 1000.0; };
  const FrameFormat format = format_of(PixelFormat::nv12, 320, 90);
  const FilterInfo& info = *find_filter("undistort");
  for (int lens = 0; lens < 60; ++lens) {
    const double wild = lens % 3 == 0 ? 10 : 0.4;
    const FilterParameters given{
        {"k1", between(-wild, wild)}, {"k2", between(-wild, wild)}, {"k3", between(-wild, wild)},
        {"p1", between(-0.1, 0.1)},   {"p2", between(-0.1, 0.1)},   {"fx", between(20, 700)},
        {"fy", between(20, 700)},     {"cx", between(0, 400)},      {"cy", between(0, 120)}};
    SCOPED_TRACE(testing::Message() << "lens " << lens);
    AnyRows rows(info, given, format);
    for (int i = 0; i < 6; ++i) rows.check(random);
  }
}

// With what it needs of a frame, a band is worth making: only these need all.
TEST(EveryFilterInBands, NeedsFewRowsUnlessItSaysThatItNeedsAll) {
  const FrameFormat format = format_of(PixelFormat::i420, 640, 480);
  int narrow = 0, whole = 0;
  for (const FilterInfo& info : filter_registry())
    for (const FilterParameters& given : filter_cases(info.name, format)) {
      const auto filter = info.create(complete_parameters(info, given));
      const FrameFormat out = filter->configure(format);
      const RowRange rows = filter->needs(0, {out.height / 2, out.height / 2 + 2});
      const RowRange found = clipped(rows, format.height);
      (rows == all_rows ? whole : narrow) += 1;
      EXPECT_TRUE(rows == all_rows || found.end - found.begin < format.height / 2) << info.name;
    }
  EXPECT_GT(narrow, whole);
}

class Chains : public testing::Test {
 protected:
  // Makes each band by a chain of its own, from the rows of the source that it needs.
  void check(const std::vector<FilterConfig>& filters, Picture& in, int count) {
    Picture expected = whole_result(filters, in);
    const FrameFormat format = expected.view.format;
    Picture got(format);
    FilterChain again(filters);
    for (const RowRange band : random_bands(format.height, count, random_)) {
      SCOPED_TRACE(testing::Message() << "rows " << band.begin << " to " << band.end);
      FilterChain chain(filters);
      ASSERT_EQ(chain.configure(in.view.format, band), format);
      ASSERT_EQ(again.configure(in.view.format, band), format);
      EXPECT_EQ(again.needs(), chain.needs());
      Picture some = with_rows_alone(in, chain.needs(), random_);
      const FrameRef out = chain.process(some.ref(), 0);
      EXPECT_EQ(plane_rows(out.view, 0), band);
      copy_band(out.view, got);
      Picture other = with_rows_alone(in, chain.needs(), random_);
      const FrameRef second = again.process(other.ref(), 0);
      for (int plane = 0; plane < plane_count(format.pixels); ++plane) expect_same_rows(out.view, second.view, plane);
    }
    int different = 0;
    got.each([&](std::uint8_t& sample, int plane, int x, int y) { different += sample != expected.at(plane, x, y); });
    EXPECT_EQ(different, 0);
  }

  static void expect_same_rows(const FrameView& a, const FrameView& b, int plane) {
    const auto i = static_cast<std::size_t>(plane);
    const RowRange rows = plane_rows(a, plane);
    ASSERT_EQ(plane_rows(b, plane), rows);
    for (int y = rows.begin; y < rows.end; ++y)
      ASSERT_TRUE(std::equal(a.data[i] + y * a.stride[i],
                             a.data[i] + y * a.stride[i] + plane_size(a.format, plane).width,
                             b.data[i] + y * b.stride[i]));
  }

  std::minstd_rand random_ = seeded_random();
};

TEST_F(Chains, OfAllFiltersAreTheSameInBands) {
  constexpr std::array rotations{0, 0, 90, 180, 270};
  int filtered = 0;
  for (int i = 0; i < 250; ++i) {
    const FrameFormat format = format_of(pick(random_, 0, 1) == 0 ? PixelFormat::i420 : PixelFormat::nv12,
                                         pick(random_, 16, 150), pick(random_, 16, 200));
    const int rotation = rotations[static_cast<std::size_t>(pick(random_, 0, 4))];
    FrameFormat turned = format;
    if (rotation % 180 != 0) std::swap(turned.width, turned.height);
    const auto filters = with_rotation(random_filters(turned, pick(random_, 0, 4), random_), rotation);
    const int count = pick(random_, 1, 8);
    SCOPED_TRACE(testing::Message() << "chain " << i << ":" << text_of(filters) << " of " << format.width << "x"
                                    << format.height << " in " << count);
    Picture in = random_picture(format, static_cast<unsigned>(i) + 1);
    check(filters, in, count);
    filtered += filters.empty() ? 0 : 1;
    if (HasFailure()) return;
  }
  EXPECT_GT(filtered, 150);
}

TEST_F(Chains, OfTinyFramesAreTheSameInBands) {
  for (const auto [width, height] : sizes)
    for (const FilterInfo& info : filter_registry())
      for (const FilterParameters& given : filter_cases(info.name, format_of(PixelFormat::nv12, width, height))) {
        const std::vector<FilterConfig> filters{{std::string(info.name), given}, {"sharpen", {{"amount", 2}}}};
        SCOPED_TRACE(testing::Message() << text_of(filters) << " of " << width << "x" << height);
        Picture in = random_picture(format_of(PixelFormat::nv12, width, height));
        check(filters, in, pick(random_, 1, 8));
      }
}

TEST(FilterChainInBands, KeepsToTheRowsThatItNeeds) {
  const FrameFormat format = format_of(PixelFormat::i420, 320, 240);
  FilterChain chain({{"sharpen", {}}, {"crop", {{"y", 100}, {"width", 320}, {"height", 80}}}});
  chain.configure(format, {20, 40});
  EXPECT_EQ(chain.needs(), (FrameRows{{118, 142}, {60, 70}}));
  chain.configure(format);
  EXPECT_EQ(chain.needs(), (FrameRows{{98, 182}, {50, 90}})) << "also for whole frames";
  FilterChain nothing({});
  nothing.configure(format, {10, 30});
  EXPECT_EQ(nothing.needs(), (FrameRows{{10, 30}, {5, 15}}));
}

TEST(FilterChainInBands, LooksAtWholeFrames) {
  const FrameFormat format = format_of(PixelFormat::i420, 320, 240);
  FilterChain chain({{"blur", {{"sigma", 1}}}, {"motion", {}}});
  chain.configure(format, {20, 40});
  EXPECT_EQ(chain.needs(), (FrameRows{{0, 240}, {0, 120}}));
}

TEST(FilterChainInBands, RefusesRowsThatAreNone) {
  FilterChain chain({});
  for (const RowRange band : {RowRange{1, 4}, {0, 3}, {4, 4}, {-2, 4}, {16, 20}})
    EXPECT_THROW(chain.configure(format_of(PixelFormat::i420, 16, 15), band), std::logic_error) << band.begin;
  EXPECT_NO_THROW(chain.configure(format_of(PixelFormat::i420, 16, 15), {14, 15}));
}

TEST(FilterChainInBands, DoesNotAllocatePerFrame) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer owns malloc";
  const FrameFormat format = format_of(PixelFormat::nv12, 160, 90);
  FilterChain chain({{"undistort", filter_cases("undistort", format)[1]}, {"denoise", {}}, {"blur", {{"sigma", 2}}}});
  Picture in = random_picture(format);
  chain.configure(format, {32, 64});
  const auto work = [&] { chain.process(in.ref(), 0); };
  work();
  EXPECT_EQ(allocations_of(work), 0);
}

std::size_t allocated = 0;

TEST(FramePool, AllocatesTheRowsThatFramesHave) {
  const auto allocate = [](std::size_t bytes) -> FrameBytes {
    allocated += bytes;
    return {new std::uint8_t[bytes], [](std::uint8_t* all) { delete[] all; }};
  };
  const FrameFormat format = format_of(PixelFormat::nv12, 128, 100);
  const FrameLayout layout{format, 64, MemoryKind::host, {}, {{40, 60}, {17, 33}}};
  const auto pool = std::make_shared<FramePool>(layout, allocate);
  const auto frame = pool->take();
  EXPECT_EQ(allocated, 128U * (20 + 16));
  EXPECT_EQ(frame.view.rows, layout.rows);
  EXPECT_EQ(frame.view.data[1] + 17 * frame.view.stride[1], frame.view.data[0] + 60 * frame.view.stride[0]);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
