// Members of a synchronised group with simulated cameras: numbers, page and gate together, each member on a thread of
// its own, as fast as they go. Members are killed in the middle of what they do, and have successors; cameras jitter,
// drift, lose frames and go away. What all of them encode is compared.
#include "app/worker/group_gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "app/control/messages/node_parts.h"
#include "app/control/messages/run_node.h"
#include "app/master/set_numbering.h"
#include "app/rings/group_clock.h"
#include "core/clock.h"
#include "ipc/counter_table.h"
#include "ipc/drop_causes.h"
#include "ipc/encode_block.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t utc = 1'800'000'000 * second;
constexpr double rate = 30;
constexpr int last_frames = 10;

struct Killed {};

// The packets of one member, of all workers that it had.
struct Encoded {
  std::vector<std::uint64_t> sets;
  std::vector<std::int64_t> times;  // pts
  std::uint64_t repeated = 0;
  std::map<DropCause, int> dropped;
};

// A frame carries the set for which it came in its width.
class FakeEncoder final : public GroupGate::Stream {
 public:
  FakeEncoder(Encoded& out, double deaths, unsigned seed) : out_(out), deaths_(deaths), random_(seed) {}

  bool takes(const FrameRef& /*frame*/) const override { return true; }
  void encode(const FrameRef& /*frame*/, const FrameTimes& times, std::uint64_t /*number*/) override {
    die_now_and_then();
    out_.sets.push_back(times.set);
    out_.times.push_back(times.pts);
    die_now_and_then();
  }
  void drop(DropCause cause) override { ++out_.dropped[cause]; }
  // Its worker is killed.
  void die_now_and_then() {
    if (std::uniform_real_distribution(0.0, 1.0)(random_) < deaths_) throw Killed();
  }
  void die_no_more() { deaths_ = 0; }

 private:
  Encoded& out_;
  double deaths_;
  std::mt19937 random_;
};

struct CameraSpec {
  double phase = 0;       // in sets
  double jitter = 0;      // likewise, to both sides
  double drift = 0;       // its clock is slower by this part
  double lost = 0;        // part of its frames
  int away_from = 0;      // frame; no frame comes
  int away_until = 0;     // until this one
  double deaths = 0;      // of its worker, for each step
  int moves_each = 0;     // frames: its work goes over to another worker; 0: never
  std::int64_t step = 0;  // of its clock, in the middle
};

struct Group {
  GroupConfig config{"g", rate, 10ms, 20ms, OnMissing::repeat};
  int frames = 1000;
  std::vector<CameraSpec> cameras;
};

struct Worker {
  Worker(const Group& group, std::shared_ptr<GroupPage> page, Encoded& out, unsigned place, double deaths,
         unsigned seed, bool takes_over = false)
      : encoder(out, deaths, seed) {
    events.beat = [this] { encoder.die_now_and_then(); };
    events.abandoned = [] { return false; };
    output.config.name = "member " + std::to_string(place);
    output.config.group = group.config;
    output.seat = messages::GroupSeat{place, true, std::nullopt};
    if (!out.sets.empty()) output.seat->after = messages::NewestSet{out.sets.back(), out.times.back()};
    output.waits = takes_over;
    gate.emplace(output, std::move(page), *block, events, encoder);
  }
  messages::EncodedOutput output;
  OutputEvents events;
  FakeEncoder encoder;
  std::unique_ptr<EncodeBlock> block = std::make_unique<EncodeBlock>();
  std::optional<GroupGate> gate;
};

