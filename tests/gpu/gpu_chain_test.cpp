// A camera's chain on the GPU: the way there and back, what it allocates, and what happens when the GPU does not
// answer.
#include "stages/filters/gpu_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "core/metadata_types.h"
#include "tests/gpu/gpu_pictures.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;
using test::GpuPicture;
using test::Rows;
using Output = GpuChain::Output;

constexpr std::array<std::array<int, 2>, 5> sizes{{{1, 1}, {3, 5}, {63, 64}, {641, 361}, {1920, 1080}}};

const std::vector<FilterConfig> shrink_and_soften{{"resize", {{"width", 320}, {"height", 180}}},
                                                  {"blur", {{"sigma", 1.5}}}};

Picture as_nv12(Picture& in) {
  FrameFormat format = in.view.format;
  if (format.pixels == PixelFormat::nv12) return test::download(as_const(in.view));
  format.pixels = PixelFormat::nv12;
  Picture out(format);
  out.each([&](std::uint8_t& sample, int plane, int x, int y) {
    sample = plane == 0 ? in.at(0, x, y) : in.at(1 + x % 2, x / 2, y);
  });
  return out;
}

Picture result_of(GpuChain& chain, const FrameRef& in) {
  const FrameRef out = chain.process(in, 0);
  EXPECT_TRUE(chain.wait(Clock::now() + 5s));
  return test::download(out.view);
}

void expect_same(Picture& got, Picture& expected) {
  ASSERT_EQ(got.view.format, expected.view.format);
  EXPECT_EQ(got.planes, expected.planes);
}

using GpuChainTest = test::GpuTest;

TEST_F(GpuChainTest, BringsPicturesThereAndBack) {
  for (const auto [width, height] : sizes)
    for (const PixelFormat pixels : {PixelFormat::i420, PixelFormat::nv12})
      for (const Output output : {Output::device, Output::host}) {
        SCOPED_TRACE(testing::Message() << width << "x" << height << (pixels == PixelFormat::nv12 ? " nv12" : " i420"));
        Picture in = random_picture(format_of(pixels, width, height));
        GpuChain chain({});
        FrameFormat format = in.view.format;
        format.pixels = PixelFormat::nv12;
        EXPECT_EQ(chain.configure(in.view.format, output), format);
        Picture expected = as_nv12(in);
        Picture got = result_of(chain, in.ref());
        expect_same(got, expected);
      }
}

TEST_F(GpuChainTest, DownloadsWhatLiesOnTheDevice) {
  Picture in = random_picture(format_of(PixelFormat::nv12, 641, 361));
  GpuPicture there(in.view.format, Rows::odd);
  there.upload(as_const(in.view));
  GpuChain chain({});
  chain.configure(in.view.format, Output::host);
  const FrameRef out = chain.process({as_const(there.view), nullptr}, 0);
  ASSERT_TRUE(chain.wait(Clock::now() + 5s));
  EXPECT_EQ(out.view.memory, MemoryKind::host);
  EXPECT_EQ(out.view.device, Device{});
  Picture got = test::download(out.view);
  expect_same(got, in);
}

TEST_F(GpuChainTest, HandsOnWhatNeedsNothing) {
  const FrameFormat format = format_of(PixelFormat::nv12, 64, 48);
  const GpuPicture there(format, Rows::aligned);
  const auto owner = std::make_shared<int>(1);
  GpuChain chain({});
  chain.configure(format, Output::device);
  const FrameRef out = chain.process({as_const(there.view), owner}, 0);
  EXPECT_EQ(out.view.data[0], there.view.data[0]);
  EXPECT_EQ(out.owner, owner);
}

