// Every filter in the registry against the contract in filter.h, each known filter against its formula in double
// precision, and the chain.
#include "stages/filters/filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "stages/filters/chain.h"
#include "tests/unit/filter_test_support.h"

namespace campipe {
namespace {

Picture filtered(Filter& filter, const Picture& in, std::uint8_t fill = guard) {
  Picture out(filter.configure(in.view.format), fill);
  filter.process(as_const(in.view), out.view);
  return out;
}

std::unique_ptr<Filter> make(std::string_view name, const FilterParameters& parameters) {
  return find_filter(name)->create(parameters);
}

// Defaults, else the geometric middle.
FilterParameters usual_parameters(const FilterInfo& info) {
  FilterParameters parameters;
  for (const ParameterInfo& parameter : info.parameters) {
    const double middle = parameter.min > 0 ? std::sqrt(parameter.min * parameter.max) : parameter.max / 2;
    parameters.emplace(parameter.name, parameter.fallback.value_or(parameter.whole ? std::round(middle) : middle));
  }
  return parameters;
}

constexpr std::array<std::array<int, 2>, 13> sizes{{{1, 1},
                                                    {2, 2},
                                                    {3, 5},
                                                    {17, 9},
                                                    {16, 16},
                                                    {15, 33},
                                                    {1, 40},
                                                    {40, 1},
                                                    {31, 8},
                                                    {63, 64},
                                                    {130, 75},
                                                    {320, 240},
                                                    {641, 361}}};

void for_all(const std::function<void(const FilterInfo&, const FrameFormat&)>& check) {
  for (const FilterInfo& info : filter_registry())
    for (const auto [width, height] : sizes)
      for (const PixelFormat pixels : {PixelFormat::i420, PixelFormat::nv12}) {
        SCOPED_TRACE(testing::Message() << info.name << " " << width << "x" << height << " "
                                        << (pixels == PixelFormat::nv12 ? "nv12" : "i420"));
        check(info, format_of(pixels, width, height));
      }
}

TEST(FilterRegistry, KnowsTheFiltersInOrder) {
  std::vector<std::string_view> names;
  for (const FilterInfo& info : filter_registry()) names.push_back(info.name);
  EXPECT_TRUE(std::ranges::is_sorted(names));
  for (const char* name : {"blur", "resize", "sharpen"}) EXPECT_NE(find_filter(name), nullptr) << name;
  EXPECT_EQ(find_filter("negate"), nullptr);
}

TEST(FilterRegistry, SaysWhatAUserNeeds) {
  for (const FilterInfo& info : filter_registry()) {
    EXPECT_FALSE(info.description.empty()) << info.name;
    for (const ParameterInfo& parameter : info.parameters) {
      EXPECT_FALSE(parameter.description.empty()) << info.name << "." << parameter.name;
      EXPECT_LT(parameter.min, parameter.max) << info.name << "." << parameter.name;
    }
  }
}

TEST(EveryFilter, WritesEverySampleAndNoPadding) {
  for_all([](const FilterInfo& info, const FrameFormat& format) {
    const auto filter = info.create(usual_parameters(info));
    const Picture in = random_picture(format);
    Picture over_black = filtered(*filter, in, 0);
    Picture over_white = filtered(*filter, in, 255);
    EXPECT_EQ(over_black.planes, over_white.planes);
    EXPECT_TRUE(over_black.padding_untouched());
  });
}

TEST(EveryFilter, DependsOnItsInputAlone) {
  for_all([](const FilterInfo& info, const FrameFormat& format) {
    const auto filter = info.create(usual_parameters(info));
    const Picture in = random_picture(format, 1);
    const Picture first = filtered(*filter, in);
    filtered(*filter, random_picture(format_of(PixelFormat::i420, 50, 20), 2));  // another format in between
    EXPECT_EQ(filtered(*filter, in).planes, first.planes);
    EXPECT_EQ(filtered(*info.create(usual_parameters(info)), in).planes, first.planes);
  });
}

TEST(EveryFilter, DoesTheSameToBothFormats) {
  for_all([](const FilterInfo& info, const FrameFormat& format) {
    if (format.pixels == PixelFormat::i420) return;
    const auto filter = info.create(usual_parameters(info));
    Picture in = random_picture(format);
    Picture planar_in(format_of(PixelFormat::i420, format.width, format.height));
    planar_in.each([&](std::uint8_t& sample, int plane, int x, int y) {
      sample = plane == 0 ? in.at(0, x, y) : in.at(1, 2 * x + plane - 1, y);
    });
    Picture planar_out = filtered(*filter, planar_in);
    Picture out = filtered(*filter, in);
    int different = 0;
    planar_out.each([&](std::uint8_t& sample, int plane, int x, int y) {
      different += sample != (plane == 0 ? out.at(0, x, y) : out.at(1, 2 * x + plane - 1, y));
    });
    EXPECT_EQ(different, 0);
  });
}

TEST(EveryFilter, LeavesAFlatPictureFlat) {
  for (const FilterInfo& info : filter_registry())
    for (int level = 0; level < 256; ++level) {
      const auto filter = info.create(usual_parameters(info));
      const Picture in(format_of(PixelFormat::nv12, 37, 21), static_cast<std::uint8_t>(level));
      filtered(*filter, in).each([&](std::uint8_t& sample, int, int, int) { ASSERT_EQ(sample, level) << info.name; });
    }
}

class Forgetful : public Filter {
 public:
  FrameFormat configure(const FrameFormat& in) override { return in; }
  void process(const FrameView& in, const MutableFrameView&) override {
    const std::function<long()> copy = [row = std::vector<std::uint8_t>(9)] { return static_cast<long>(row.size()); };
    EXPECT_EQ(copy(), 9) << in.format.width;
  }
};

long allocations_per_picture(Filter& filter, const FrameFormat& format) {
  const Picture in = random_picture(format);
  Picture out(filter.configure(format));
  const auto work = [&] { filter.process(as_const(in.view), out.view); };
  work();
  return allocations_of(work);
}

TEST(EveryFilter, DoesNotAllocatePerPicture) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer owns malloc";
  Forgetful forgetful;
  ASSERT_GT(allocations_per_picture(forgetful, format_of(PixelFormat::i420, 16, 16)), 0) << "the counter is blind";
  for_all([](const FilterInfo& info, const FrameFormat& format) {
    EXPECT_EQ(allocations_per_picture(*info.create(usual_parameters(info)), format), 0);
  });
}

double worst_luma_error(Picture& got, Samples expected) {
  double worst = 0;
  for (int y = 0; y < expected.height; ++y)
    for (int x = 0; x < expected.width; ++x)
      worst = std::max(worst, std::abs(got.at(0, x, y) - std::clamp(expected.at(x, y), 0.0, 255.0)));
  return worst;
}

void for_pictures(const std::function<void(Picture&)>& check) {
  for (const auto [width, height] : sizes) {
    if (width > 320) continue;
    const FrameFormat format = format_of(PixelFormat::i420, width, height);
    SCOPED_TRACE(testing::Message() << width << "x" << height);
    Picture random = random_picture(format), structured = structured_picture(format);
    check(random);
    check(structured);
  }
}

TEST(Blur, IsTheGaussian) {
  for (const double sigma : {0.1, 0.4, 1.0, 1.5, 2.7, 8.0, 20.0})
    for_pictures([&](Picture& in) {
      Picture out = filtered(*make("blur", {{"sigma", sigma}}), in);
      EXPECT_LE(worst_luma_error(out, convolved(luma_of(in), gaussian(sigma))), 0.8) << "sigma " << sigma;
    });
}

TEST(Blur, LeavesAFlatPictureFlatWithAnySigma) {
  for (int sigma = 1; sigma <= 200; ++sigma) {
    const Picture in(format_of(PixelFormat::i420, 33, 19), 255);
    filtered(*make("blur", {{"sigma", sigma / 10.0}}), in).each([&](std::uint8_t& sample, int, int, int) {
      ASSERT_EQ(sample, 255) << sigma;
    });
  }
}

TEST(Sharpen, IsTheUnsharpMask) {
  for (const double amount : {0.0, 0.3, 1.0, 2.5, 5.0})
    for_pictures([&](Picture& in) {
      Samples expected = luma_of(in);
      const Samples soft = convolved(expected, {1 / 16.0, 4 / 16.0, 6 / 16.0, 4 / 16.0, 1 / 16.0});
      for (std::size_t i = 0; i < expected.value.size(); ++i)
        expected.value[i] += amount * (expected.value[i] - soft.value[i]);
      Picture out = filtered(*make("sharpen", {{"amount", amount}}), in);
      EXPECT_LE(worst_luma_error(out, expected), 0.8) << "amount " << amount;
    });
}

TEST(Sharpen, LeavesChromaAlone) {
  Picture in = random_picture(format_of(PixelFormat::nv12, 35, 17));
  Picture out = filtered(*make("sharpen", {{"amount", 5}}), in);
  out.each([&](std::uint8_t& sample, int plane, int x, int y) { ASSERT_TRUE(plane == 0 || sample == in.at(1, x, y)); });
}

TEST(Resize, IsTheMeanOverTheAreaOrLinear) {
  for (const auto [width, height] :
       {std::array{16, 16}, {17, 31}, {32, 20}, {100, 64}, {213, 160}, {320, 240}, {333, 77}})
    for_pictures([&](Picture& in) {
      Picture out = filtered(*make("resize", {{"width", width}, {"height", height}}), in);
      EXPECT_LE(worst_luma_error(out, resized(luma_of(in), width, height)), 0.8) << "to " << width << "x" << height;
    });
}

TEST(Resize, LeavesAFlatPictureFlatToAnySize) {
  const Picture in(format_of(PixelFormat::i420, 97, 151), 255);
  for (int size = 16; size <= 320; ++size)
    filtered(*make("resize", {{"width", size}, {"height", 336 - size}}), in)
        .each([&](std::uint8_t& sample, int, int, int) { ASSERT_EQ(sample, 255) << size; });
}

TEST(Resize, KeepsTheShapeOnTheScreen) {
  FrameFormat in = format_of(PixelFormat::i420, 704, 576);
  in.color_space = 5;
  const auto filter = make("resize", {{"width", 352}, {"height", 576}});
  EXPECT_EQ(filter->configure(in).sample_aspect_num, 0) << "unknown stays unknown";
  in.sample_aspect_num = 12, in.sample_aspect_den = 11;
  const FrameFormat out = filter->configure(in);
  EXPECT_EQ(out.sample_aspect_num, 24);
  EXPECT_EQ(out.sample_aspect_den, 11);
  EXPECT_EQ(out.color_space, 5);
}

// --- The chain ---

const std::vector<FilterConfig> three{
    {"resize", {{"width", 64}, {"height", 48}}}, {"blur", {{"sigma", 1.5}}}, {"sharpen", {}}};

std::string error_of(const FilterConfig& config) {
  try {
    FilterChain chain({config});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(FilterChain, RefusesWhatTheRegistryDoesNotKnow) {
  EXPECT_EQ(error_of({"negate", {}}), "unknown filter 'negate'");
  EXPECT_EQ(error_of({"blur", {}}), "blur.sigma: missing; it must be a number from 0.1 to 20");
  EXPECT_EQ(error_of({"blur", {{"sigma", 0.05}}}), "blur.sigma: must be a number from 0.1 to 20");
  EXPECT_EQ(error_of({"blur", {{"sigma", std::nan("")}}}), "blur.sigma: must be a number from 0.1 to 20");
  EXPECT_EQ(error_of({"blur", {{"sigma", 1}, {"radius", 2}}}), "blur.radius: unknown parameter");
  EXPECT_EQ(error_of({"sharpen", {{"amount", 5.1}}}), "sharpen.amount: must be a number from 0 to 5");
  EXPECT_EQ(error_of({"resize", {{"width", 64.5}, {"height", 64}}}),
            "resize.width: must be a whole number from 16 to 8192");
  EXPECT_EQ(error_of({"sharpen", {}}), "");
}

TEST(FilterChain, WithoutFiltersHandsTheInputOn) {
  FilterChain chain({});
  EXPECT_TRUE(chain.empty());
  const FrameFormat format = format_of(PixelFormat::nv12, 20, 20);
  EXPECT_EQ(chain.configure(format), format);
  Picture in(format);
  EXPECT_EQ(chain.process(in.ref()).view.data[0], in.view.data[0]);
}

TEST(FilterChain, AppliesTheFiltersInOrder) {
  FilterChain chain(three);
  Picture in = random_picture(format_of(PixelFormat::i420, 160, 90));
  const FrameFormat format = chain.configure(in.view.format);
  const FrameRef out = chain.process(in.ref());
  EXPECT_EQ(out.view.format, format);
  Picture expected = filtered(*make("resize", three[0].parameters), in);
  expected = filtered(*make("blur", three[1].parameters), expected);
  expected = filtered(*make("sharpen", {{"amount", 1.0}}), expected);
  expected.each([&](std::uint8_t& sample, int plane, int x, int y) {
    const auto i = static_cast<std::size_t>(plane);
    ASSERT_EQ(sample, out.view.data[i][y * out.view.stride[i] + x]);
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(out.view.data[i]) % 64, 0u);
    ASSERT_EQ(out.view.stride[i] % 64, 0);
  });
}

TEST(FilterChain, DoesNotAllocatePerPicture) {
  if (!counts_allocations) GTEST_SKIP() << "the sanitizer owns malloc";
  FilterChain chain(three);
  Picture in = random_picture(format_of(PixelFormat::i420, 160, 90));
  chain.configure(in.view.format);
  std::array<FrameRef, 4> held;
  std::size_t next = 0;
  const auto work = [&] {
    for (int i = 0; i < 10; ++i) held[next++ % held.size()] = chain.process(in.ref());
  };
  work();
  EXPECT_EQ(allocations_of(work), 0);
}

TEST(FilterChain, NeverHandsOutAPictureThatIsInUse) {
  Picture in = random_picture(format_of(PixelFormat::i420, 160, 90));
  std::vector<FrameRef> held;
  {
    FilterChain chain(three);
    chain.configure(in.view.format);
    for (int i = 0; i < 5; ++i) held.push_back(chain.process(in.ref()));
    chain.configure(format_of(PixelFormat::nv12, 20, 20));
  }
  std::vector<const std::uint8_t*> pictures;
  for (const FrameRef& ref : held) pictures.push_back(ref.view.data[0]);
  std::ranges::sort(pictures);
  EXPECT_EQ(std::ranges::adjacent_find(pictures), pictures.end());
  EXPECT_TRUE(std::equal(held[0].view.data[0], held[0].view.data[0] + 64, held[4].view.data[0])) << "the chain is gone";
}

TEST(FilterChain, TakesPicturesBackFromAnyThread) {
  Picture in = random_picture(format_of(PixelFormat::i420, 32, 32));
  FilterChain chain({{"blur", {{"sigma", 1}}}});
  chain.configure(in.view.format);
  std::mutex mutex;
  std::shared_ptr<const void> slot;
  const auto exchange = [&](std::shared_ptr<const void> owner) {
    const std::scoped_lock lock(mutex);
    slot.swap(owner);
    return owner;  // dropped by the caller, outside of the lock
  };
  std::jthread reader([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) exchange(nullptr);
  });
  for (int i = 0; i < 2000; ++i) exchange(chain.process(in.ref()).owner);
}

}  // namespace
}  // namespace campipe
