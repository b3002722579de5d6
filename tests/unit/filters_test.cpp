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
#include "tests/unit/allocation_count.h"
#include "tests/unit/filter_cases.h"
#include "tests/unit/filter_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

Picture filtered(Filter& filter, const Picture& in, std::uint8_t fill = guard) {
  Picture out(filter.configure(in.view.format), fill);
  filter.process(as_const(in.view), out.view);
  return out;
}

std::unique_ptr<Filter> make(std::string_view name, const FilterParameters& parameters) {
  return find_filter(name)->create(parameters);
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

// `check` makes filters of one kind and with the same parameters.
using MakeFilter = std::function<std::unique_ptr<Filter>()>;

void for_cases(const FilterInfo& info, const FrameFormat& format,
               const std::function<void(const MakeFilter&, const FrameFormat&)>& check) {
  int number = 0;
  for (const FilterParameters& given : filter_cases(info.name, format)) {
    SCOPED_TRACE(testing::Message() << info.name << ", case " << number++ << ", " << format.width << "x"
                                    << format.height << (format.pixels == PixelFormat::nv12 ? " nv12" : " i420"));
    check([&] { return info.create(complete_parameters(info, given)); }, format);
  }
}

void for_all(const std::function<void(const MakeFilter&, const FrameFormat&)>& check) {
  for (const FilterInfo& info : filter_registry())
    for (const auto [width, height] : sizes)
      for (const PixelFormat pixels : {PixelFormat::i420, PixelFormat::nv12})
        for_cases(info, format_of(pixels, width, height), check);
}

TEST(FilterRegistry, KnowsTheFiltersInOrder) {
  std::vector<std::string_view> names;
  for (const FilterInfo& info : filter_registry()) names.push_back(info.name);
  EXPECT_TRUE(std::ranges::is_sorted(names));
  for (const char* name :
       {"blur", "color", "crop", "deinterlace", "denoise", "fit", "motion", "resize", "rotate", "sharpen", "undistort"})
    EXPECT_NE(find_filter(name), nullptr) << name;
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

TEST(EveryFilter, HasCases) {
  for (const FilterInfo& info : filter_registry())
    EXPECT_FALSE(filter_cases(info.name, format_of(PixelFormat::nv12, 64, 64)).empty())
        << "enter " << info.name << " into tests/unit/filter_cases.h";
}

TEST(EveryFilter, WritesEverySampleAndNoPadding) {
  for_all([](const MakeFilter& create, const FrameFormat& format) {
    const auto filter = create();
    const Picture in = random_picture(format);
    Picture over_black = filtered(*filter, in, 0);
    Picture over_white = filtered(*filter, in, 255);
    EXPECT_EQ(over_black.planes, over_white.planes);
    EXPECT_TRUE(over_black.padding_untouched());
  });
}

TEST(EveryFilter, DependsOnItsInputAlone) {
  for_all([](const MakeFilter& create, const FrameFormat& format) {
    const auto filter = create();
    const Picture in = random_picture(format, 1);
    const Picture first = filtered(*filter, in);
    filtered(*filter, random_picture(format_of(PixelFormat::i420, 700, 400), 2));  // another format in between
    EXPECT_EQ(filtered(*filter, in).planes, first.planes);
    EXPECT_EQ(filtered(*create(), in).planes, first.planes);
  });
}

TEST(EveryFilter, DoesTheSameToBothFormats) {
  for_all([](const MakeFilter& create, const FrameFormat& format) {
    if (format.pixels == PixelFormat::i420) return;
    const auto filter = create();
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
  const FrameFormat format = format_of(PixelFormat::nv12, 37, 21);
  for (const FilterInfo& info : filter_registry())
    for (int level = 0; level < 256; ++level) {
      const auto filter = info.create(filter_cases(info.name, format).at(0));
      const Picture in(format, static_cast<std::uint8_t>(level));
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
  for_all([](const MakeFilter& create, const FrameFormat& format) {
    EXPECT_EQ(allocations_per_picture(*create(), format), 0);
  });
}

double worst_error(Picture& got, int plane, Samples expected) {
  double worst = 0;
  for (int y = 0; y < expected.height; ++y)
    for (int x = 0; x < expected.width; ++x)
      worst = std::max(worst, std::abs(got.at(plane, x, y) - std::clamp(expected.at(x, y), 0.0, 255.0)));
  return worst;
}

double worst_luma_error(Picture& got, Samples expected) { return worst_error(got, 0, std::move(expected)); }

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

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Crop, CutsOutTheRectangle) {
  for (const PixelFormat pixels : {PixelFormat::i420, PixelFormat::nv12}) {
    Picture in = random_picture(format_of(pixels, 51, 37));
    Picture out = filtered(*make("crop", {{"x", 6}, {"y", 4}, {"width", 45}, {"height", 33}}), in);
    EXPECT_EQ(out.view.format, format_of(pixels, 45, 33));
    const int across = pixels == PixelFormat::nv12 ? 6 : 3;
    out.each([&](std::uint8_t& sample, int plane, int x, int y) {
      ASSERT_EQ(sample, plane == 0 ? in.at(0, x + 6, y + 4) : in.at(plane, x + across, y + 2));
    });
  }
}

TEST(Crop, RefusesWhatDoesNotLieInThePicture) {
  const auto filter = make("crop", {{"x", 2}, {"y", 0}, {"width", 64}, {"height", 48}});
  EXPECT_EQ(error_of([&] { filter->configure(format_of(PixelFormat::i420, 66, 48)); }), "");
  EXPECT_EQ(error_of([&] { filter->configure(format_of(PixelFormat::i420, 65, 48)); }),
            "crop: 64x48 at 2, 0 does not lie in the frame, which is 65x48");
  EXPECT_NE(error_of([&] { filter->configure(format_of(PixelFormat::i420, 66, 47)); }), "");
}

TEST(Color, IsTheFormula) {
  for (const std::uint8_t range : {0, 1, 2})
    for (const auto [brightness, contrast, saturation, gamma] : {std::array{0.0, 1.0, 1.0, 1.0},
                                                                 {0.2, 1.0, 1.0, 1.0},
                                                                 {0.0, 4.0, 4.0, 1.0},
                                                                 {-1.0, 0.3, 0.5, 1.0},
                                                                 {0.1, 1.3, 0.0, 2.2},
                                                                 {0.0, 1.0, 1.0, 0.1},
                                                                 {-0.1, 1.0, 1.0, 10.0}}) {
      FrameFormat format = format_of(PixelFormat::i420, 130, 75);
      format.color_range = range;
      Picture in = random_picture(format);
      Picture out = filtered(
          *make("color",
                {{"brightness", brightness}, {"contrast", contrast}, {"saturation", saturation}, {"gamma", gamma}}),
          in);
      const double black = range == 2 ? 0 : 16, white = range == 2 ? 255 : 235;
      out.each([&](std::uint8_t& sample, int plane, int x, int y) {
        const double linear = contrast * ((in.at(0, x, y) - black) / (white - black) - 0.5) + 0.5 + brightness;
        const double luma = black + (white - black) * (linear > 0 ? std::pow(linear, 1 / gamma) : linear);
        const double chroma = 128 + saturation * (in.at(plane, x, y) - 128);
        ASSERT_NEAR(sample, std::clamp(plane == 0 ? luma : chroma, 0.0, 255.0), 0.501);
      });
    }
}

// As OpenCV writes its model down, for one plane of i420.
Samples undistorted(Samples in, int plane, const FilterParameters& given, double width, double height) {
  const auto parameter = [&](const char* name, double fallback) {
    const double value = given.find(name)->second;
    return value == 0 ? fallback : value;
  };
  const double fx = parameter("fx", width), fy = parameter("fy", fx);
  const double cx = parameter("cx", (width - 1) / 2), cy = parameter("cy", (height - 1) / 2);
  const double k1 = parameter("k1", 0), k2 = parameter("k2", 0), k3 = parameter("k3", 0);
  const double p1 = parameter("p1", 0), p2 = parameter("p2", 0);
  const double scale = plane == 0 ? 1 : 2, offset = plane == 0 ? 0 : 0.5;
  Samples out = in;
  for (int v = 0; v < in.height; ++v)
    for (int u = 0; u < in.width; ++u) {
      const double x = (scale * u + offset - cx) / fx, y = (scale * v + offset - cy) / fy;
      const double r2 = x * x + y * y;
      const double radial = 1 + k1 * r2 + k2 * std::pow(r2, 2) + k3 * std::pow(r2, 3);
      const double moved_x = fx * (x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x)) + cx;
      const double moved_y = fy * (y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y) + cy;
      out.at(u, v) = interpolated(in, (moved_x - offset) / scale, (moved_y - offset) / scale, plane == 0 ? 16 : 128);
    }
  return out;
}

TEST(Undistort, IsTheCameraModel) {
  const FilterParameters odd_lens{{"k1", 0.1}, {"k2", -0.3}, {"p1", 0.01}, {"p2", -0.02}, {"k3", 0.2},
                                  {"fx", 150}, {"fy", 170},  {"cx", 60},   {"cy", 20}};
  for_pictures([&](Picture& in) {
    auto cases = filter_cases("undistort", in.view.format);
    cases.push_back(odd_lens);
    for (const FilterParameters& given : cases) {
      Picture out = filtered(*make("undistort", given), in);
      for (int plane = 0; plane < 3; ++plane) {
        Samples expected =
            undistorted(samples_of(in, plane), plane, given, in.view.format.width, in.view.format.height);
        EXPECT_LE(worst_error(out, plane, expected), 0.8) << "plane " << plane << ", k1 " << given.find("k1")->second;
      }
    }
  });
}

TEST(Undistort, WithoutDistortionChangesNothing) {
  Picture in = random_picture(format_of(PixelFormat::nv12, 131, 77));
  Picture out = filtered(*make("undistort", filter_cases("undistort", in.view.format)[0]), in);
  out.each([&](std::uint8_t& sample, int plane, int x, int y) { ASSERT_EQ(sample, in.at(plane, x, y)); });
}

TEST(Undistort, IsBlackWhereTheCameraSawNothing) {
  FrameFormat format = format_of(PixelFormat::i420, 64, 64);
  for (const std::uint8_t range : {1, 2}) {
    format.color_range = range;
    const Picture in(format, 200);
    FilterParameters parameters = filter_cases("undistort", format)[0];
    parameters["k1"] = 10;  // nothing but the middle is left
    parameters["k3"] = 10;
    Picture out = filtered(*make("undistort", parameters), in);
    EXPECT_EQ(out.at(0, 0, 0), range == 2 ? 0 : 16);
    EXPECT_EQ(out.at(1, 31, 31), 128);
    EXPECT_EQ(out.at(0, 32, 32), 200);
  }
}

// --- The chain ---

const std::vector<FilterConfig> three{
    {"resize", {{"width", 64}, {"height", 48}}}, {"blur", {{"sigma", 1.5}}}, {"sharpen", {}}};

std::string error_of(const FilterConfig& config) {
  return error_of([&] { FilterChain chain({config}); });
}

TEST(FilterChain, RefusesWhatTheRegistryDoesNotKnow) {
  EXPECT_EQ(error_of({"negate", {}}), "unknown filter 'negate'");
  EXPECT_EQ(error_of({"blur", {}}), "blur.sigma: missing; it must be a number from 0.1 to 20");
  EXPECT_EQ(error_of({"blur", {{"sigma", 0.05}}}), "blur.sigma: must be a number from 0.1 to 20");
  EXPECT_EQ(error_of({"blur", {{"sigma", std::nan("")}}}), "blur.sigma: must be a number from 0.1 to 20");
  EXPECT_EQ(error_of({"blur", {{"sigma", 1}, {"radius", 2}}}), "blur.radius: unknown parameter");
  EXPECT_EQ(error_of({"sharpen", {{"amount", 5.1}}}), "sharpen.amount: must be a number from 0 to 5");
  EXPECT_EQ(error_of({"resize", {{"width", 64.5}, {"height", 64}}}),
            "resize.width: must be an integer from 16 to 8192");
  EXPECT_EQ(error_of({"crop", {{"x", 3}, {"width", 64}, {"height", 64}}}),
            "crop.x: must be a multiple of 2 from 0 to 8190");
  EXPECT_EQ(error_of({"denoise", {{"patch", 4}}}), "denoise.patch: must be an odd number from 3 to 7");
  EXPECT_EQ(error_of({"sharpen", {}}), "");
}

TEST(FilterChain, WithoutFiltersHandsTheInputOn) {
  FilterChain chain({});
  EXPECT_TRUE(chain.empty());
  const FrameFormat format = format_of(PixelFormat::nv12, 20, 20);
  EXPECT_EQ(chain.configure(format), format);
  Picture in(format);
  EXPECT_EQ(chain.process(in.ref(), 0).view.data[0], in.view.data[0]);
}

TEST(FilterChain, AppliesTheFiltersInOrder) {
  FilterChain chain(three);
  Picture in = random_picture(format_of(PixelFormat::i420, 160, 90));
  const FrameFormat format = chain.configure(in.view.format);
  const FrameRef out = chain.process(in.ref(), 0);
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
    for (int i = 0; i < 10; ++i) held[next++ % held.size()] = chain.process(in.ref(), 0);
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
    for (int i = 0; i < 5; ++i) held.push_back(chain.process(in.ref(), 0));
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
  for (int i = 0; i < 2000; ++i) exchange(chain.process(in.ref(), 0).owner);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
