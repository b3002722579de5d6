// UCX's wires when a connection is closed by force while bodies are under way.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/link_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

constexpr std::uint8_t untouched = 0xaa;

class OneMemory final : public LinkWire::Inbox {
 public:
  std::span<std::uint8_t> place(LinkWire::Peer, LinkWire::Bytes, std::size_t size) override {
    ++placed;
    return std::span(memory).first(size);
  }

  std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(std::size_t{1} << 20);
  unsigned placed = 0;
};

// A listening wire to which another one is sending a body: its memory is there, and the sender has been told so.
class UcxWire : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_not(Carrier::ucx); !why.empty()) GTEST_SKIP() << why;
    make_wires();
  }

  void make_wires() {
    auto [listening, connecting] = wire_pair(Carrier::ucx);
    to_ = std::move(listening);
    from_ = std::move(connecting);
  }

  void begin(std::size_t body_bytes) {
    to_->open();
    from_->open();
    ASSERT_TRUE(from_->send(0, head_, {}));
    ASSERT_TRUE(eventually([this] {
      work(*from_, 1);
      return to_->receive(Clock::now(), inbox_).has_value();
    }));
    const auto body = std::make_shared<std::vector<std::uint8_t>>(body_bytes, std::uint8_t{1});
    const unsigned placed = inbox_.placed;
    ASSERT_TRUE(from_->send(0, head_, {*body, body}));
    ASSERT_TRUE(eventually([&] {
      work(*to_, 1);
      if (inbox_.placed == placed) work(*from_, 1);
      return inbox_.placed > placed;
    }));
  }
  void work(LinkWire& wire, int times) {
    for (int i = 0; i < times; ++i) wire.receive(Clock::now(), inbox_);
  }

  const std::vector<std::uint8_t> head_{1, 2, 3};
  OneMemory inbox_;
  std::unique_ptr<LinkWire> to_;
  std::unique_ptr<LinkWire> from_;
};

constexpr std::size_t sizes[] = {9'000, 200'000, 1'000'000};  // one packet of UCX's over TCP, and more

// With PUT over TCP acknowledgements may come after the receiver's end, and the sender's process dies
// (ucx_library.cpp).
TEST_F(UcxWire, AReceiverThatClosesAmidBodiesIsGoneAndNoMore) {
  for (unsigned round = 0; round < 20; ++round) {
    to_->open();
    bool is_gone = false;
    std::jthread sender([&] {
      from_->open();
      const auto body = std::make_shared<std::vector<std::uint8_t>>(sizes[0], std::uint8_t{1});
      OneMemory none;
      int left = 20;
      for (const Deadline deadline = after(seconds(50)); !is_gone && Clock::now() < deadline;) {
        if (left-- > 0) from_->send(0, head_, {*body, body});
        const auto arrival = from_->receive(after(milliseconds(2)), none);
        is_gone = arrival && arrival->gone;
      }
      from_->close();
    });
    const unsigned enough = inbox_.placed + 1 + round % 5;
    EXPECT_TRUE(eventually([&] {
      work(*to_, 1);
      return inbox_.placed >= enough;
    }));
    to_.reset();
    sender.join();
    EXPECT_TRUE(is_gone);
    make_wires();
  }
}

TEST_F(UcxWire, WritesNothingToMemoryAfterItIsClosed) {
  for (const std::size_t size : sizes) {
    for (int times = 0; times <= 4; ++times) {
      ASSERT_NO_FATAL_FAILURE(begin(size));
      work(*from_, times);
      to_->close();
      std::ranges::fill(inbox_.memory, untouched);
      to_->open();
      for (int i = 0; i < 20; ++i) {
        work(*from_, 1);
        work(*to_, 1);
      }
      from_->close();
      EXPECT_TRUE(std::ranges::all_of(inbox_.memory, [](std::uint8_t byte) { return byte == untouched; }))
          << size << " " << times;
    }
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