class Rig {
 public:
  explicit Rig(const Group& group)
      : group_(group),
        page_(GroupPage::create({group.config.on_missing, group.config.max_wait})),
        encoded_(group.cameras.size()) {
    for (std::size_t i = 0; i < encoded_.size(); ++i) page_->add(static_cast<unsigned>(i));
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < encoded_.size(); ++i) threads.emplace_back([this, i] { run(i); });
  }

  [[nodiscard]] const std::vector<Encoded>& encoded() const { return encoded_; }
  [[nodiscard]] int deaths() const { return deaths_; }
  [[nodiscard]] std::int64_t slips() const { return slips_; }

 private:
  void run(std::size_t index) {
    const CameraSpec& spec = group_.cameras[index];
    const auto place = static_cast<unsigned>(index);
    std::mt19937 random(static_cast<unsigned>(index) + 1);
    std::uniform_real_distribution<double> part(0, 1);
    SetNumbering numbering(rate);
    unsigned seed = 100 * (place + 1);
    auto worker = std::make_unique<Worker>(group_, page_, encoded_[index], place, spec.deaths, seed);
    const auto guarded = [&](const auto& work) {
      try {
        work(*worker->gate);
      } catch (const Killed&) {  // the supervisor finds it dead, and starts another
        ++deaths_;
        encoded_[index].repeated += worker->block->counters.of(Counter::repeated);
        page_->remove(place);
        std::this_thread::yield();
        page_->add(place);
        worker = std::make_unique<Worker>(group_, page_, encoded_[index], place, spec.deaths, ++seed);
      }
    };
    for (int i = 0; i < group_.frames; ++i) {
      // Whose worker dies after its last frame has nothing to make up with.
      if (i == group_.frames - last_frames) worker->encoder.die_no_more();
      if (spec.moves_each > 0 && i % spec.moves_each == spec.moves_each - 1) {
        // The other one is there for a while, and the first one goes on; some are cancelled.
        auto other = std::make_unique<Worker>(group_, page_, encoded_[index], place, spec.deaths, ++seed, true);
        other->gate->follow();
        if (++moves_begun_ % 3 == 0) {
          other->gate->finish();
        } else {
          worker->gate->hand_over();
          worker->gate->finish();
          encoded_[index].repeated += worker->block->counters.of(Counter::repeated);
          worker = std::move(other);
          worker->gate->follow();
          const Encoded& out = encoded_[index];
          worker->gate->go_on(out.sets.empty() ? std::nullopt
                                               : std::optional(messages::NewestSet{out.sets.back(), out.times.back()}));
        }
      }
      if (i >= spec.away_from && i < spec.away_until) {
        wait_until_others_pass(index, i);
        guarded([](GroupGate& gate) { gate.follow(); });
        continue;
      }
      newest_[index] = i;
      const double at = (i + spec.phase) * (1 + spec.drift) + spec.jitter * (2 * part(random) - 1);
      FrameTimes times;
      times.pts = static_cast<std::int64_t>(at / rate * 1e9);
      times.media_time = utc + times.pts + (i > group_.frames / 2 ? spec.step : 0);
      times.published = now_ns();
      const auto number = numbering.number_of(times.media_time);
      if (!number || part(random) < spec.lost) continue;
      times.set = static_cast<std::uint64_t>(*number);
      times.set_state = SetState::own;
      guarded([&](GroupGate& gate) { gate.take({}, times, static_cast<std::uint64_t>(i)); });
      wait_for_others(index, i);
    }
    // Who leaves while others still have frames does what they decide within a time.
    wait_until_others_pass(index, group_.frames);
    newest_[index] = group_.frames + 1000;
    worker->gate->finish();
    encoded_[index].repeated += worker->block->counters.of(Counter::repeated);
    slips_ += static_cast<std::int64_t>(numbering.slips());
    page_->remove(place);
  }

  // No camera is more than some frames ahead of the slowest: they have one time.
  void wait_for_others(std::size_t index, int frame) {
    while (slowest_but(index) < frame - 20) std::this_thread::yield();
  }
  void wait_until_others_pass(std::size_t index, int frame) {
    newest_[index] = frame;
    while (slowest_but(index) < frame) std::this_thread::yield();
  }
  [[nodiscard]] int slowest_but(std::size_t index) const {
    int slowest = group_.frames + 1000;
    for (std::size_t i = 0; i < encoded_.size(); ++i) {
      if (i != index) slowest = std::min(slowest, newest_[i].load());
    }
    return slowest;
  }

  Group group_;
  std::shared_ptr<GroupPage> page_;
  std::vector<Encoded> encoded_;
  std::array<std::atomic<int>, GroupPage::max_members> newest_{};  // frame of each camera
  std::atomic<int> deaths_{0};
  std::atomic<int> moves_begun_{0};
  std::atomic<std::int64_t> slips_{0};
};

// The same sets, and the same distances between them; sets grow.
void expect_in_step(const std::vector<Encoded>& all) {
  const Encoded& first = all.at(0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE("member " + std::to_string(i));
    ASSERT_FALSE(all[i].sets.empty());
    EXPECT_TRUE(std::ranges::is_sorted(all[i].sets, std::less_equal())) << "a set came twice, or too late";
    const auto [own, others] = std::ranges::mismatch(all[i].sets, first.sets);
    const bool is_same = own == all[i].sets.end() && others == first.sets.end();
    ASSERT_TRUE(is_same) << "its sets are " << all[i].sets.front() << " to " << all[i].sets.back()
                         << ", those of member 0 " << first.sets.front() << " to " << first.sets.back()
                         << "; the first difference is the " << own - all[i].sets.begin()
                         << "th: " << (own == all[i].sets.end() ? "none" : std::to_string(*own)) << " and "
                         << (others == first.sets.end() ? "none" : std::to_string(*others));
    for (std::size_t n = 0; n < first.times.size(); ++n) {
      ASSERT_NEAR(static_cast<double>(all[i].times[n] - all[i].times[0]),
                  static_cast<double>(first.times[n] - first.times[0]), 1)
          << n;
    }
  }
}