TEST_F(GpuChainTest, LetsGoOfItsInput) {
  Picture in = random_picture(format_of(PixelFormat::nv12, 64, 48));
  const auto owner = std::make_shared<int>(1);
  GpuChain chain({{"blur", {{"sigma", 1}}}});
  chain.configure(in.view.format, Output::host);
  const FrameRef out = chain.process({as_const(in.view), owner}, 0);
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(GpuChainTest, PointwiseFiltersTogetherAreTheSameAsOneByOne) {
  const std::vector<FilterConfig> filters{{"color", {{"brightness", 0.1}, {"contrast", 1.3}}},
                                          {"crop", {{"x", 6}, {"y", 4}, {"width", 300}, {"height", 201}}},
                                          {"color", {{"saturation", 2.5}, {"gamma", 0.6}}},
                                          {"crop", {{"x", 2}, {"y", 10}, {"width", 259}, {"height", 180}}},
                                          {"color", {{"contrast", 0.7}}}};
  Picture in = random_picture(format_of(PixelFormat::nv12, 641, 361));
  FilterChain cpu(filters);
  GpuChain gpu(filters);
  EXPECT_EQ(gpu.configure(in.view.format, Output::host), cpu.configure(in.view.format));
  Picture expected = test::download(cpu.process(in.ref(), 0).view);
  Picture got = result_of(gpu, in.ref());
  expect_same(got, expected);
}

TEST_F(GpuChainTest, PointwiseFiltersApartStayInOrder) {
  const std::vector<FilterConfig> filters{{"color", {{"contrast", 1.5}}},
                                          {"resize", {{"width", 200}, {"height", 100}}},
                                          {"color", {{"brightness", 0.2}}},
                                          {"crop", {{"x", 20}, {"y", 10}, {"width", 101}, {"height", 51}}}};
  Picture in = test::real_picture(format_of(PixelFormat::i420, 400, 200));
  FilterChain cpu(filters);
  GpuChain gpu(filters);
  Picture nv12 = as_nv12(in);
  cpu.configure(nv12.view.format);
  gpu.configure(in.view.format, Output::host);
  Picture expected = test::download(cpu.process(nv12.ref(), 0).view);
  Picture got = result_of(gpu, in.ref());
  got.each([&](std::uint8_t& sample, int plane, int x, int y) { ASSERT_NEAR(sample, expected.at(plane, x, y), 2); });
}

// Noise, in which a square moves; the light changes at frame 50, and the scene at 70.
void next_scene(Picture& picture, int number, std::minstd_rand& random) {
  const FrameFormat& format = picture.view.format;
  const int base = number < 50 ? 100 : number < 70 ? 80 : 40, slope = number < 70 ? 1 : -1;
  for (int y = 0; y < format.height; ++y)
    for (int x = 0; x < format.width; ++x) {
      const bool inside = x / 8 > number / 2 && x / 8 < number / 2 + 9 && y > 10 && y < 90;
      const int level = inside ? 220 : base + slope * (x / 16 % 32);
      picture.at(0, x, y) = static_cast<std::uint8_t>(level + static_cast<int>(random() >> 8) % 8);
    }
}

// With cells that are cut off, and rows that no unit of a kernel can be read from.
TEST_F(GpuChainTest, TellsTheMotionThatTheCpuTells) {
  const std::vector<FilterConfig> filters{
      {"motion", {}}, {"crop", {{"x", 2}, {"y", 2}, {"width", 16}, {"height", 16}}}, {"motion", {{"sensitivity", 80}}}};
  for (const auto [width, height] : {std::array{18, 19}, {641, 361}, {1920, 1080}})
    for (std::size_t count : {1, 3}) {
      SCOPED_TRACE(testing::Message() << width << "x" << height << ", " << count << " filters");
      const std::vector<FilterConfig> some(filters.begin(), filters.begin() + static_cast<std::ptrdiff_t>(count));
      FilterChain cpu(some);
      GpuChain gpu(some);
      Picture in(format_of(PixelFormat::nv12, width, height), 128);
      GpuPicture there(in.view.format, count == 1 ? Rows::odd : Rows::aligned);
      cpu.configure(in.view.format);
      gpu.configure(in.view.format, Output::device);
      std::minstd_rand random(1);
      int moving = 0;
      for (int number = 0; number < 120; ++number) {
        next_scene(in, number, random);
        there.upload(as_const(in.view));
        const auto expected = cpu.process(in.ref(), number * 50'000'000LL).metadata.get<MotionScore>();
        FrameRef out = gpu.process({as_const(there.view), nullptr}, number * 50'000'000LL);
        ASSERT_TRUE(gpu.wait(Clock::now() + 5s));
        gpu.add_metadata(out.metadata);
        ASSERT_TRUE(expected.has_value());
        ASSERT_EQ(out.metadata.get<MotionScore>(), expected) << "frame " << number;
        moving += expected->moving > 0 ? 1 : 0;
      }
      EXPECT_TRUE(width < 100 || moving > 20);
    }
}

// What the decoder knew of a frame comes out with it, wherever it was and however it is changed.
TEST_F(GpuChainTest, CarriesMetadataAlong) {
  const MotionScore known{0.5F, 0.25F, 0.125F};
  for (const std::vector<FilterConfig>& filters : {std::vector<FilterConfig>{}, shrink_and_soften})
    for (const Output output : {Output::device, Output::host}) {
      Picture in = random_picture(format_of(PixelFormat::i420, 641, 361));
      FrameRef ref = in.ref();
      ref.metadata.set(known);
      GpuChain chain(filters);
      chain.configure(in.view.format, output);
      FrameRef out = chain.process(ref, 0);
      ASSERT_TRUE(chain.wait(Clock::now() + 5s));
      chain.add_metadata(out.metadata);
      EXPECT_EQ(out.metadata.get<MotionScore>(), known) << "and without a filter for it, it is no other";
    }
}

TEST_F(GpuChainTest, CopiesNoPictureToLookAtIt) {
  const FrameFormat format = format_of(PixelFormat::nv12, 640, 360);
  const GpuPicture there(format, Rows::aligned);
  const auto owner = std::make_shared<int>(1);
  GpuChain chain({{"motion", {}}, {"motion", {{"x", 50}}}});
  EXPECT_EQ(chain.configure(format, Output::device), format);
  const FrameRef out = chain.process({as_const(there.view), owner}, 0);
  EXPECT_EQ(out.view.data[0], there.view.data[0]);
  EXPECT_EQ(out.owner, owner);
  EXPECT_TRUE(chain.wait(Clock::now() + 5s));
}

TEST_F(GpuChainTest, BringsPicturesThereAndBackToLookAtThem) {
  for (const PixelFormat pixels : {PixelFormat::i420, PixelFormat::nv12})
    for (const Output output : {Output::device, Output::host}) {
      Picture in = random_picture(format_of(pixels, 641, 361));
      GpuChain chain(std::vector<FilterConfig>{{"motion", {}}});
      chain.configure(in.view.format, output);
      Picture expected = as_nv12(in);
      std::vector<FrameRef> held;
      for (int i = 0; i < 6; ++i) held.push_back(chain.process(in.ref(), 0));
      ASSERT_TRUE(chain.wait(Clock::now() + 5s));
      for (const FrameRef& one : held) {
        Picture got = test::download(one.view);
        expect_same(got, expected);
      }
    }
}

std::size_t free_device_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  cuda_check(cudaMemGetInfo(&free, &total), "cannot ask for the GPU's memory");
  return free;
}

