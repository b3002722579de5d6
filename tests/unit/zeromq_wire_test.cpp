// Bodies over ZeroMQ: in parts where they are encrypted, and what a stranger may send in their place.
#include "app/link/zeromq_wire.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <zmq.h>

#include "tests/unit/link_test_support.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

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

// ZeroMQ makes room for what a peer announces before it knows its key. One who is cut off at once has sent what fits
// into the buffers of its connection.
TEST(ZeroMqWire, AStrangerIsGivenNoRoomBeforeItHasShownItsKey) {
  LinkKeys keys = make_link_keys();
  keys.peer = make_link_keys().public_key;
  constexpr std::size_t announced = std::size_t{48} << 20;
  const auto listening =
      make_zeromq_wire({.address = "127.0.0.1:0", .listens = true, .keys = keys, .largest_body = announced});
  const std::string address = listening->address();
  const UniqueFd stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  ASSERT_EQ(::connect(stranger.get(), static_cast<sockaddr*>(static_cast<void*>(&to)), sizeof to), 0);
  // The greeting of ZMTP 3.0 with CURVE, and the beginning of a long command.
  std::string greeting("\xff\0\0\0\0\0\0\0\x01\x7f\x03\0", 12);
  greeting += "CURVE" + std::string(64 - greeting.size() - 5, '\0');
  std::string command("\x06", 1);
  for (int shift = 56; shift >= 0; shift -= 8)
    command += static_cast<char>(announced >> static_cast<unsigned>(shift) & 0xffU);
  ASSERT_TRUE(send_all(stranger.get(), greeting + command));
  const std::string piece(64 << 10, 'x');
  std::size_t sent = 0;
  while (sent < announced && send_all(stranger.get(), piece)) sent += piece.size();
  EXPECT_LT(sent, announced / 2);
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

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
