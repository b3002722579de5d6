// Cameras that stall, lose frames, reconnect, drift and set their clocks, in virtual time: where each frame lies on the
// timeline, and when it was taken.
#include "app/source/source_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "app/rings/timeline.h"

namespace campipe {
namespace CAMPIPE_FILE {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1000 * ms;
constexpr std::int64_t hour = 3600 * second;
constexpr std::int64_t bound = 200 * ms;

struct Camera {
  double rate = 25;
  double drift = 0;          // of its clock
  std::int64_t jitter = 0;   // of the network
  bool reports = false;      // the time of day, in sender reports
  std::int64_t probing = 0;  // for so long the first packets wait to be read
};

// A camera, the network and the thread that reads. Frames are taken at even intervals of true time.
class Simulation {
 public:
  Simulation(const Camera& camera, unsigned seed) : camera_(camera), random_(seed) { connect(0); }

  struct Frame {
    std::int64_t taken = 0;
    std::int64_t pts = 0;
    std::int64_t lag = 0;
    std::int64_t late = 0;
  };

  // All is well for so long.
  void run(std::int64_t time) { deliver(time, 0); }
  // Nothing comes through for so long; then all that was taken meanwhile, at once. Of it, a part may be lost.
  void stall(std::int64_t time, double lost = 0) {
    const std::int64_t until = now_ + time;
    while (next_ < until) {
      if (uniform() >= lost) send(until);
      step();
    }
    now_ = until;
  }
  // The camera takes nothing; its clock goes on.
  void gap(std::int64_t time) { skip(time); }
  // The camera takes nothing, and its clock stands still.
  void stop_clock(std::int64_t time) {
    clock_ -= time;
    skip(time);
  }
  void set_clock(std::int64_t by) { clock_ += by; }
  void lose(std::int64_t time) { skip(time); }
  // This machine is too slow: what comes has to wait to be read, longer each time.
  void overload(std::int64_t time, double speed) {
    const std::int64_t begin = now_;
    while (next_ < begin + time) {
      reader_ = std::max(reader_, begin + static_cast<std::int64_t>(static_cast<double>(next_ - begin) / speed));
      send(next_);
      step();
    }
    now_ = begin + time;
  }
  // `older`: the server begins with what it took before.
  void reconnect(std::int64_t away, std::int64_t older) {
    skip(away);
    std::uniform_int_distribution<std::int64_t> any(0, 100 * hour);
    clock_ = any(random_);
    source_.reconnect();
    next_ -= older;
    connect(older);
  }

  // The largest error of the frames that were taken in the last `time`.
  [[nodiscard]] std::int64_t error(std::int64_t time) const {
    std::int64_t largest = 0;
    for (const Frame& frame : frames_) {
      if (frame.taken >= now_ - time) largest = std::max(largest, std::abs(error(frame)));
    }
    return largest;
  }
  [[nodiscard]] std::int64_t error(const Frame& frame) const {
    return frame.pts - (frame.taken - frames_.front().taken);
  }
  [[nodiscard]] const std::vector<Frame>& frames() const { return frames_; }
  [[nodiscard]] int corrections() const { return corrections_; }
  [[nodiscard]] const SourceClock& source() const { return source_; }

 private:
  struct Packet {
    std::int64_t taken = 0;
    std::int64_t source = 0;
    std::int64_t arrival = 0;
    std::int64_t waited = 0;
  };

  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  void step() { next_ += static_cast<std::int64_t>(1e9 / camera_.rate); }
  void skip(std::int64_t time) {
    now_ += time;
    while (next_ < now_) step();
  }

  // What waits at the beginning comes at once, and the first frame that has to be waited for shows when that was.
  void connect(std::int64_t older) {
    const bool first = frames_.empty();
    const std::int64_t until = now_ + camera_.probing;
    preview_ = !first;
    while (next_ < until) {
      send(until);
      step();
    }
    now_ = std::max(now_, until);
    if (older > 0 || camera_.probing > 0 || !first) {
      send(next_);
      step();
    }
    preview_ = false;
    for (const Packet& packet : previewed_) observe(packet);
    previewed_.clear();
  }

