// Bodies over ZeroMQ: in parts where they are encrypted, and what a stranger may send in their place.
#include "app/link/zeromq_wire.h"

#include <gtest/gtest.h>
#include <zmq.h>

#include "tests/unit/link_test_support.h"

namespace campipe::test {
namespace {

class OneBody final : public LinkWire::Inbox {
 public:
  std::span<std::uint8_t> place(LinkWire::Peer, LinkWire::Bytes, std::size_t size) override {
    bytes.assign(size, 0);
    return bytes;
  }

  std::vector<std::uint8_t> bytes;
};

std::optional<LinkWire::Arrival> next_message(LinkWire& wire, OneBody& inbox) {
  return wire.receive(after(seconds(10)), inbox);
}

TEST(ZeroMqWire, LargeBodiesArriveWhole) {
  for (const Carrier carrier : {Carrier::zeromq, Carrier::encrypted}) {
    auto [listening, connecting] = wire_pair(carrier);
    connecting->open();
    const std::vector<std::uint8_t> head{1, 2, 3};
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{256} << 10, (std::size_t{256} << 10) + 1, std::size_t{3'000'001}}) {
      const auto body = std::make_shared<std::vector<std::uint8_t>>(size);
      fill_pattern(*body, size);
      OneBody inbox;
      ASSERT_TRUE(connecting->send(0, head, {*body, body}));
      const auto arrival = next_message(*listening, inbox);
      ASSERT_TRUE(arrival);
      EXPECT_EQ(std::vector(arrival->head.begin(), arrival->head.end()), head);
      EXPECT_EQ(arrival->body, size);
      EXPECT_TRUE(arrival->placed);
      EXPECT_TRUE(inbox.bytes == *body);
    }
  }
}

TEST(ZeroMqWire, NoBodyIsLargerOrInMorePartsThanItCanBe) {
  const auto listening =
      make_zeromq_wire({.address = "127.0.0.1:0", .listens = true, .keys = {}, .largest_body = 1 << 20});
  void* const context = zmq_ctx_new();
  void* const stranger = zmq_socket(context, ZMQ_DEALER);
  ASSERT_EQ(zmq_connect(stranger, ("tcp://" + listening->address()).c_str()), 0);
  const auto send = [&](std::size_t parts, std::size_t size) {
    const std::vector<std::uint8_t> part(size, 7);
    zmq_send(stranger, "head", 4, ZMQ_SNDMORE);
    for (std::size_t i = 1; i <= parts; ++i) zmq_send(stranger, part.data(), part.size(), i < parts ? ZMQ_SNDMORE : 0);
  };
  OneBody inbox;
  for (const auto& [parts, size] : {std::pair<std::size_t, std::size_t>{1000, 0}, {6, 10}, {3, 400'000}}) {
    send(parts, size);
    const auto arrival = next_message(*listening, inbox);
    ASSERT_TRUE(arrival);
    EXPECT_TRUE(arrival->head.empty()) << parts;
    EXPECT_FALSE(arrival->placed);
  }
  send(4, 250'000);
  const auto arrival = next_message(*listening, inbox);
  ASSERT_TRUE(arrival);
  EXPECT_EQ(arrival->head.size(), 4U);
  EXPECT_TRUE(arrival->placed);
  EXPECT_EQ(arrival->body, 1'000'000U);
  zmq_setsockopt(stranger, ZMQ_LINGER, "\0\0\0", 4);
  zmq_close(stranger);
  zmq_ctx_term(context);
}

}  // namespace
}  // namespace campipe::test