TEST(GroupGate, EncodesTheSameSetsHalfwayBetweenThemWithJitterAndDrift) {
  Group group;
  group.frames = 5000;
  group.cameras = {{.phase = 0.5, .jitter = 0.015}, {.phase = 0, .jitter = 0.5}, {.phase = 0.5, .drift = 50e-6}};
  const Rig rig(group);
  expect_in_step(rig.encoded());
  EXPECT_NEAR(static_cast<double>(rig.encoded()[0].sets.size()), 5000, 10);
}

TEST(GroupGate, EncodesTheSameSetsWhereFramesAreLost) {
  for (const OnMissing on_missing : {OnMissing::repeat, OnMissing::drop, OnMissing::wait}) {
    Group group;
    group.config.on_missing = on_missing;
    group.cameras = {{.lost = 0.05}, {.phase = 0.3, .lost = 0.1}, {.phase = 0.6}};
    const Rig rig(group);
    expect_in_step(rig.encoded());
    const std::size_t sets = rig.encoded()[0].sets.size();
    if (on_missing == OnMissing::drop) {
      EXPECT_LT(sets, 900U);
      EXPECT_GT(rig.encoded()[2].dropped.at(DropCause::set_incomplete), 50);
      for (const Encoded& member : rig.encoded()) EXPECT_LE(member.repeated, 3U) << "but for the end";
    } else {
      EXPECT_GE(sets, 999U);
      EXPECT_GT(rig.encoded()[0].repeated, 20U);
      EXPECT_GT(rig.encoded()[1].repeated, 50U);
    }
  }
}

// No set is made up for that was not missing, and nobody waits for one that has gone.
TEST(GroupGate, GoesOverToAnotherWorkerWithoutABrokenSet) {
  for (const OnMissing on_missing : {OnMissing::repeat, OnMissing::drop, OnMissing::wait}) {
    Group group;
    group.config.on_missing = on_missing;
    group.config.max_wait = 2s;
    group.cameras = {{.moves_each = 7}, {.phase = 0.3, .moves_each = 13}, {.phase = 0.4}};
    const Rig rig(group);
    expect_in_step(rig.encoded());
    for (const Encoded& member : rig.encoded()) {
      EXPECT_GE(member.sets.size(), 999U);
      EXPECT_LE(member.repeated, 1U) << "but for the end";
      EXPECT_TRUE(member.dropped.empty());
    }
  }
}

TEST(GroupGate, GoesOverWhereFramesAreLost) {
  Group group;
  group.cameras = {{.lost = 0.05, .moves_each = 11}, {.phase = 0.3, .lost = 0.1, .moves_each = 10}, {.phase = 0.4}};
  const Rig rig(group);
  expect_in_step(rig.encoded());
  EXPECT_GE(rig.encoded()[0].sets.size(), 999U);
}

TEST(GroupGate, FollowsTheOthersWhileItsCameraIsAway) {
  Group group;
  group.cameras = {{}, {.phase = 0.4, .away_from = 300, .away_until = 500}};
  const Rig rig(group);
  expect_in_step(rig.encoded());
  EXPECT_GE(rig.encoded()[1].repeated, 190U);
  EXPECT_GE(rig.encoded()[0].sets.size(), 999U);
}

TEST(GroupGate, MakesUpForWhatWasDecidedWhileItWasDead) {
  for (const OnMissing on_missing : {OnMissing::repeat, OnMissing::drop, OnMissing::wait}) {
    Group group;
    group.config.on_missing = on_missing;
    group.frames = 5000;
    group.cameras = {{.jitter = 0.02, .deaths = 0.001},
                     {.phase = 0.5, .jitter = 0.02, .drift = 50e-6, .deaths = 0.002},
                     {.phase = 0.25, .jitter = 0.4, .lost = 0.01, .deaths = 0.001}};
    const Rig rig(group);
    EXPECT_GT(rig.deaths(), 20);
    expect_in_step(rig.encoded());
  }
}

