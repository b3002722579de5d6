// The filter `motion`: what it hands on, what is motion and what is not, and how a chain tells it.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <random>

#include "core/metadata_types.h"
#include "kernels/motion_rule.h"
#include "stages/filters/chain.h"
#include "tests/unit/filter_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

constexpr int width = 320, height = 240;
constexpr int side = motion_cell_side(height);
constexpr int cells = width / side * (height / side);
constexpr std::int64_t frame_time = 50'000'000;
constexpr int settling_frames = motion_settling / 50 + 2;

FilterParameters settings(const FilterParameters& given = {}) {
  return complete_parameters(known_filter("motion"), given);
}

struct Square {
  int x = 0, y = 0, side = 0, level = 0;
};

// What a camera sees that moves nothing: a scene with noise, and with something in it where a test puts that.
class Scene {
 public:
  Scene() {
    std::normal_distribution<double> normal{0, 5};
    for (double& value : noise_) value = normal(random_);
  }

  Picture& picture(const Square& square = {}) {
    std::size_t next = random_();
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const bool inside = x >= square.x && x < square.x + square.side && y >= square.y && y < square.y + square.side;
        const double level = inside ? square.level : gain * (60 + 40 * std::sin(x / 25.0) + y / 3.0) + offset;
        picture_.at(0, x, y) =
            static_cast<std::uint8_t>(std::clamp(std::lround(level + noise_[next++ % noise_.size()]), 0L, 255L));
      }
    return picture_;
  }

  double gain = 1;
  double offset = 0;

 private:
  Picture picture_{format_of(PixelFormat::i420, width, height), 128};
  std::minstd_rand random_{1};
  std::array<double, 65521> noise_;
};

MotionScore score_of(const FrameRef& frame) { return frame.metadata.get<MotionScore>().value(); }

class Watcher {
 public:
  explicit Watcher(const FilterParameters& given = {}) : chain_({{"motion", settings(given)}}) {
    chain_.configure(format_of(PixelFormat::i420, width, height));
  }

  float look(Picture& picture) { return score_of(chain_.process(picture.ref(), number_++ * frame_time)).moving; }
  void settle(Scene& scene, const Square& square = {}) {
    for (int i = 0; i < settling_frames; ++i) EXPECT_EQ(look(scene.picture(square)), 0) << "it settles";
  }

 private:
  FilterChain chain_;
  std::int64_t number_ = 0;
};

constexpr Square parked{96, 80, 48, 220};
constexpr float parked_part = 48.F * 48 / (width * height);

Square driving(int number) { return {8 + number * 3, 80, 48, 220}; }

TEST(Motion, ChangesNothing) {
  for (const PixelFormat pixels : {PixelFormat::i420, PixelFormat::nv12}) {
    Picture in = random_picture(format_of(pixels, 161, 93));
    const auto filter = known_filter("motion").create(settings());
    Picture out(filter->configure(in.view.format));
    filter->process(as_const(in.view), out.view);
    EXPECT_EQ(out.view.format, in.view.format);
    EXPECT_EQ(out.planes, in.planes);
  }
}

TEST(Motion, IsToldOfWhatMoves) {
  Scene scene;
  Watcher watcher;
  watcher.settle(scene);
  for (int i = 0; i < 80; ++i) {
    const float score = watcher.look(scene.picture(driving(i)));
    EXPECT_GE(score, 0.8F * parked_part) << i;
    EXPECT_LE(score, 2 * parked_part) << i;
  }
  EXPECT_EQ(watcher.look(scene.picture()), 0) << "it is gone, and leaves nothing behind";
}

TEST(Motion, IsNotToldBeforeTheBackgroundIsKnown) {
  Scene scene;
  Watcher watcher;
  for (int i = 0; i < settling_frames; ++i) EXPECT_EQ(watcher.look(scene.picture(driving(i))), 0) << i;
}

TEST(Motion, IsNotNoise) {
  Scene scene;
  Watcher watcher;
  for (int i = 0; i < 400; ++i) EXPECT_EQ(watcher.look(scene.picture()), 0) << i;
}

TEST(Motion, IsNotAChangeOfTheLight) {
  Scene scene;
  Watcher watcher;
  watcher.settle(scene);
  for (const double offset : {40.0, -20.0, 0.0}) {  // the camera's exposure jumps
    scene.offset = offset;
    for (int i = 0; i < 20; ++i) EXPECT_EQ(watcher.look(scene.picture()), 0) << offset << ", " << i;
  }
  for (int i = 0; i < 150; ++i) {  // a cloud comes
    scene.gain = 1 - 0.4 * std::min(i, 75) / 75;
    EXPECT_EQ(watcher.look(scene.picture()), 0) << i;
  }
  scene.gain = 0.75;  // and goes at once
  for (int i = 0; i < 20; ++i) EXPECT_EQ(watcher.look(scene.picture()), 0) << i;
}

