// A link between two rings: frames arrive as they were, it holds up or drops as a ring does, and all are counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "app/link/peer_wire.h"
#include "core/error.h"
#include "tests/unit/cpu_waits.h"
#include "tests/unit/fake_link_end.h"
#include "tests/unit/link_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

struct Form {
  const char* name;
  Carrier carrier;
  bool sender_listens;
  friend std::ostream& operator<<(std::ostream& out, const Form& of) { return out << of.name; }
};

class Link : public testing::TestWithParam<Form> {
 protected:
  void SetUp() override {
    if (const std::string why = why_not(GetParam().carrier); !why.empty()) GTEST_SKIP() << why;
  }
  void begin(DropPolicy policy) {
    auto [listening, connecting] = wire_pair(GetParam().carrier);
    if (GetParam().sender_listens) std::swap(listening, connecting);
    far_ = std::make_unique<FarSide>(std::move(listening), policy);
    near_ = std::make_unique<NearSide>(std::move(connecting), policy);
  }
  // All frames that were sent are there, and all rings are over.
  void finish() {
    near_->finish();
    ASSERT_TRUE(eventually([this] { return far_->ended() && far_->rings_ended() == far_->rings(); }));
  }

  std::unique_ptr<FarSide> far_;
  std::unique_ptr<NearSide> near_;
};

std::vector<std::uint64_t> counting(std::uint64_t last) {
  std::vector<std::uint64_t> numbers(last);
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{1});
  return numbers;
}

TEST_P(Link, HasFramesArriveAsTheyWere) {
  begin(DropPolicy::block);
  near_->write(100);
  near_->add_ring();
  near_->write(100);
  finish();
  EXPECT_EQ(far_->numbers(), counting(200));
  EXPECT_EQ(far_->damaged(), 0U);
  EXPECT_EQ(far_->rings(), 2U);
  EXPECT_EQ(near_->counts().lost, 0U);
  EXPECT_EQ(near_->counts().delivered, 200U);
  expect_balanced(*near_, *far_);
  EXPECT_GE(far_->age(), 7'000'000) << "a frame is as old as it was, and what it took on the way";
  EXPECT_TRUE(near_->is_free());
}

TEST_P(Link, WhereItBlocksItsWriterWaitsForTheLastReader) {
  begin(DropPolicy::block);
  near_->write(1);
  ASSERT_TRUE(eventually([this] { return far_->read() == 1; }));
  far_->shut_gate();
  // As many as wait at both ends and between them; a reader that waits at its gate may have let one through.
  int written = 2 * static_cast<int>(link_queue);
  near_->write(written);
  while (written < 100 && near_->write(milliseconds(300))) ++written;
  EXPECT_LE(written, static_cast<int>(2 * link_queue + link_window + 2));
  far_->open_gate();
  near_->write(20);
  finish();
  EXPECT_EQ(far_->numbers(), counting(near_->written()));
  EXPECT_EQ(near_->counts().lost, 0U);
  expect_balanced(*near_, *far_);
}

TEST_P(Link, WhereItDropsItsWriterNeverWaits) {
  begin(DropPolicy::drop);
  near_->write(1);
  ASSERT_TRUE(eventually([this] { return far_->read() == 1; }));
  far_->shut_gate();
  const Stopwatch watch;
  near_->write(40);
  EXPECT_LT(watch.elapsed(), seconds(1));
  far_->open_gate();
  ASSERT_TRUE(eventually([this] { return !far_->numbers().empty() && far_->numbers().back() == 41; }));
  finish();
  EXPECT_EQ(near_->counts().taken + near_->recalled(), near_->written()) << "too many are dropped where they come from";
  EXPECT_GT(near_->recalled(), 0U);
  EXPECT_EQ(near_->counts().lost, 0U);
  EXPECT_TRUE(std::ranges::is_sorted(far_->numbers()));
  expect_balanced(*near_, *far_);
}

