// Precision and recall of the filter `motion` over labelled footage: scenes that are made here, and clips where there
// are any (VTEST, or Debian's vtest.avi; the folder CAMPIPE_CLIPS).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <vector>

#include "core/metadata_types.h"
#include "stages/filters/chain.h"

namespace campipe {
namespace CAMPIPE_FILE {

struct Period {
  double begin, end;  // seconds
  [[nodiscard]] bool contains(double time) const { return time >= begin && time < end; }
};
using Periods = std::vector<Period>;

bool any_contains(const Periods& periods, double time) {
  return std::ranges::any_of(periods, [&](const Period& period) { return period.contains(time); });
}

// Frames that were reported to move or not, against labels.
class Marks {
 public:
  // `open`: either is right.
  Marks(Periods motion, Periods open) : motion_(std::move(motion)), open_(std::move(open)) {
    // Labels are made by hand, shadows come before what casts them, and what has come to rest is background a second
    // later.
    for (const Period& period : motion_) {
      open_.push_back({period.begin - 0.5, period.begin + 0.25});
      open_.push_back({period.end - 0.25, period.end + 1});
    }
    open_.push_back({0, 1.5});  // the background settles
  }

  void add(double time, bool moves) {
    if (any_contains(open_, time)) return;
    const bool right = any_contains(motion_, time) == moves;
    ++(moves ? right ? hits_ : false_ : right ? quiet_ : missed_);
  }

  [[nodiscard]] double precision() const { return part(hits_, false_); }
  [[nodiscard]] double recall() const { return part(hits_, missed_); }
  // Of the quiet frames, those that are reported to move.
  [[nodiscard]] double false_alarms() const { return 1 - part(quiet_, false_); }

 private:
  static double part(int some, int others) {
    return some + others == 0 ? 1 : static_cast<double>(some) / (some + others);
  }

  Periods motion_, open_;
  int hits_ = 0, false_ = 0, missed_ = 0, quiet_ = 0;
};

struct Gray {
  Gray(int wide, int high)
      : width(wide), height(high), luma(static_cast<std::size_t>(wide) * static_cast<std::size_t>(high)) {}

  [[nodiscard]] FrameFormat format() const { return {.pixels = PixelFormat::nv12, .width = width, .height = height}; }
  // Without chroma, which the filter does not read.
  [[nodiscard]] FrameRef ref() const {
    FrameRef frame;
    frame.view.format = format();
    frame.view.data[0] = luma.data();
    frame.view.stride[0] = width;
    return frame;
  }

  int width, height;
  std::vector<std::uint8_t> luma;
};

class Watcher {
 public:
  Watcher(const Gray& frame, const FilterParameters& given)
      : chain_({{"motion", complete_parameters(known_filter("motion"), given)}}) {
    chain_.configure(frame.format());
  }
  bool moves(const Gray& frame, double time) {
    const FrameRef out = chain_.process(frame.ref(), static_cast<std::int64_t>(time * 1e9));
    return out.metadata.get<MotionScore>().value().moving > 0;
  }

 private:
  FilterChain chain_;
};

// A person of boxes: head, jacket, trousers.
struct Person {
  double x = 0, y = 0, height = 0;  // the feet's middle, in samples

  // -1: not there.
  [[nodiscard]] int level(int at_x, int at_y) const {
    const double across = std::abs(at_x + 0.5 - x) / height, up = (y - at_y) / height;
    if (up < 0 || up >= 1) return -1;
    if (up > 0.85) return across < 0.07 ? 170 : -1;
    if (up > 0.45) return across < 0.17 ? 45 : -1;
    return across < 0.13 ? 70 : -1;
  }
};

// A wall with shelves, under light that comes from everywhere and from a lamp at the left.
class Room {
 public:
  Room(int width, int height) : frame_(width, height), noise_(65521) {
    std::normal_distribution<float> normal{0, 3};
    for (float& value : noise_) value = normal(random_);
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) {
        const double shelf = y * 8 / height % 3 == 1 && x * 6 / width % 2 == 0 ? 30 : 0;
        wall_.push_back(static_cast<float>(110 + 30.0 * y / height + shelf + 8 * std::sin(x * 90.0 / width)));
        lamp_.push_back(static_cast<float>(0.6 * std::exp(-3.0 * x / width)));
      }
  }

  const Gray& frame(double light, double lamp, const Person& person = {}) {
    std::size_t next = random_();
    std::size_t i = 0;
    for (int y = 0; y < frame_.height; ++y)
      for (int x = 0; x < frame_.width; ++x, ++i) {
        const int level = person.height > 0 ? person.level(x, y) : -1;
        const float surface = level < 0 ? wall_[i] : static_cast<float>(level);
        const float gain = static_cast<float>(light) + static_cast<float>(lamp) * lamp_[i];
        const float value = surface * gain + noise_[next++ % noise_.size()];
        frame_.luma[i] = static_cast<std::uint8_t>(std::clamp(value + 0.5F, 0.F, 255.F));
      }
    return frame_;
  }