TEST(Motion, IsSeenWhileTheLightChanges) {
  Scene scene;
  Watcher watcher;
  watcher.settle(scene);
  for (int i = 0; i < 80; ++i) {
    scene.offset = i < 40 ? 0 : -25;
    EXPECT_GE(watcher.look(scene.picture(driving(i))), 0.8F * parked_part) << i;
  }
  EXPECT_EQ(watcher.look(scene.picture()), 0) << "where it was, the background has followed the light";
}

TEST(Motion, BeginsAnewInAnotherScene) {
  Scene scene;
  Watcher watcher;
  watcher.settle(scene);
  scene.gain = -1.5;  // as the infrared filter moves: what was bright is dark
  scene.offset = 330;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(watcher.look(scene.picture()), 0) << i;
  EXPECT_GT(watcher.look(scene.picture({96, 80, 48, 10})), 0);
}

TEST(Motion, EndsWhenSomethingStands) {
  Scene scene;
  Watcher watcher;
  watcher.settle(scene);
  for (int i = 0; i < 400; ++i) {
    const float score = watcher.look(scene.picture(parked));
    EXPECT_TRUE(i >= 10 || score > 0) << "half a second";
    EXPECT_TRUE(i < 40 || score == 0) << "two seconds";
  }
}

// The background is remembered, and follows the light while it is out of sight.
TEST(Motion, LeavesNothingBehindWhereSomethingStood) {
  Scene scene;
  Watcher watcher;
  watcher.settle(scene);
  for (int i = 0; i < 20 * 20; ++i) watcher.look(scene.picture());
  for (int i = 0; i < 60 * 20; ++i) {
    scene.gain = 1 + 0.3 * i / 1200;
    watcher.look(scene.picture(parked));
  }
  EXPECT_EQ(watcher.look(scene.picture()), 0) << "it leaves";
  for (int i = 0; i < 40; ++i) EXPECT_EQ(watcher.look(scene.picture()), 0) << i;
  EXPECT_GT(watcher.look(scene.picture(driving(1))), 0) << "another comes";
}

// Each frame is analyzed where there are few; where there are many, the score of the last stays.
TEST(Motion, TakesTheSameTimeAtAnyFrameRate) {
  for (const int rate : {5, 15, 25, 60}) {
    SCOPED_TRACE(rate);
    Scene scene;
    FilterChain chain({{"motion", settings()}});
    chain.configure(format_of(PixelFormat::i420, width, height));
    double begin = -1, end = -1;
    for (int i = 0; i < 8 * rate; ++i) {
      const double time = static_cast<double>(i) / rate;
      const FrameRef out =
          chain.process(scene.picture(time < 3 ? Square{} : parked).ref(), static_cast<std::int64_t>(time * 1e9));
      if (score_of(out).moving <= 0) continue;
      begin = begin < 0 ? time : begin;
      end = time;
    }
    EXPECT_NEAR(begin, 3, 0.25);
    EXPECT_NEAR(end, 3.7, 0.3);
  }
}

TEST(Motion, DependsOnTheSensitivity) {
  const auto found = [](double sensitivity, const Square& square) {
    Scene scene;
    Watcher watcher({{"sensitivity", sensitivity}});
    watcher.settle(scene);
    return watcher.look(scene.picture(square)) > 0;
  };
  const Square small{160, 120, 6, 255}, middle{160, 120, 24, 255}, large{160, 120, 96, 255};
  EXPECT_TRUE(found(100, small));
  EXPECT_FALSE(found(20, small));
  EXPECT_TRUE(found(50, middle));
  EXPECT_FALSE(found(1, middle));
  EXPECT_TRUE(found(1, large));
}

TEST(Motion, HasAScoreThatIsComparedWithTheThreshold) {
  Scene scene;
  FilterChain chain({{"motion", settings({{"sensitivity", 1}})}});
  chain.configure(format_of(PixelFormat::i420, width, height));
  std::int64_t number = 0;
  const auto look = [&](const Square& square) {
    return score_of(chain.process(scene.picture(square).ref(), number++ * frame_time));
  };
  for (int i = 0; i < settling_frames; ++i) EXPECT_EQ(look({}).score, 0) << "it settles";
  EXPECT_FLOAT_EQ(look({}).threshold, std::ceil(0.01F * cells) / cells);
  const MotionScore little = look({160, 120, 24, 255});  // 36 cells, of which all but the inner ones have an edge
  EXPECT_EQ(little.moving, 0);
  EXPECT_GE(little.score, 20.F / cells);
  EXPECT_LT(little.score, little.threshold);
  const MotionScore much = look({160, 120, 96, 255});
  EXPECT_GE(much.score, much.threshold);
  EXPECT_GE(much.moving, much.score);
}

