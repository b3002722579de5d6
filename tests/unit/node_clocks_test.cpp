// How far the clocks of other nodes are from this one's: the estimate, when it is a problem, and two nodes' servers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "app/publisher/server/nodes/clocks.h"
#include "app/publisher/server/nodes/peer_clock.h"
#include "core/clock_reading.h"
#include "tests/unit/node_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

constexpr std::int64_t us = 1'000;
constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t ahead = 3 * second;  // its UTC less this machine's monotonic time

// Asked at `sent`; `there` and `back`: how long the question and the answer took.
void ask(PeerClock& clock, std::int64_t sent, std::int64_t there, std::int64_t back, std::int64_t offset = ahead) {
  clock.answered(sent, sent + there + back, sent + there + offset);
}

TEST(PeerClock, IsKnownByTheShortestRoundTrip) {
  PeerClock clock;
  EXPECT_FALSE(clock.offset(0));
  ask(clock, 0, 40 * ms, 2 * ms);
  EXPECT_EQ(clock.offset(42 * ms)->value, ahead + 19 * ms);
  EXPECT_EQ(clock.offset(42 * ms)->bound, 21 * ms);
  ask(clock, second, 1 * ms, 3 * ms);
  EXPECT_EQ(clock.offset(second + 4 * ms)->value, ahead - 1 * ms);
  ask(clock, 2 * second, 5 * ms, 60 * ms);
  EXPECT_EQ(clock.offset(2 * second + 65 * ms)->value, ahead - 1 * ms) << "a longer one changes nothing";
}

TEST(PeerClock, IsWithinItsBoundHoweverTheWaysDiffer) {
  PeerClock clock;
  std::int64_t at = 0;
  for (int i = 0; i < 200; ++i) {
    const std::int64_t there = (i * 7919 % 97 + 1) * 100 * us;
    const std::int64_t back = (i * 104729 % 89 + 1) * 100 * us;
    const std::int64_t drifted = at / 20'000;  // 50 ppm
    ask(clock, at, there, back, ahead + drifted);
    at += 10 * second;
    const auto known = clock.offset(at);
    ASSERT_TRUE(known);
    EXPECT_LE(std::abs(known->value - (ahead + at / 20'000)), known->bound) << i;
    EXPECT_LT(known->bound, 15 * ms);
  }
}

TEST(PeerClock, ThatIsSetIsKnownAnewWithTheNextAnswer) {
  PeerClock clock;
  for (int i = 0; i < 5; ++i) ask(clock, i * 10 * second, 100 * us, 100 * us);
  ask(clock, 50 * second, 5 * ms, 5 * ms, ahead - second);
  EXPECT_EQ(clock.offset(50 * second + 10 * ms)->value, ahead - second);
}

TEST(PeerClock, IsForgottenWhenNoAnswerComes) {
  PeerClock clock;
  ask(clock, 0, ms, ms);
  EXPECT_TRUE(clock.offset(119 * second));
  EXPECT_FALSE(clock.offset(130 * second));
}

TEST(NodeClock, IsOffBeyondTheToleranceUntilItIsWellWithin) {
  EXPECT_FALSE(is_clock_off(10ms, 1ms, 10ms, false));
  EXPECT_FALSE(is_clock_off(-11ms, 2ms, 10ms, false)) << "it may be within";
  EXPECT_TRUE(is_clock_off(-13ms, 2ms, 10ms, false));
  EXPECT_TRUE(is_clock_off(8ms, 2ms, 10ms, true)) << "it does not flutter";
  EXPECT_FALSE(is_clock_off(7ms, 2ms, 10ms, true));
}

class TwoClocks : public testing::Test {
 protected:
  static json cluster(double tolerance_s = 1) {
    return {{"node", "east"},
            {"clock_tolerance_s", tolerance_s},
            {"nodes", {{"east", json::object()}, {"west", json::object()}}}};
  }
  // As it is shown when this machine's clock shows `off` more than it does.
  json clock_of_west(std::chrono::nanoseconds off, double tolerance_s = 1) {
    ClockReading now = read_clocks();
    now.utc += off.count();
    json shown = cluster(tolerance_s);
    clocks_.add_to(shown, now);
    EXPECT_FALSE(shown.at("nodes").at("east").contains("clock")) << "its own";
    return shown.at("nodes").at("west").value("clock", json());
  }
  bool is_known() {
    const Deadline deadline = Clock::now() + 30s;
    while (clock_of_west(0ns).is_null() && Clock::now() < deadline) clocks_.tick();
    return !clock_of_west(0ns).is_null();
  }

  NodeAuthority authority_;
  TestNode east_{"east", {node_user("ann", Permission::administer)}, {}, authority_.make("east", "IP:127.0.0.1")};
  TestNode west_{"west", {node_user("ann", Permission::administer)}, {}, authority_.make("west", "IP:127.0.0.1")};
  NodeClocks clocks_{east_.nodes()};
};

TEST_F(TwoClocks, AreComparedThroughTheDoor) {
  introduce(east_, west_, {});
  ASSERT_TRUE(is_known());
  const json same = clock_of_west(0ns);
  EXPECT_LE(std::abs(same.at("offset_s").get<double>()), same.at("bound_s").get<double>() + 0.001);
  EXPECT_FALSE(same.contains("problem"));
  const json behind = clock_of_west(3s);
  EXPECT_NEAR(behind.at("offset_s").get<double>(), -3, 0.1);
  EXPECT_THAT(behind.at("problem"), HasSubstr("behind that of node 'east', and 1 s are allowed: see that NTP runs"));
  EXPECT_TRUE(clock_of_west(800ms).contains("problem"));
  EXPECT_FALSE(clock_of_west(300ms).contains("problem"));
  EXPECT_THAT(clock_of_west(-3s, 0.01).at("problem"), HasSubstr("the clock of node 'west' is "));
  EXPECT_EQ(campipe::test::ask(west_.port(), "GET /clock", login_of("ann")).status, 404) << "for nodes only";
  introduce(east_, east_, {});
  clocks_.tick();
  EXPECT_TRUE(clock_of_west(0ns).is_null()) << "it is gone";
}

TEST(NodeClock, SaysNothingByWhatIsNoTime) {
  EXPECT_EQ(time_in({.status = 200, .body = R"({"utc_ns": 1790000000000000000, "more": 1})"}),
            1'790'000'000'000'000'000);
  for (const char* body : {"{}", "[1]", "x", "", R"({"utc_ns": -1})", R"({"utc_ns": "now"})", R"({"utc_ns": 1e18})",
                           R"({"utc_ns": 9223372036854775807})", R"({"utc_ns": 18446744073709551615})"}) {
    EXPECT_FALSE(time_in({.status = 200, .body = body})) << body;
  }
  EXPECT_FALSE(time_in({.status = 200, .body = R"({"utc_ns": 1, "more": )" + std::string(1'000'000, '[')}));
  EXPECT_FALSE(time_in({.status = 404, .body = R"({"utc_ns": 1})"})) << "a node of an earlier version";
  EXPECT_FALSE(time_in({.problem = "node 'west' does not answer"}));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
