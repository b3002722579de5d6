// A link whose other end dies, stops, is cut off, or is no link at all: nothing else stalls, nothing is left behind,
// and it goes on when the other end does.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "core/log.h"
#include "tests/faults/peer_process.h"
#include "tests/integration/tcp_relay.h"
#include "tests/paths.h"
#include "tests/unit/cpu_waits.h"
#include "tests/unit/fake_link_end.h"
#include "tests/unit/link_test_support.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

// From the fault until it shows here.
constexpr auto within_a_second = milliseconds(1500) * sanitizer_slowdown;

int port_in(const std::string& address) { return std::stoi(address.substr(address.rfind(':') + 1)); }

// Writes a frame each 2 ms, as long as it lives.
class SteadyWriter {
 public:
  explicit SteadyWriter(NearSide& near) : near_(near) {}
  ~SteadyWriter() { stop(); }
  SteadyWriter(const SteadyWriter&) = delete;
  SteadyWriter& operator=(const SteadyWriter&) = delete;
  void stop() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  NearSide& near_;
  std::jthread thread_{[this](const std::stop_token& stop) {
    while (!stop.stop_requested() && near_.write()) std::this_thread::sleep_for(milliseconds(2));
  }};
};

// Somebody else who reads the same ring: how long it had to wait for a frame at most.
class Neighbour {
 public:
  explicit Neighbour(const NearSide& near) : memory_(reopen(near.memory(), FrameRingMemory::Role::reader)) {
    reserve_seat(memory_, 1);
  }
  [[nodiscard]] Clock::duration longest_wait() const { return Clock::duration(longest_); }

 private:
  void read(const std::stop_token& stop) {
    FrameRingReader reader(memory_, 1);
    reader.attach(false, link_queue);
    for (auto last = Clock::now(); !stop.stop_requested();) {
      FrameRingReader::Lease lease;
      if (reader.next(lease, after(milliseconds(20))) != FrameRingReader::Next::frame) continue;
      longest_ = std::max(longest_.load(), (Clock::now() - last).count());
      last = Clock::now();
    }
    reader.leave();
  }

  std::shared_ptr<FrameRingMemory> memory_;
  std::atomic<Clock::rep> longest_{0};
  std::jthread thread_{[this](const std::stop_token& stop) { read(stop); }};
};

struct Fault {
  const char* name;
  int signal;
  DropPolicy policy;
  Carrier carrier = Carrier::zeromq;
  friend std::ostream& operator<<(std::ostream& out, const Fault& of) { return out << of.name; }
};

class LinkFault : public testing::TestWithParam<Fault> {
 protected:
  void SetUp() override {
    if (const std::string why = why_not(GetParam().carrier); !why.empty()) GTEST_SKIP() << why;
  }
  static void start(std::optional<Peer>& peer, const std::string& role, const std::string& address) {
    peer.emplace(link_peer_program,
                 std::vector<std::string>{role, address, std::to_string(static_cast<int>(GetParam().carrier))});
  }
  // The peer goes on, or another one comes in its place.
  static void mend(std::optional<Peer>& peer, const std::string& role, const std::string& address) {
    if (GetParam().signal == SIGSTOP) return peer->signal(SIGCONT);
    start(peer, role, address);
  }
};