TEST(Motion, IsLookedForInTheZone) {
  Scene scene;
  Watcher left({{"width", 50}}), right({{"x", 50}, {"width", 80}});
  Watcher middle({{"x", 30}, {"y", 34}, {"width", 15}, {"height", 19}}), below({{"y", 60}});
  for (Watcher* watcher : {&left, &right, &middle, &below}) watcher->settle(scene);
  Picture& picture = scene.picture(parked);
  EXPECT_FLOAT_EQ(left.look(picture), 2 * parked_part);
  EXPECT_EQ(right.look(picture), 0);
  EXPECT_EQ(middle.look(picture), 1) << "all of it";
  EXPECT_EQ(below.look(picture), 0);
}

TEST(Motion, IsOfTheSameCellsAtOddSizes) {
  const FrameFormat format = format_of(PixelFormat::nv12, 29, 19);  // 8 × 5 cells, of which the last are cut off
  FilterChain chain({{"motion", settings({{"x", 99}, {"y", 99}})}});
  chain.configure(format);
  Picture in(format, 100);
  std::int64_t number = 0;
  const auto motion = [&] { return score_of(chain.process(in.ref(), number++ * frame_time)).moving; };
  for (int i = 0; i < settling_frames; ++i) motion();
  for (int y = 16; y < 19; ++y) in.at(0, 27, y) = 255;  // of the cell beside it
  EXPECT_EQ(motion(), 0);
  for (int y = 16; y < 19; ++y) in.at(0, 28, y) = 255;  // all of the last cell
  EXPECT_EQ(motion(), 1);
}

TEST(Motion, IsForgottenWithTheFormat) {
  Scene scene;
  FilterChain chain({{"motion", settings()}});
  const FrameFormat format = format_of(PixelFormat::i420, width, height);
  for (int round = 0; round < 2; ++round) {
    chain.configure(format);
    for (int i = 0; i < settling_frames; ++i)
      EXPECT_EQ(score_of(chain.process(scene.picture().ref(), i * frame_time)).moving, 0);
    EXPECT_GT(score_of(chain.process(scene.picture(parked).ref(), settling_frames * frame_time)).moving, 0);
  }
}

TEST(FilterChainMotion, IsTheHighest) {
  Scene scene;
  const std::vector<FilterConfig> filters{{"motion", settings({{"x", 50}})},
                                          {"blur", {{"sigma", 1}}},
                                          {"motion", settings({{"width", 50}})},
                                          {"motion", settings()}};
  FilterChain chain(filters);
  chain.configure(format_of(PixelFormat::i420, width, height));
  for (int i = 0; i < settling_frames; ++i) chain.process(scene.picture().ref(), i * frame_time);
  EXPECT_GE(score_of(chain.process(scene.picture(parked).ref(), settling_frames * frame_time)).moving, 2 * parked_part);
}

TEST(FilterChainMotion, IsNotThereWithoutAFilterForIt) {
  Scene scene;
  FilterChain chain({{"blur", {{"sigma", 1}}}});
  chain.configure(format_of(PixelFormat::i420, width, height));
  EXPECT_EQ(chain.process(scene.picture().ref(), 0).metadata.get<MotionScore>(), std::nullopt);
}

TEST(FilterChainMotion, HasTheScoreThatIsNearestToItsThreshold) {
  const MotionScore near{0, 0.004F, 0.005F}, far{0, 0.006F, 0.1F}, beyond{0.3F, 0.2F, 0.1F};
  EXPECT_EQ(MotionScore::combine(near, far), near);
  EXPECT_EQ(MotionScore::combine(far, near), near);
  EXPECT_EQ(MotionScore::combine(near, beyond), beyond);
  EXPECT_EQ(MotionScore::combine({0.4F, 0.1F, 0.1F}, beyond).moving, 0.4F);
}

TEST(FilterChainMotion, CopiesNoPicture) {
  const FrameFormat format = format_of(PixelFormat::nv12, width, height);
  FilterChain chain({{"motion", settings()}, {"motion", settings({{"x", 50}})}});
  EXPECT_EQ(chain.configure(format), format);
  Picture in(format);
  const auto owner = std::make_shared<int>(1);
  const FrameRef out = chain.process({as_const(in.view), owner}, 0);
  EXPECT_EQ(out.view.data[0], in.view.data[0]);
  EXPECT_EQ(out.owner, owner);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