TEST(GroupGate, GoesOnWhereAClockIsSet) {
  for (const std::int64_t step : {-second / 3, second / 3}) {
    Group group;
    group.frames = 5000;
    group.cameras = {{}, {.phase = 0.5, .step = step}};
    const Rig rig(group);
    expect_in_step(rig.encoded());
  }
}

// A frame of `set` that has been published just now, and came from the camera that long ago.
FrameTimes times_of(std::uint64_t set, std::chrono::nanoseconds age) {
  FrameTimes times;
  times.set = set;
  times.media_time = static_cast<std::int64_t>(set) * second / 30;
  times.published = now_ns();
  times.arrival = age > 0ns ? times.published - age.count() : 0;
  return times;
}

// Two members of which the first one decides all sets up to this one, while the other one has encoded set 1000.
class FarBehind : public testing::Test {
 protected:
  explicit FarBehind() {
    page_->add(0);
    page_->add(1);
  }

  // The other one's frame.
  void come(std::chrono::nanoseconds age) {
    arrive(1000, 1h);
    worker_.gate->take({}, times_of(1000, age), 1);
  }
  void decide_up_to(std::uint64_t set) {
    for (std::uint64_t at = 1001; at <= set; ++at) {
      arrive(at, 0s);
      ASSERT_EQ(first_.wait(Clock::now()), SetOutcome::encode);
    }
  }
  SetOutcome arrive(std::uint64_t set, std::chrono::nanoseconds waits) {
    return first_.arrive(set, static_cast<std::int64_t>(set) * second / 30, Clock::now() + waits);
  }

  const Group group_{.config = {"g", rate, 10ms, 1h, OnMissing::repeat}, .frames = 0, .cameras = {}};
  const std::shared_ptr<GroupPage> page_ = GroupPage::create({OnMissing::repeat, 1h});
  GroupMember first_{page_, 0};
  Encoded encoded_;
  Worker worker_{group_, page_, encoded_, 1, 0, 1};
};

// What waited for a slow worker in the rings is published late, and the others may be so much further.
TEST_F(FarBehind, AMemberGoesOnWithTheOthers) {
  come(20s);
  decide_up_to(1600);
  worker_.gate->follow();
  EXPECT_EQ(encoded_.sets.back(), 1600U);
  EXPECT_EQ(arrive(1601, 1h), SetOutcome::open) << "the other one is waited for";
}

TEST_F(FarBehind, AMemberThatCannotBeSoIsWaitedForByNobody) {
  come(0s);
  decide_up_to(1600);
  worker_.gate->follow();
  EXPECT_EQ(encoded_.sets.back(), 1000U) << "it goes on alone";
  EXPECT_EQ(arrive(1601, 1h), SetOutcome::encode);
}

// ---- what is of the present

TEST(GroupClock, RefusesFramesFarFromThePresent) {
  GroupClock clock({"g", rate, 10ms, 200ms, OnMissing::repeat});
  const std::int64_t offset = clock.utc_offset(utc, 0);
  EXPECT_EQ(offset, utc);
  EXPECT_EQ(clock.off(utc + 10 * second, 10 * second, offset), 0);
  EXPECT_EQ(clock.off(utc + 9 * second + second / 2, 10 * second, offset), 0);
  EXPECT_EQ(clock.off(utc + 15 * second, 10 * second, offset), 5 * second);
  EXPECT_EQ(clock.off(utc + 5 * second, 10 * second, offset), -5 * second);
}

TEST(GroupClock, IsNotMovedByAClockThatIsSet) {
  GroupClock clock({"g", rate, 10ms, 200ms, OnMissing::repeat});
  clock.utc_offset(utc, 0);
  const std::int64_t after = clock.utc_offset(utc + 3600 * second, second);
  EXPECT_LE(after - utc, second / 100);
  EXPECT_EQ(clock.off(utc + 2 * second, 2 * second, after), 0);
}

// A wrong present is not kept for good: nobody is of it.
TEST(GroupClock, IsTakenAnewWhereNoMemberIsOfIt) {
  GroupClock clock({"g", rate, 10ms, 200ms, OnMissing::repeat});
  const auto time = [](std::int64_t at) { return utc + 2 * second + at; };  // of both cameras
  clock.utc_offset(utc, 0);
  for (std::int64_t at = second / 10; at < 5 * second; at += second / 10)
    EXPECT_NE(clock.off(time(at), at, clock.follow(time(at), CaptureClock::camera, at)), 0) << at;
  const std::int64_t at = 6 * second;
  EXPECT_EQ(clock.off(time(at), at, clock.follow(time(at), CaptureClock::camera, at)), 0);
  EXPECT_EQ(clock.off(time(at), at, clock.follow(time(at), CaptureClock::camera, at)), 0);
}