  void deliver(std::int64_t time, std::int64_t later) {
    const std::int64_t until = now_ + time;
    while (next_ < until) {
      send(next_ + later);
      step();
    }
    now_ = until;
  }

  // The frame that is due; it comes through at `through` at the earliest.
  void send(std::int64_t through) {
    const double noise = uniform();
    // Most are hardly late.
    const auto delay = 5 * ms + static_cast<std::int64_t>(noise * noise * static_cast<double>(camera_.jitter));
    network_ = std::max(network_ + ms / 2, std::max(next_, through) + delay);
    const std::int64_t read = std::max(network_, reader_);
    Packet packet{next_, clock_ + next_ + std::llround(camera_.drift * static_cast<double>(next_)), read,
                  std::max<std::int64_t>(0, network_ - std::max(read_, reader_))};
    read_ = read;
    if (preview_) {
      source_.preview(packet.source, packet.arrival);
      previewed_.push_back(packet);
    } else {
      observe(packet);
    }
  }

  void observe(const Packet& packet) {
    SourceClock::Sample sample{packet.source, 0, packet.arrival, packet.waited};
    // A report comes every few seconds; between them the time of day is counted from the last one.
    if (camera_.reports && packet.taken - report_.first > 5 * second) report_ = {packet.taken, packet.source};
    if (camera_.reports) sample.capture_utc = report_.first + (packet.source - report_.second);
    if (source_.observe(sample)) ++corrections_;
    const auto time = line_.next(Timeline::Mapped{packet.source, source_.map(packet.source)}, 0);
    EXPECT_TRUE(frames_.empty() || time.pts > frames_.back().pts);
    frames_.push_back({packet.taken, time.pts, source_.lag(), source_.late()});
  }