TEST_P(LinkFault, OfTheReceiverHoldsNobodyUp) {
  auto listening = listening_wire(GetParam().carrier);
  const std::string address = listening->address();
  std::optional<Peer> peer;
  start(peer, "receive", address);
  NearSide near(std::move(listening), GetParam().policy);
  {
    const CpuWaits waits;
    std::optional<Neighbour> neighbour(near);
    SteadyWriter writer(near);
    ASSERT_TRUE(eventually([&] { return peer->delivered() > 20; }));
    const std::uint64_t lost = near.counts().lost;
    const std::uint64_t written = near.written();
    const Stopwatch watch;
    peer->signal(GetParam().signal);
    EXPECT_TRUE(eventually([&] { return near.counts().lost > lost; }));
    EXPECT_LT(watch.elapsed(), within_a_second);
    EXPECT_TRUE(eventually([&] { return near.written() > written + 50; }));
    // Nor does the writer wait for the link any longer than until that is found to be gone.
    EXPECT_LT(neighbour->longest_wait(), within_a_second + waits.so_far());
    neighbour.reset();

    const std::uint64_t delivered = near.counts().delivered;
    mend(peer, "receive", address);
    EXPECT_TRUE(eventually([&] { return near.counts().delivered > delivered + 20; }));
    EXPECT_EQ(near.counts().connections, 2U);
  }
  near.finish();
  EXPECT_EQ(near.counts().taken, near.counts().delivered + near.counts().lost);
  EXPECT_TRUE(eventually([&] { return near.is_free(); })) << "no slot is held";
  const Journal& journal = peer->journal();
  for (std::uint64_t at = 0; at < journal.count; ++at) ASSERT_EQ(journal.entry[at].torn, 0U);
}

