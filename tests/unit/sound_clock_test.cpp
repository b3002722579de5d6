// Sound whose clock is another one than the video's, in virtual time: how far it lies off the video.
#include "app/source/sound_clock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "app/source/source_clock.h"
#include "app/source/track_clock.h"

namespace campipe {
namespace CAMPIPE_FILE {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1000 * ms;
constexpr std::int64_t hour = 3600 * second;
constexpr std::int64_t frame = 100 * ms;
constexpr std::int64_t packet = 20 * ms;

// A camera with both tracks, read as campipe does.
class Camera {
 public:
  explicit Camera(double sound_rate = 1) : sound(sound_rate) {}

  void run(std::int64_t time) {
    const std::int64_t until = now_ + time;
    for (; now_ < until; now_ += packet) {
      const std::int64_t passed = now_ - last_;
      last_ = now_;
      video_clock += static_cast<double>(passed) * video;
      sound_clock += static_cast<double>(passed) * sound;
      if (now_ % frame == 0) send_frame();
      send_sound();
    }
  }
  // What comes of it lies so far off the video, the largest and by its sign, since the last call.
  std::int64_t off() {
    const std::int64_t most = std::abs(least_off_) > std::abs(most_off_) ? least_off_ : most_off_;
    most_off_ = INT64_MIN;
    least_off_ = INT64_MAX;
    return most;
  }

  double video = 1;  // rates of the clocks
  double sound;
  double video_clock = 50e9;
  double sound_clock = 50e9;
  std::int64_t delay = 5 * ms;  // of the network
  SoundClock place;
  int left_out = 0;

 private:
  std::int64_t arrive() {
    const double noise = std::uniform_real_distribution<double>(0, 1)(random_);
    arrival_ = std::max(arrival_ + ms / 10, now_ + delay + static_cast<std::int64_t>(noise * noise * 30e6));
    return arrival_;
  }
  void observe(TrackClock& track, const TrackClock::Sample& sample) {
    if (track.observe(sample) && std::abs(track.rate() - 1) > 0.05) place.realign();
  }
  void send_frame() {
    const auto source = static_cast<std::int64_t>(video_clock);
    const std::int64_t arrival = arrive();
    observe(video_track_, {source, arrival, frame / 2});
    const std::int64_t at = video_track_.map(source);
    place.observe_video(at, arrival);
    timeline_.observe({.source = at, .arrival = arrival, .waited = frame / 2});
    video_error_ = timeline_.map(at) - now_;
  }
  void send_sound() {
    const auto source = static_cast<std::int64_t>(sound_clock);
    const std::int64_t arrival = arrive();
    observe(sound_track_, {source, arrival, packet / 2});
    const auto at = place.place(sound_track_.map(source), arrival, timeline_);
    if (!at) {
      ++left_out;
      return;
    }
    most_off_ = std::max(most_off_, *at - now_ - video_error_);
    least_off_ = std::min(least_off_, *at - now_ - video_error_);
  }

  std::mt19937 random_{1};
  std::int64_t now_ = 1000 * second;
  std::int64_t last_ = 1000 * second;
  std::int64_t arrival_ = 0;
  TrackClock video_track_{false};
  TrackClock sound_track_{false};
  SourceClock timeline_{true};
  std::int64_t video_error_ = 0;
  std::int64_t most_off_ = INT64_MIN;
  std::int64_t least_off_ = INT64_MAX;
};

TEST(SoundClock, StaysWithTheVideoForHoursWhateverItsClock) {
  for (const double rate : {0.97, 0.985, 0.9999, 1.0001, 1.015, 1.03}) {
    Camera camera(rate);
    camera.run(6 * hour);
    EXPECT_LE(std::abs(camera.off()), 200 * ms) << rate;
    EXPECT_EQ(camera.left_out, 0);
    EXPECT_EQ(camera.place.replaced(), 0) << rate;
  }
}

// As reports of the sender do that tell the tracks of a jump one after the other. What the tracks differ by meanwhile
// is nothing that they always do.
TEST(SoundClock, IsThereAfterJumpsThatTheVideoShowsBeforeTheSound) {
  Camera camera;
  camera.run(second);
  camera.video_clock += static_cast<double>(hour);
  camera.sound_clock += static_cast<double>(hour);
  camera.run(frame);
  camera.video_clock -= static_cast<double>(hour);
  camera.run(2500 * ms);
  camera.video_clock += static_cast<double>(12 * hour);
  camera.run(frame);
  camera.sound_clock -= static_cast<double>(hour);
  camera.run(2 * second);
  camera.off();
  camera.run(20 * second);
  EXPECT_LE(std::abs(camera.off()), 200 * ms);
  EXPECT_LE(camera.left_out, second / packet);
}

TEST(SoundClock, GoesByTheVideosClockWhereThatIsTheSame) {
  Camera camera;
  camera.run(hour);
  camera.delay += 1500 * ms;  // for good
  camera.run(60 * second);
  camera.video = camera.sound = 1.0001;
  camera.run(6 * hour);
  EXPECT_LE(std::abs(camera.place.moved()), 10 * ms);
}

TEST(SoundClock, IsPlacedByItsArrivalWhereItsClockIsSet) {
  for (const std::int64_t by : {hour, -hour, 800 * ms, -1500 * ms}) {
    Camera camera;
    camera.run(60 * second);
    camera.sound_clock += static_cast<double>(by);
    camera.run(10 * second);
    EXPECT_EQ(camera.left_out, 0);
    EXPECT_EQ(camera.place.replaced(), 1) << by;
    camera.off();
    camera.run(hour);
    EXPECT_LE(std::abs(camera.off()), 100 * ms) << by;
  }
}

TEST(SoundClock, IsPlacedByItsArrivalWhereItCountsFromElsewhere) {
  Camera camera;
  camera.sound_clock += 7200e9;
  camera.run(hour);
  EXPECT_EQ(camera.left_out, 0);
  EXPECT_LE(std::abs(camera.off()), 100 * ms);
}

// One of the tracks shows it first.
TEST(SoundClock, FollowsAClockOfBothThatIsSet) {
  for (const std::int64_t by : {hour, -hour, 5 * second}) {
    Camera camera;
    camera.run(60 * second);
    camera.sound_clock += static_cast<double>(by);
    camera.run(3 * packet);
    camera.video_clock += static_cast<double>(by);
    camera.run(10 * second);
    EXPECT_EQ(camera.left_out, 0);
    camera.off();
    camera.run(hour);
    EXPECT_LE(std::abs(camera.off()), 100 * ms) << by;
  }
}

// The video is by the arrivals soon, and the sound stays with it.
TEST(SoundClock, StaysWithAVideoWhoseClockRunsWrong) {
  for (const double rate : {0.0, 0.5, 0.9, 1.2, 2.0}) {
    Camera camera;
    camera.video = rate;
    camera.run(20 * second);
    camera.off();
    camera.run(hour);
    EXPECT_LE(std::abs(camera.off()), 200 * ms) << rate;
    EXPECT_EQ(camera.left_out, 0);
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