INSTANTIATE_TEST_SUITE_P(Forms, Link,
                         testing::Values(Form{"ZeroMq", Carrier::zeromq, false},
                                         Form{"ZeroMqSenderListens", Carrier::zeromq, true},
                                         Form{"Encrypted", Carrier::encrypted, false},
                                         Form{"EncryptedSenderListens", Carrier::encrypted, true},
                                         Form{"Ucx", Carrier::ucx, false},
                                         Form{"UcxSenderListens", Carrier::ucx, true}),
                         [](const auto& of) { return of.param.name; });

TEST(RingRate, AllowsSoManyInAnySecond) {
  RingRate rate;
  const Clock::time_point begin = Clock::now();
  // Half of them at once, the others half a second later.
  for (std::size_t ring = 0; ring < RingRate::most; ++ring)
    EXPECT_TRUE(rate.allows(begin + (ring < RingRate::most / 2 ? milliseconds(0) : milliseconds(500))));
  EXPECT_FALSE(rate.allows(begin + milliseconds(999)));
  for (std::size_t ring = 0; ring < RingRate::most / 2; ++ring) EXPECT_TRUE(rate.allows(begin + milliseconds(1001)));
  EXPECT_FALSE(rate.allows(begin + milliseconds(1002)));
  EXPECT_TRUE(rate.allows(begin + milliseconds(1500)));
}

TEST(LinkAlone, LosesWhatThereIsNobodyToSendTo) {
  auto listening = listening_wire();
  const std::string address = listening->address();
  NearSide near(std::move(listening), DropPolicy::block, {}, milliseconds(10));
  near.write(30);
  ASSERT_TRUE(eventually([&near] { return near.counts().lost == near.written(); }));
  EXPECT_TRUE(near.is_free());

  FarSide far(connecting_wire(address), DropPolicy::block);
  ASSERT_TRUE(eventually([&far] { return far.rings() == 1; }));
  near.write(10);
  near.finish();
  ASSERT_TRUE(eventually([&far] { return far.ended() && far.rings_ended() == 1; }));
  EXPECT_EQ(far.read(), 10U);
  EXPECT_EQ(far.damaged(), 0U);
  EXPECT_EQ(far.counts().lost, 30U) << "which the other end has heard";
  EXPECT_EQ(near.unsent(), 30U);
  expect_balanced(near, far);
}

TEST(LinkAlone, WithAnotherKeyNobodyComesIn) {
  auto ours = make_link_keys();
  auto theirs = make_link_keys();
  const auto strangers = make_link_keys();
  ours.peer = theirs.public_key;
  theirs.peer = ours.public_key;
  auto strange = strangers;
  strange.peer = ours.public_key;
  auto listening = listening_wire(ours);
  const std::string address = listening->address();
  FarSide far(std::move(listening), DropPolicy::block);
  {
    NearSide near(connecting_wire(address, strange), DropPolicy::block, {}, milliseconds(300));
    near.write(10);
    EXPECT_TRUE(eventually([&near] { return near.counts().lost == 10; }));
    NearSide open(connecting_wire(address), DropPolicy::block, {}, milliseconds(300));
    open.write(10);
    EXPECT_TRUE(eventually([&open] { return open.counts().lost == 10; }));
  }
  EXPECT_EQ(far.counts().connections, 0U);
  NearSide near(connecting_wire(address, theirs), DropPolicy::block);
  near.write(10);
  near.finish();
  EXPECT_EQ(near.counts().delivered, 10U);
}

class NoInbox final : public LinkWire::Inbox {
 public:
  std::span<std::uint8_t> place(LinkWire::Peer, LinkWire::Bytes, std::size_t) override { return {}; }
};

// What an end that connects says while the peer answers its greeting so, three times for each.
std::string log_of_refusals(const std::vector<link::Bye::Reason>& answers) {
  std::ostringstream log;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log)));
  {
    auto listening = listening_wire();
    const std::string address = listening->address();
    FakeLinkEnd peer(std::move(listening));
    const NearSide near(connecting_wire(address), DropPolicy::block,
                        {.shortest_pause = milliseconds(1), .longest_pause = milliseconds(1)});
    for (const link::Bye::Reason answer : answers) {
      for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(peer.receive_a<link::Hello>());
        peer.send(link::Bye{answer, 0});
      }
    }
    EXPECT_TRUE(eventually([&] { return near.counts().refused == 3 * answers.size(); }));
  }
  spdlog::set_default_logger(before);
  return log.str();
}