 private:
  Gray frame_;
  std::minstd_rand random_{1};
  std::vector<float> noise_, wall_, lamp_;
};

// Somebody comes, stands for a minute while the light changes, and leaves; the lamp is switched on and off; somebody
// far away walks past.
TEST(MotionFootage, ARoomInWhichSomebodyStands) {
  constexpr int width = 480, height = 360, rate = 12;
  Room room(width, height);
  Watcher watcher(room.frame(1, 0), {});
  const Periods open{{13, 70}, {90, 93}, {100, 103}};  // standing still is no motion, or only little; light may be some
  Marks marks({{10, 13}, {70, 73}, {110, 118}}, open);
  int last_of_standing = -1;
  for (int i = 0; i < 125 * rate; ++i) {
    const double time = static_cast<double>(i) / rate;
    const double light = 1 + 0.25 * std::clamp((time - 15) / 50, 0.0, 1.0);
    const double lamp = time >= 90 && time < 100 ? 1 : 0;
    Person person;
    if (time >= 10 && time < 73) {
      const double way = time < 13 ? (time - 10) / 6 : time < 70 ? 0.5 : 0.5 + (time - 70) / 6;
      person = {width * way + 3 * std::sin(time * 0.7), height * 0.9, height * 0.4};  // nobody stands quite still
    } else if (time >= 110 && time < 118) {
      person = {width * (0.4) + height * 0.024 * (time - 110), height * 0.3, height * 0.03};
    }
    const bool moves = watcher.moves(room.frame(light, lamp, person), time);
    marks.add(time, moves);
    if (moves && time >= 73 && time < 90) last_of_standing = i;
  }
  EXPECT_GE(marks.precision(), 0.98);
  EXPECT_GE(marks.recall(), 0.95);
  EXPECT_LT(last_of_standing, 75 * rate) << "quiet two seconds after somebody has left";
}

TEST(MotionFootage, APersonOfThreePercentIsSeen) {
  for (const int height : {360, 480, 576, 720, 1080, 1440}) {
    SCOPED_TRACE(height);
    constexpr int rate = 10;
    const int width = height * 16 / 9;
    Room room(width, height);
    Watcher watcher(room.frame(1, 0), {});
    Marks marks({{3, 7}}, {});
    for (int i = 0; i < 9 * rate; ++i) {
      const double time = static_cast<double>(i) / rate;
      // A walk: 0.8 of its height in a second.
      const Person person{width * 0.4 + height * 0.024 * (time - 3), height * 0.4, height * 0.03};
      marks.add(time, watcher.moves(room.frame(1, 0, time >= 3 && time < 7 ? person : Person{}), time));
    }
    EXPECT_GE(marks.recall(), 0.5) << "in most frames";
    EXPECT_EQ(marks.false_alarms(), 0);
  }
}

struct Clip {
  std::string path;
  int width, height;
  double rate;
};

std::string in_clips(const std::string& name) {
  const char* folder = std::getenv("CAMPIPE_CLIPS");  // NOLINT: no other thread sets it
  return folder == nullptr ? "" : std::string(folder) + "/" + name;
}

// By ffmpeg.
Marks marks_of(const Clip& clip, Marks marks, const FilterParameters& given = {}) {
  const std::string command = "ffmpeg -v error -i '" + clip.path + "' -f rawvideo -pix_fmt gray -";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  Gray frame(clip.width, clip.height);
  Watcher watcher(frame, given);
  int number = 0;
  for (; std::fread(frame.luma.data(), 1, frame.luma.size(), pipe.get()) == frame.luma.size(); ++number) {
    const double time = number / clip.rate;
    marks.add(time, watcher.moves(frame, time));
  }
  EXPECT_GT(number, 100) << command;
  return marks;
}

#define SKIP_WITHOUT(path) \
  if (!std::filesystem::is_regular_file(path)) GTEST_SKIP() << "VTEST=FILE and CAMPIPE_CLIPS=FOLDER name some"

std::string street() {
  const char* given = std::getenv("VTEST");  // NOLINT: no other thread sets it
  return given != nullptr ? given : "/usr/share/doc/opencv-doc/examples/data/vtest.avi";
}

// People walk through it all the time.
TEST(MotionFootage, AStreetWithPeople) {
  SKIP_WITHOUT(street());
  EXPECT_GE(marks_of({street(), 768, 576, 10}, Marks({{0, 80}}, {})).recall(), 0.98);
}

// At first nobody is on the lawn at the left; then some walk there.
TEST(MotionFootage, ALawnBesideIt) {
  SKIP_WITHOUT(street());
  const FilterParameters lawn{{"x", 0}, {"y", 62}, {"width", 40}, {"height", 38}};
  const Marks marks = marks_of({street(), 768, 576, 10}, Marks({{53.4, 60.4}, {65.9, 70.9}}, {}), lawn);
  EXPECT_GE(marks.precision(), 0.95);
  EXPECT_GE(marks.recall(), 0.95);
}

// The camera's exposure changes while cars are there.
TEST(MotionFootage, CarsFromAbove) {
  const std::string path = in_clips("car-detection.mp4");
  SKIP_WITHOUT(path);
  const Marks marks = marks_of({path, 768, 432, 12.5}, Marks({{4.3, 8.2}, {14.3, 19}, {25, 28}}, {}));
  EXPECT_GE(marks.precision(), 0.88);
  EXPECT_GE(marks.recall(), 0.98);
}

// Hands bring bottles and take them away; the exposure changes with each.
TEST(MotionFootage, BottlesThatComeAndGo) {
  const std::string path = in_clips("bottle-detection.mp4");
  SKIP_WITHOUT(path);
  const Periods hands{{5.4, 7}, {10.9, 13.4}, {15.3, 17.8}, {21.8, 24.4}, {26.9, 28.9}, {30.4, 32.1}, {34.2, 36.8}};
  const Marks marks = marks_of({path, 640, 360, 179.0 / 6}, Marks(hands, {}));
  EXPECT_GE(marks.precision(), 0.8);
  EXPECT_GE(marks.recall(), 0.95);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