TEST_F(GpuChainTest, AllocatesNothingPerPicture) {
  for (const Output output : {Output::device, Output::host}) {
    Picture in = random_picture(format_of(PixelFormat::i420, 1920, 1080));
    GpuChain chain(shrink_and_soften);
    chain.configure(in.view.format, output);
    std::array<FrameRef, 4> held;
    result_of(chain, in.ref());  // kernels are loaded when they first run
    const std::size_t before = free_device_memory();
    for (std::size_t i = 0; i < 200; ++i) {
      held[i % held.size()] = {};
      held[i % held.size()] = chain.process(in.ref(), 0);
    }
    EXPECT_TRUE(chain.wait(Clock::now() + 10s));
    EXPECT_EQ(free_device_memory(), before);
  }
}

TEST_F(GpuChainTest, NeverHandsOutAPictureThatIsInUse) {
  Picture in = random_picture(format_of(PixelFormat::nv12, 160, 90));
  for (const Output output : {Output::device, Output::host}) {
    std::vector<FrameRef> held;
    {
      GpuChain chain({{"blur", {{"sigma", 1}}}});
      chain.configure(in.view.format, output);
      for (int i = 0; i < 7; ++i) held.push_back(chain.process(in.ref(), 0));
    }
    std::set<const std::uint8_t*> pictures;
    for (const FrameRef& ref : held) pictures.insert(ref.view.data[0]);
    EXPECT_EQ(pictures.size(), held.size());
    EXPECT_EQ(test::download(held.front().view).planes, test::download(held.back().view).planes) << "the chain is gone";
  }
}

TEST_F(GpuChainTest, TakesAnotherFormat) {
  GpuChain chain({{"blur", {{"sigma", 1}}}});
  for (const auto [width, height] : sizes) {
    Picture in = random_picture(format_of(PixelFormat::i420, width, height));
    Picture nv12 = as_nv12(in);
    chain.configure(in.view.format, Output::host);
    FilterChain cpu({{"blur", {{"sigma", 1}}}});
    cpu.configure(nv12.view.format);
    Picture expected = test::download(cpu.process(nv12.ref(), 0).view);
    Picture got = result_of(chain, in.ref());
    got.each([&](std::uint8_t& sample, int plane, int x, int y) { ASSERT_NEAR(sample, expected.at(plane, x, y), 2); });
  }
}