TEST_P(LinkFault, OfTheSenderEndsTheRing) {
  auto listening = listening_wire(GetParam().carrier);
  const std::string address = listening->address();
  FarSide far(std::move(listening), GetParam().policy);
  std::optional<Peer> peer;
  start(peer, "send", address);
  ASSERT_TRUE(eventually([&] { return far.read() > 20; }));
  const Stopwatch watch;
  peer->signal(GetParam().signal);
  EXPECT_TRUE(eventually([&] { return far.rings_ended() == 1; }));
  EXPECT_LT(watch.elapsed(), within_a_second);
  const std::size_t read = far.read();
  mend(peer, "send", address);
  EXPECT_TRUE(eventually([&] { return far.read() > read + 20; }));
  EXPECT_EQ(far.rings(), 2U);
  EXPECT_EQ(far.damaged(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Faults, LinkFault,
                         testing::Values(Fault{"Killed", SIGKILL, DropPolicy::block},
                                         Fault{"Stopped", SIGSTOP, DropPolicy::drop},
                                         Fault{"UcxKilled", SIGKILL, DropPolicy::drop, Carrier::ucx},
                                         Fault{"UcxStopped", SIGSTOP, DropPolicy::block, Carrier::ucx}),
                         [](const auto& of) { return of.param.name; });

class LinkDirection : public testing::TestWithParam<bool> {};

TEST_P(LinkDirection, ThatIsCutIsNoticedAtBothEnds) {
  auto listening = listening_wire();
  TcpRelay relay(port_in(listening->address()));
  FarSide far(std::move(listening), DropPolicy::drop);
  NearSide near(connecting_wire("127.0.0.1:" + std::to_string(relay.port())), DropPolicy::drop);
  {
    SteadyWriter writer(near);
    ASSERT_TRUE(eventually([&] { return far.read() > 20; }));
    const Stopwatch watch;
    if (GetParam()) {
      relay.pause_inwards();
    } else {
      relay.pause_outwards();
    }
    EXPECT_TRUE(eventually([&] { return near.counts().lost > 0 && far.rings_ended() == 1; }));
    EXPECT_LT(watch.elapsed(), 2 * within_a_second);
    relay.resume();
    EXPECT_TRUE(eventually([&] { return far.rings() == 2; }));
  }
  near.finish();
  EXPECT_TRUE(eventually([&] { return far.ended(); }));
  EXPECT_EQ(far.damaged(), 0U);
  expect_balanced(near, far);
}

INSTANTIATE_TEST_SUITE_P(Directions, LinkDirection, testing::Bool(),
                         [](const auto& of) { return of.param ? "ToTheReceiver" : "ToTheSender"; });

std::vector<std::uint8_t> noise(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

void send_raw(int port, const std::vector<std::uint8_t>& bytes) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

link::Shape some_shape() {
  link::Shape shape;
  shape.expected = record_of(1).format;
  shape.slot_bytes = picture_bytes;
  shape.frame_rate = 25;
  shape.rotation = 90;
  return shape;
}

link::Frame some_frame(std::uint64_t number) {
  return {.number = number, .sent = now_ns(), .bytes = picture_bytes, .record = linked_record(number)};
}

std::vector<std::uint8_t> body_of(std::uint64_t number) {
  std::vector<std::uint8_t> body(picture_bytes);
  fill_pattern(body, number);
  return body;
}

class LinkStrangers : public testing::Test {
 protected:
  LinkStrangers() { spdlog::set_level(spdlog::level::off); }  // of a thousand peers that were cut off
  ~LinkStrangers() override { spdlog::set_level(spdlog::level::info); }
};

TEST_F(LinkStrangers, WhoSendNoiseDisturbNobody) {
  auto listening = listening_wire();
  const std::string address = listening->address();
  FarSide far(std::move(listening), DropPolicy::block);
  NearSide near(connecting_wire(address), DropPolicy::block);
  near.write(1);
  ASSERT_TRUE(eventually([&] { return far.read() == 1; }));
  for (unsigned seed = 0; seed < 20; ++seed) send_raw(port_in(address), noise(1000 * seed, seed));
  FakeLinkEnd stranger(connecting_wire(address));
  for (unsigned seed = 0; seed < 25; ++seed) {
    stranger.send_bytes(noise(20 * seed, seed), noise(100 * (seed % 3), seed));
    stranger.send(link::Beat{});
  }
  stranger.send(link::Hello{.end = link::End::sending, .name = link_name});
  const auto answer = stranger.receive_a<link::Bye>();
  ASSERT_TRUE(answer) << "there is one already";
  EXPECT_EQ(answer->reason, link::Bye::Reason::busy);
  near.write(20);
  near.finish();
  EXPECT_TRUE(eventually([&] { return far.read() == 21; }));
  EXPECT_EQ(far.counts().connections, 1U);
  EXPECT_EQ(near.counts().lost, 0U);
}

TEST_F(LinkStrangers, OfAnotherVersionOrNameAreToldSo) {
  auto listening = listening_wire();
  const std::string address = listening->address();
  FarSide far(std::move(listening), DropPolicy::block);
  FakeLinkEnd old(connecting_wire(address));
  old.send(link::Hello{.version = 0, .end = link::End::sending, .name = link_name});
  const auto refusal = old.receive_a<link::Bye>();
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->reason, link::Bye::Reason::other_version);
  FakeLinkEnd lost(connecting_wire(address));
  lost.send(link::Hello{.end = link::End::sending, .name = "another"});
  const auto mistaken = lost.receive_a<link::Bye>();
  ASSERT_TRUE(mistaken);
  EXPECT_EQ(mistaken->reason, link::Bye::Reason::other_name);
  EXPECT_EQ(far.counts().connections, 0U);
  EXPECT_TRUE(fake_link_end(address, link::End::sending)) << "the right one comes in";
}

TEST_F(LinkStrangers, ASenderThatSaysWhatCannotBeIsCutOff) {
  auto listening = listening_wire();
  const std::string address = listening->address();
  FarSide far(std::move(listening), DropPolicy::block);
  using Say = std::function<void(FakeLinkEnd&)>;
  const std::vector<std::pair<const char*, Say>> cases{
      {"noise", [](auto& end) { end.send_bytes(noise(100, 1)); }},
      {"a second hello", [](auto& end) { end.send(link::Hello{.end = link::End::sending, .name = link_name}); }},
      {"a receiver's message", [](auto& end) { end.send(link::Credit{}); }},
      {"a refusal", [](auto& end) { end.send(link::Bye{.reason = link::Bye::Reason::busy}); }},
      {"a number that is not the next", [](auto& end) { end.send(some_frame(2), body_of(2)); }},
      {"less than it says", [](auto& end) { end.send(some_frame(1), std::vector<std::uint8_t>(100)); }},
      {"no body", [](auto& end) { end.send(some_frame(1)); }},
      {"more than a slot",
       [](auto& end) {
         auto frame = some_frame(1);
         frame.bytes = 2 * picture_bytes;
         end.send(frame, std::vector<std::uint8_t>(2 * picture_bytes));
       }},
      {"a body with something else", [](auto& end) { end.send(link::Beat{}, body_of(1)); }},
      {"slots that are too large",
       [](auto& end) {
         auto shape = some_shape();
         shape.slot_bytes = std::uint64_t{1} << 30;
         end.send(shape);
       }},
      {"more frames than it may", [&](auto& end) {
         far.shut_gate();
         for (unsigned n = 1; n <= link_queue + link_window + 2; ++n) end.send(some_frame(n), body_of(n));
         EXPECT_TRUE(eventually([&] { return far.counts().lost > 0; })) << "what was waiting for its reader";
         far.open_gate();
       }}};
  for (std::size_t at = 0; at < cases.size(); ++at) {
    const auto& [what, say] = cases[at];
    const auto end = fake_link_end(address, link::End::sending);
    ASSERT_TRUE(end) << what;
    end->send(some_shape());
    ASSERT_TRUE(end->receive_a<link::Credit>()) << what;
    const Stopwatch watch;
    say(*end);
    EXPECT_TRUE(eventually([&] { return far.rings_ended() == at + 1; })) << what;
    EXPECT_LT(watch.elapsed(), milliseconds(500)) << what << ": a link without beats would be cut off later";
  }
  EXPECT_EQ(far.damaged(), 0U);
}

TEST_F(LinkStrangers, ASenderThatBeginsTooManyRingsIsCutOff) {
  auto listening = listening_wire();
  const std::string address = listening->address();
  FarSide far(std::move(listening), DropPolicy::block);
  const auto end = fake_link_end(address, link::End::sending);
  ASSERT_TRUE(end);
  for (std::size_t ring = 0; ring < RingRate::most; ++ring) {
    end->send(some_shape());
    ASSERT_TRUE(end->receive_a<link::Credit>());
  }
  ASSERT_TRUE(eventually([&] { return far.rings() == RingRate::most; }));
  EXPECT_EQ(far.counts().connected, 1U) << "so many it may begin";
  EXPECT_TRUE(eventually([&] {  // more than it may, however fast they are read
    end->send(some_shape());
    return far.counts().connected == 0;
  }));
  EXPECT_TRUE(eventually([&] { return far.rings_ended() == far.rings(); }));
  const auto next = fake_link_end(address, link::End::sending);
  ASSERT_TRUE(next) << "it may come again";
  next->send(some_shape());
  EXPECT_TRUE(next->receive_a<link::Credit>());
}

TEST_F(LinkStrangers, AReceiverThatSaysWhatCannotBeIsCutOff) {
  auto listening = listening_wire();
  const std::string address = listening->address();
  NearSide near(std::move(listening), DropPolicy::drop);
  SteadyWriter writer(near);
  using Say = std::function<void(FakeLinkEnd&)>;
  const std::vector<std::pair<const char*, Say>> cases{
      {"noise", [](auto& end) { end.send_bytes(noise(100, 1)); }},
      {"a body", [](auto& end) { end.send(some_frame(1), std::vector<std::uint8_t>(picture_bytes)); }},
      {"a shape", [](auto& end) { end.send(some_shape()); }},
      {"that it has what was never sent",
       [](auto& end) { end.send(link::Credit{.shapes = 1, .up_to = 1U << 30, .settled = 1U << 30}); }}};
  for (const auto& [what, say] : cases) {
    const auto end = fake_link_end(address, link::End::receiving);
    ASSERT_TRUE(end) << what;
    ASSERT_TRUE(end->receive_a<link::Shape>()) << what;
    const std::uint64_t lost = near.counts().lost;
    const Stopwatch watch;
    say(*end);
    EXPECT_TRUE(eventually([&] { return near.counts().lost > lost; })) << what;
    EXPECT_LT(watch.elapsed(), milliseconds(500)) << what << ": a link without beats would be cut off later";
  }
}

// UCX makes an endpoint anew in 20 ms: a test may not take so long.
int reconnections(Carrier carrier) { return carrier == Carrier::ucx ? 200 : 1000; }
const LinkTiming hasty{.shortest_pause = milliseconds(1), .longest_pause = milliseconds(1)};

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

std::size_t resident_bytes() {
  std::size_t all = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Nothing grows once it has been used for a while.
void expect_no_growth(int times, const std::function<void()>& reconnect) {
  std::size_t descriptors = 0;
  std::size_t resident = 0;
  for (int i = 0; i < times; ++i) {
    ASSERT_NO_FATAL_FAILURE(reconnect()) << i;
    if (i != times / 5) continue;
    descriptors = open_descriptors();
    resident = resident_bytes();
  }
  // Connections that have just been closed may be on their way out, both times.
  constexpr std::size_t few = 16;
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= descriptors + few; }));
  // AddressSanitizer keeps what was freed, up to 256 MiB, and tells at the end what was not.
  EXPECT_LE(resident_bytes(), resident + (std::size_t{is_sanitized ? 300 : 16} << 20));
}