  Camera camera_;
  std::mt19937 random_;
  SourceClock source_{true};
  Timeline line_;
  std::int64_t now_ = 1000 * second;
  std::int64_t next_ = 1000 * second;  // the next frame is taken
  std::int64_t clock_ = 77 * second;
  std::int64_t network_ = 0;  // the newest arrival
  std::int64_t reader_ = 0;   // not before
  std::int64_t read_ = 0;
  bool preview_ = false;
  std::vector<Packet> previewed_;
  std::pair<std::int64_t, std::int64_t> report_{-hour, 0};
  std::vector<Frame> frames_;
  int corrections_ = 0;
};

TEST(SourceClock, StallsAreCaughtUpWithoutACorrection) {
  for (const double lost : {0.0, 0.7, 1.0}) {
    Simulation camera({.jitter = 20 * ms, .probing = 400 * ms}, 1);
    camera.run(5 * second);
    for (int i = 0; i < 3; ++i) {
      camera.stall(8 * second, lost);
      camera.run(10 * second);
    }
    EXPECT_EQ(camera.corrections(), 0);
    EXPECT_LE(camera.error(100 * second), 50 * ms);
  }
}

TEST(SourceClock, AGapOfTheCameraStays) {
  for (const std::int64_t length : {300 * ms, 3 * second, 60 * second, 600 * second}) {
    Simulation camera({.jitter = 20 * ms}, 1);
    camera.run(5 * second);
    camera.gap(length);
    camera.run(20 * second);
    EXPECT_EQ(camera.corrections(), 0);
    EXPECT_LE(camera.error(1000 * second), 50 * ms);
  }
}

TEST(SourceClock, OverloadOfThisMachineLeavesTheTimesOfTheCamera) {
  Simulation camera({.jitter = 20 * ms}, 1);
  camera.run(5 * second);
  camera.overload(60 * second, 0.6);
  camera.run(60 * second);
  EXPECT_EQ(camera.corrections(), 0);
  EXPECT_LE(camera.error(200 * second), 50 * ms);
}

TEST(SourceClock, AClockThatStoodStillIsFollowedOnceNothingMoreComes) {
  for (const bool reports : {false, true}) {
    Simulation camera({.jitter = 20 * ms, .reports = reports}, 1);
    camera.run(15 * second);
    camera.stop_clock(7 * second);
    camera.run(15 * second);
    EXPECT_EQ(camera.corrections(), 1);
    EXPECT_LE(camera.error(5 * second), 50 * ms);
  }
}

// A network that becomes slower for good, by more than a second: only a camera that tells the time can show that.
TEST(SourceClock, ASlowNetworkIsNoClockWhereTheCameraTellsTheTime) {
  SourceClock clock(true);
  constexpr std::int64_t frame = 40 * ms;
  for (std::int64_t i = 0; i < 2000; ++i) {
    const std::int64_t late = i < 1000 ? 0 : 1500 * ms;
    EXPECT_FALSE(clock.observe({.source = i * frame,
                                .arrival = hour + i * frame + late,
                                .waited = frame,
                                .capture_utc = 99 * hour + i * frame}));
  }
  EXPECT_EQ(clock.map(0), 0);
  EXPECT_EQ(clock.lag(), 1500 * ms);
}

TEST(SourceClock, AReconnectionIsPlacedByWhatHasNotWaited) {
  for (const std::int64_t older : {std::int64_t{0}, 2 * second}) {
    Simulation camera({.jitter = 20 * ms, .probing = 700 * ms}, 1);
    camera.run(40 * second);
    camera.reconnect(5 * second, older);
    camera.run(5 * second);
    camera.reconnect(300 * ms, 0);
    camera.run(5 * second);
    EXPECT_EQ(camera.corrections(), 0);
    EXPECT_LE(camera.error(100 * second), 100 * ms);
  }
}

// A camera of one frame a second, whose stream takes five of them to be known.
TEST(SourceClock, WhatWaitedWhileItWasOpenedIsNotLate) {
  Simulation camera({.rate = 1, .jitter = 20 * ms, .probing = 5 * second}, 1);
  const auto largest = [&](auto member) {
    std::int64_t most = 0;
    for (const Simulation::Frame& frame : camera.frames()) most = std::max(most, frame.*member);
    return most;
  };
  camera.run(60 * second);
  camera.reconnect(10 * second, 0);
  camera.run(60 * second);
  EXPECT_GE(largest(&Simulation::Frame::lag), 4 * second);
  EXPECT_LE(largest(&Simulation::Frame::late), 200 * ms);
  camera.stall(8 * second);
  camera.run(10 * second);
  EXPECT_GE(largest(&Simulation::Frame::late), 7 * second);
}

// It has not caught up with what waited while it was opened.
TEST(SourceClock, AMachineThatWasTooSlowFromTheBeginningIsLate) {
  Simulation camera({.jitter = 20 * ms, .probing = 3 * second}, 1);
  camera.run(40 * second);
  camera.reconnect(5 * second, 0);
  camera.overload(20 * second, 0.5);
  EXPECT_GE(camera.frames().back().late, 8 * second);
}

TEST(SourceClock, DriftIsFollowed) {
  for (const double drift : {-100e-6, -50e-6, 50e-6, 100e-6}) {
    Simulation camera({.drift = drift, .jitter = 30 * ms}, 1);
    camera.run(6 * hour);
    EXPECT_EQ(camera.corrections(), 0);
    EXPECT_LE(camera.error(7 * hour), 60 * ms) << drift;
    EXPECT_NEAR(static_cast<double>(camera.source().drift()) / 1e9, drift * 6 * 3600, 0.1);
  }
}

// Cameras that stamp so many frames a second and send others, and clocks that run wrong.
TEST(SourceClock, AWrongRateStaysByTheArrivals) {
  for (const bool reports : {false, true}) {
    for (const double speed : {15.0 / 30, 25.0 / 30, 0.925, 0.95, 1.05, 1.075, 30.0 / 25, 30.0 / 15}) {
      Simulation camera({.drift = speed - 1, .jitter = 20 * ms, .reports = reports}, 1);
      camera.run(hour);
      // What ten seconds make of it, and sender reports five more; of one that is fast, the time in which it was
      // learnt.
      const double seconds = speed > 1 ? 30 : reports ? 18 : 13;
      const auto most = static_cast<std::int64_t>(std::abs(speed - 1) * seconds * 1e9) + 2 * bound;
      EXPECT_LE(camera.error(2 * hour), most) << speed << (reports ? " with reports" : "");
    }
  }
}

// Whose time of day is wrong in the same way.
TEST(SourceClock, ReportsThatSayThatAllIsWellAreBelievedForAMinuteOfLag) {
  SourceClock clock(true);
  constexpr std::int64_t frame = 40 * ms;
  for (std::int64_t i = 0; i < 25 * 1800; ++i) {
    const std::int64_t source = i * frame * 5 / 6;
    clock.observe({.source = source, .arrival = hour + i * frame, .waited = frame, .capture_utc = 99 * hour + source});
    ASSERT_LE(clock.lag(), 65 * second) << i;
  }
}

// A network that lets through half of what is sent, and then all that it held up.
TEST(SourceClock, ASlowNetworkIsCaughtUp) {
  for (const std::int64_t slow : {3 * second, 8 * second}) {
    SourceClock clock(true);
    std::int64_t arrival = 0;
    for (std::int64_t i = 0; i < 2500; ++i) {
      const std::int64_t taken = i * 40 * ms;
      const bool held_up = taken >= 20 * second && taken < 20 * second + slow / 2;
      // Behind that it comes only a little faster than it is sent.
      const std::int64_t before = std::exchange(arrival, std::max(taken, arrival + (held_up ? 80 : 30) * ms));
      EXPECT_FALSE(clock.observe({.source = taken, .arrival = arrival, .waited = arrival - before})) << i;
    }
    EXPECT_LE(clock.lag(), 50 * ms);
  }
}

TEST(SourceClock, AClockThatIsSetInsideABurstDoesNotMoveTheRest) {
  Simulation camera({.jitter = 20 * ms}, 1);
  camera.run(40 * second);
  camera.stall(4 * second);
  camera.set_clock(-hour);
  camera.run(10 * second);
  EXPECT_EQ(camera.corrections(), 1);
  EXPECT_LE(camera.error(5 * second), 100 * ms);
}

// Any pattern: with a quiet time after each event, every frame behind it lies within 200 ms of when it was taken. What
// is no fault of the camera's clock never moves a frame at all.
class AnyPattern : public testing::TestWithParam<unsigned> {};

TEST_P(AnyPattern, EndsWithinTheBound) {
  std::mt19937 random(GetParam());
  const auto between = [&](double low, double high) {
    return static_cast<std::int64_t>(std::uniform_real_distribution<double>(low, high)(random) * 1e9);
  };
  const auto pick = [&](int count) { return std::uniform_int_distribution<int>(0, count - 1)(random); };
  Camera kind;
  kind.rate = std::vector<double>{10, 15, 25, 30, 60}.at(pick(5));
  kind.drift = std::uniform_real_distribution<double>(-100e-6, 100e-6)(random);
  kind.jitter = between(0, 0.06);
  kind.reports = pick(2) == 1;
  kind.probing = between(0, 1);
  Simulation camera(kind, GetParam() + 1000);
  camera.run(40 * second);
  std::string history;
  for (int event = 0; event < 25; ++event) {
    const std::int64_t length = static_cast<std::int64_t>(std::pow(600.0, between(0, 1) / 1e9) * 0.1e9);  // 0.1 to 60 s
    const int which = pick(8);
    history += " " + std::to_string(which) + ":" + std::to_string(length / ms) + "ms";
    const int corrections = camera.corrections();
    const bool clock_is_right = which < 6;
    switch (which) {
      case 0:
        camera.stall(length);
        break;
      case 1:
        camera.stall(length, 0.8);
        break;
      case 2:
        camera.gap(length);
        break;
      case 3:
        camera.lose(length);
        camera.stall(between(0.1, 10));
        break;
      case 4:
        camera.reconnect(length, between(0, 2));
        break;
      case 5:
        camera.overload(length, 0.7);
        break;
      case 6:
        camera.stop_clock(length);
        break;
      default:
        camera.set_clock(pick(2) == 0 ? length : -between(0.3, 7200));
        break;
    }
    const std::int64_t quiet = between(15, 60) + (which == 5 ? length : 0);
    camera.run(quiet);
    const std::int64_t settling = clock_is_right ? 0 : 12 * second;
    ASSERT_LE(camera.error(quiet - settling), bound) << history;
    ASSERT_TRUE(!clock_is_right || camera.corrections() == corrections) << history;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, AnyPattern, testing::Range(0U, 60U));

}  // namespace CAMPIPE_FILE
}  // namespace campipe