TEST_F(GpuChainTest, RefusesWhatTheFiltersRefuse) {
  const auto make = [](const std::vector<FilterConfig>& filters) { GpuChain chain(filters); };
  EXPECT_THROW(make({{"negate", {}}}), Error);
  EXPECT_THROW(make({{"blur", {}}}), Error);
  GpuChain chain({{"crop", {{"width", 64}, {"height", 64}}}});
  EXPECT_THROW(chain.configure(format_of(PixelFormat::nv12, 63, 64), Output::host), Error);
  EXPECT_EQ(chain.configure(format_of(PixelFormat::nv12, 65, 64), Output::host).width, 64);
}

// Work that ends when it is told to.
class Blockade {
 public:
  explicit Blockade(GpuStream stream) {
    cuda_check(cudaLaunchHostFunc(
                   stream, [](void* self) { static_cast<Blockade*>(self)->wait(); }, this),
               "blockade");
  }
  void lift() {
    const std::scoped_lock lock(mutex_);
    lifted_ = true;
    changed_.notify_all();
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return lifted_; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool lifted_ = false;
};

TEST_F(GpuChainTest, AWaitEndsAtItsDeadline) {
  Picture in = random_picture(format_of(PixelFormat::nv12, 640, 360));
  GpuPicture there(in.view.format, Rows::aligned);
  there.upload(as_const(in.view));
  GpuChain chain(shrink_and_soften);
  chain.configure(in.view.format, Output::host);
  EXPECT_TRUE(chain.wait(Clock::now())) << "nothing is enqueued";
  Blockade blockade(chain.stream());
  const FrameRef out = chain.process({as_const(there.view), nullptr}, 0);
  const auto begin = Clock::now();
  EXPECT_FALSE(chain.wait(begin + 50ms));
  EXPECT_GE(Clock::now() - begin, 50ms);
  EXPECT_LT(Clock::now() - begin, 500ms);
  blockade.lift();
  EXPECT_TRUE(chain.wait(Clock::now() + 5s));
}

TEST_F(GpuChainTest, NothingWaitsForAStreamThatNeverGoesOn) {
  Picture in = random_picture(format_of(PixelFormat::nv12, 640, 360));
  GpuPicture there(in.view.format, Rows::aligned);
  auto chain = std::make_unique<GpuChain>(shrink_and_soften);
  chain->configure(in.view.format, Output::host);
  Blockade blockade(chain->stream());
  FrameRef out = chain->process({as_const(there.view), nullptr}, 0);
  const auto begin = Clock::now();
  try {
    chain->configure(in.view.format, Output::host);
    ADD_FAILURE() << "configured while the stream was busy";
  } catch (const GpuError& error) {
    EXPECT_EQ(error.kind, GpuError::Kind::broken);
  }
  chain.reset();
  out = {};
  EXPECT_LT(Clock::now() - begin, 4s);
  blockade.lift();
  cuda_check(cudaDeviceSynchronize(), "what was left behind");
}

// Takes all but the last MiB of the GPU's memory.
std::vector<DeviceBytes> take_device_memory() {
  std::vector<DeviceBytes> taken;
  for (std::size_t size = std::size_t{64} << 30; size >= 1 << 20;) {
    void* memory = nullptr;
    if (cudaMalloc(&memory, size) == cudaSuccess) {
      taken.emplace_back(static_cast<std::uint8_t*>(memory));
    } else {
      static_cast<void>(cudaGetLastError());
      size /= 2;
    }
  }
  return taken;
}

TEST_F(GpuChainTest, OutOfMemoryCanBeTriedAgain) {
  Picture in = random_picture(format_of(PixelFormat::nv12, 3840, 2160));
  GpuChain chain({{"blur", {{"sigma", 1}}}});
  auto taken = take_device_memory();
  try {
    chain.configure(in.view.format, Output::device);
    ADD_FAILURE() << "there was room";
  } catch (const GpuError& error) {
    EXPECT_EQ(error.kind, GpuError::Kind::out_of_memory) << error.what();
  }
  taken.clear();
  chain.configure(in.view.format, Output::device);
  Picture got = result_of(chain, in.ref());
  EXPECT_EQ(got.view.format, in.view.format);
}

}  // namespace
}  // namespace campipe
