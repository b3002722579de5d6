// Pushes of a node of a cluster: none without a permit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stages/sinks/pusher.h"
#include "tests/unit/push_test_support.h"

// A configuration here names only what it is about.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using test::Camera;
using test::Clip;
using test::DatagramReceiver;
using test::eventually;
using test::make_clip;
using testing::HasSubstr;

// Tries again soon; the test's peers answer at once or not at all.
constexpr PushPatience soon{.call = 20s, .first_wait = 100ms, .longest_wait = 200ms};

std::string url_of(const std::string& scheme, int port, const std::string& rest) {
  return scheme + "://127.0.0.1:" + std::to_string(port) + rest;
}

class PushPermits : public testing::Test {
 protected:
  test::States states_;
};

// As in a cluster, where another node may push once the permit is over.
TEST_F(PushPermits, SendNothingWithoutAPermit) {
  const Clip clip = make_clip(50);
  DatagramReceiver receiver;
  std::atomic<std::int64_t> until{0};
  std::atomic<std::uint32_t> open{0};
  Pusher pusher({url_of("udp", receiver.port(), "")}, states_.handler(), soon, {&until, &open});
  Camera camera(pusher, clip);
  ASSERT_TRUE(eventually([&] { return pusher.counts().dropped > 10; }));
  EXPECT_EQ(pusher.counts().sent, 0U);
  EXPECT_EQ(pusher.counts().connects, 0U);
  EXPECT_EQ(open, 0U);

  until = INT64_MAX;
  ASSERT_TRUE(states_.wait(PushState::connected));
  EXPECT_EQ(open, 1U);
  ASSERT_TRUE(eventually([&] { return pusher.counts().sent > 10; }));
  until = 0;
  ASSERT_TRUE(eventually([&] { return open == 0; }));
  const std::uint64_t sent = pusher.counts().sent;
  ASSERT_TRUE(states_.wait(PushState::failed));
  EXPECT_THAT(states_.told().back().reason, HasSubstr("it may not push now"));
  const std::uint64_t dropped = pusher.counts().dropped;
  ASSERT_TRUE(eventually([&] { return pusher.counts().dropped > dropped + 10; }));
  EXPECT_EQ(pusher.counts().sent, sent);

  until = now_ns() + 500 * test::ms;
  ASSERT_TRUE(states_.wait(PushState::connected, 2)) << "with a permit it begins anew";
  ASSERT_TRUE(states_.wait(PushState::failed, 2)) << "which ends by itself";
}

// Nor does a target that takes a connection, and then answers nothing, keep it.
TEST_F(PushPermits, CutOffWhatWaitsForTheTarget) {
  const Clip clip = make_clip(10);
  const UniqueFd silent = test::bind_any(SOCK_STREAM);
  ASSERT_EQ(::listen(silent.get(), 1), 0);
  std::atomic<std::int64_t> until{INT64_MAX};
  std::atomic<std::uint32_t> open{0};
  PushPatience patience = soon;
  patience.call = 1h;  // whoever waited for it would not end in time
  Pusher pusher({url_of("rtsp", test::port_of(silent.get()), "/dock")}, states_.handler(), patience, {&until, &open});
  Camera camera(pusher, clip);
  pollfd connected{silent.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&connected, 1, 40'000), 1);
  ASSERT_EQ(open, 1U);
  until = 0;
  EXPECT_TRUE(eventually([&] { return open == 0; }));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