class LinkReconnections : public LinkStrangers, public testing::WithParamInterface<Carrier> {
  void SetUp() override {
    if (const std::string why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(LinkReconnections, LeaveNothingAtTheSender) {
  auto listening = listening_wire(GetParam());
  const std::string address = listening->address();
  FakeLinkEnd end(std::move(listening));
  NearSide near(plain_wire(GetParam(), address, false), DropPolicy::drop, hasty);
  {
    SteadyWriter writer(near);
    expect_no_growth(reconnections(GetParam()), [&] {
      ASSERT_TRUE(end.receive_a<link::Hello>());
      end.send(link::Hello{.end = link::End::receiving, .name = link_name});
      const auto shape = end.receive_a<link::Shape>();
      ASSERT_TRUE(shape);
      end.send(link::Credit{.shapes = 1, .up_to = shape->number + 2, .settled = shape->number});
      ASSERT_TRUE(end.receive_a<link::Frame>());
      end.send_bytes(noise(100, 1));  // so that it is cut off at once
    });
  }
  EXPECT_GE(near.counts().connections, static_cast<std::uint64_t>(reconnections(GetParam())));
  near.finish();
  EXPECT_TRUE(eventually([&] { return near.is_free(); })) << "no slot is held";
  EXPECT_EQ(near.counts().taken, near.counts().delivered + near.counts().lost);
}

TEST_P(LinkReconnections, LeaveNothingAtTheReceiver) {
  auto listening = listening_wire(GetParam());
  const std::string address = listening->address();
  FakeLinkEnd end(std::move(listening));
  const FarSide far(plain_wire(GetParam(), address, false), DropPolicy::block, hasty);
  unsigned rings = 0;
  expect_no_growth(reconnections(GetParam()), [&] {
    ASSERT_TRUE(end.receive_a<link::Hello>());
    end.send(link::Hello{.end = link::End::sending, .name = link_name});
    end.send(some_shape());
    ASSERT_TRUE(end.receive_a<link::Credit>());
    end.send(some_frame(1), body_of(1));
    end.send_bytes(noise(100, 1));
    ++rings;
  });
  // The last one's is cut off by no word, if that is still under way here.
  EXPECT_TRUE(eventually([&] { return far.rings_ended() == rings; }));
  EXPECT_EQ(far.damaged(), 0U);
}

// As in a process whose links come and go.
TEST_P(LinkReconnections, OfLinksThatEndLeaveNothing) {
  expect_no_growth(30, [] {
    auto [listening, connecting] = wire_pair(GetParam());
    FarSide far(std::move(listening), DropPolicy::block);
    NearSide near(std::move(connecting), DropPolicy::block);
    near.write(3);
    near.finish();
    ASSERT_TRUE(eventually([&] { return far.ended() && far.rings_ended() == far.rings(); }));
    EXPECT_EQ(far.read(), 3U);
  });
}

INSTANTIATE_TEST_SUITE_P(Carriers, LinkReconnections, testing::Values(Carrier::zeromq, Carrier::ucx),
                         [](const auto& of) { return of.param == Carrier::ucx ? "Ucx" : "ZeroMq"; });

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