TEST(LinkAlone, SaysOnceWhyItIsRefused) {
  using Reason = link::Bye::Reason;
  const std::string log = log_of_refusals({Reason::busy, Reason::other_version, Reason::other_name});
  EXPECT_EQ(std::ranges::count(log, '\n'), 3) << log;
  EXPECT_THAT(log, testing::HasSubstr("the peer still has the connection before\n"));
  EXPECT_THAT(log, testing::HasSubstr("speaks another version of links than 1: update the older node\n"));
  EXPECT_THAT(log, testing::HasSubstr("the peer has another link there\n"));
}

// Its answer is not waited for where it was.
TEST(LinkAlone, APeerThatComesToListenElsewhereIsGoneFromWhereItWas) {
  const auto first = listening_wire();
  const auto second = listening_wire();
  const auto peer = std::make_shared<SharedPeer>(PeerPlace{first->address()});
  const auto wire = make_peer_wire(peer);
  NoInbox inbox;
  wire->open();
  EXPECT_FALSE(wire->receive(Clock::now(), inbox));
  peer->set({second->address()});
  const auto arrival = wire->receive(after(seconds(30)), inbox);
  EXPECT_TRUE(arrival && arrival->gone);
  EXPECT_EQ(wire->address(), first->address());
  wire->close();
  wire->open();
  EXPECT_EQ(wire->address(), second->address());
  EXPECT_FALSE(wire->receive(Clock::now(), inbox));
}

TEST(LinkAlone, ListensAtTheFirstPortThatIsFree) {
  std::unique_ptr<LinkWire> first;
  std::unique_ptr<LinkWire> second;
  unsigned port = 0;
  const auto listen = [](unsigned from, unsigned to) {
    return make_listening_wire("127.0.0.1", from, to, LinkTransport::zeromq, std::nullopt);
  };
  ASSERT_TRUE(eventually([&] {
    first = listen(0, 0);
    const std::string address = first->address();
    port = static_cast<unsigned>(std::stoul(address.substr(address.rfind(':') + 1)));
    try {
      second = listen(port, port + 1);
    } catch (const Error&) {  // somebody else's
    }
    return second != nullptr;
  }));
  EXPECT_EQ(second->address(), "127.0.0.1:" + std::to_string(port + 1));
  try {
    listen(port, port + 1);
    FAIL() << "both are taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(port) + "-" + std::to_string(port + 1)));
    EXPECT_THAT(error.what(), testing::HasSubstr("cluster.links.ports"));
  }
}

// The process before it has settled frames, and the peer has no ring to send yet.
TEST(LinkAlone, WhatARestartedEndSaysBeforeItsFirstRingCanBe) {
  auto wire = listening_wire();
  const auto peer = connecting_wire(wire->address());
  std::atomic<bool> leaves{false};
  ReceivingEnd::Events events;
  events.on_ring = [](const FrameRingMemory&, std::uint64_t, double, std::int32_t) {};
  events.left = [&leaves] { return leaves.load(); };
  ReceivingEnd end(std::move(wire), {.name = link_name, .settled = 5}, std::move(events));
  std::jthread thread([&end] { end.run(); });
  peer->open();
  std::vector<std::uint8_t> head;
  link::encode(link::Hello{.end = link::End::sending, .name = link_name}, head);
  EXPECT_TRUE(peer->send(0, head, {}));
  NoInbox inbox;
  const auto next = [&] {
    const auto arrival = peer->receive(after(seconds(30)), inbox);
    return arrival ? link::decode(arrival->head) : std::nullopt;
  };
  const auto answer = next();
  const auto beat = next();
  leaves = true;
  ASSERT_TRUE(answer && std::holds_alternative<link::Hello>(*answer));
  ASSERT_TRUE(beat && std::holds_alternative<link::Credit>(*beat));
  EXPECT_EQ(std::get<link::Credit>(*beat).settled, 5U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