TEST(GroupClock, GoesByTheCamerasClocksWhereTheySendThem) {
  GroupClock clock({"g", rate, 10ms, 200ms, OnMissing::repeat});
  clock.utc_offset(utc, 0);
  EXPECT_EQ(clock.follow(utc + second - second / 10, CaptureClock::camera, second), utc);
  EXPECT_EQ(clock.utc_offset(utc, second), utc - second / 10);
}

TEST(GroupClock, KeepsFilesTogether) {
  GroupClock clock({"g", rate, 10ms, 200ms, OnMissing::repeat});
  const CameraId a(0);
  const CameraId b(1);
  Clock::time_point now{};
  EXPECT_EQ(clock.ahead(a, 10, now), 0);
  EXPECT_EQ(clock.ahead(b, 0, now), 0);
  EXPECT_EQ(clock.ahead(a, 128, now), 0);
  EXPECT_EQ(clock.ahead(a, 1128, now), 1000);
  EXPECT_EQ(clock.ahead(b, 1100, now), 0);
  EXPECT_EQ(clock.ahead(a, 1130, now), 0) << "all have leapt";
  EXPECT_EQ(clock.ahead(a, 9000, now + 2s), 0) << "the other one has ended";
}

TEST(GroupClock, MovesAFileThatBeginsLaterToThePresent) {
  GroupClock clock({"g", rate, 10ms, 200ms, OnMissing::repeat});
  const CameraId a(0);
  const CameraId b(1);
  Clock::time_point now{};
  const auto set_at = [](double seconds) { return std::llround(seconds * rate); };
  EXPECT_EQ(clock.age(now), 0s) << "it has not begun";
  clock.ahead(a, 0, now);
  EXPECT_EQ(clock.age(now + 1s), 1s);
  EXPECT_EQ(clock.moved(b, 0, 1s, now + 1s), 0) << "they begin together";
  EXPECT_EQ(clock.moved(b, 0, 1s, now + 5s), 0) << "however late its first frame comes";
  clock.ahead(a, set_at(60), now + 60s);
  EXPECT_EQ(clock.moved(b, 0, 60s, now + 60s), 60 * second);
  EXPECT_EQ(clock.moved(b, 90 * second, 60s, now + 60s), -30 * second) << "its times begin later";
  EXPECT_EQ(clock.moved(a, 0, 60s, now + 60s), 0) << "there is no other one";
  EXPECT_EQ(clock.moved(b, 0, 60s, now + 63s), 60 * second) << "the other one is away for a moment";
  EXPECT_EQ(clock.moved(b, 0, 60s, now + 70s), 0) << "nor has the other one come lately";
}

// The others go on where a process before was: the group is as old as their sets take.
TEST(GroupClock, IsAsOldAsTheSetsOfThoseThatGoOn) {
  const CameraId a(0);
  const CameraId b(1);
  const Clock::time_point now = Clock::now();
  GroupClock old({"g", rate, 10ms, 200ms, OnMissing::repeat});
  old.ahead(a, 8 * std::llround(rate), now);
  EXPECT_EQ(old.age(now), 8s);
  EXPECT_FALSE(GroupClock::begins_together(old.age(now)));
  EXPECT_EQ(old.moved(b, 0, old.age(now), now), 8 * second);
  GroupClock young({"g", rate, 10ms, 200ms, OnMissing::repeat});
  young.ahead(a, std::llround(rate), now);
  EXPECT_TRUE(GroupClock::begins_together(young.age(now)));
}

TEST(GroupClock, TellsHowFarAFileIsBehind) {
  GroupClock clock({"g", rate, 10ms, 200ms, OnMissing::repeat});
  const CameraId a(0);
  const CameraId b(1);
  Clock::time_point now{};
  clock.ahead(b, 30, now);
  EXPECT_EQ(clock.lag(b, 30, now), std::nullopt) << "there is no other one";
  const auto twice = 2 * std::llround(rate);
  clock.ahead(a, 30 + twice, now);
  EXPECT_EQ(clock.lag(b, 30, now), 2s);
  EXPECT_EQ(clock.lag(a, 30 + twice, now), -2s);
  EXPECT_EQ(clock.lag(b, 30, now + 100ms), 2100ms) << "the other one goes on";
  EXPECT_EQ(clock.lag(b, 30, now + 2s), std::nullopt) << "the other one has not come lately";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
