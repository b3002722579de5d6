// The receiving end over a wire that places bodies before it hands on the messages before them, as UCX's does.
#include "app/link/receiving_end.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <deque>

#include "tests/unit/link_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

bool is_mapped(std::span<const std::uint8_t> memory) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t before = reinterpret_cast<std::uintptr_t>(memory.data()) % page;
  std::vector<unsigned char> pages((before + memory.size()) / page + 1);
  return ::mincore(const_cast<std::uint8_t*>(memory.data()) - before, before + memory.size(), pages.data()) == 0;
}

struct Said {
  link::Message message;
  bool arrives = true;  // else it is under way, and stays so
};

// What the wire saw, which the end owns.
struct Seen {
  unsigned closed = 0;
  unsigned placed = 0;
  bool memory_stayed = true;  // of bodies that were placed, until close()
};

class WireAhead final : public LinkWire {
 public:
  // `said`: by the peer, once it may send frames of its first ring.
  WireAhead(std::vector<Said> said, Seen& seen) : said_(std::move(said)), seen_(seen) {}

  [[nodiscard]] bool listens() const override { return false; }
  [[nodiscard]] std::string address() const override { return "ahead"; }
  void open() override {}
  void close(milliseconds /*linger*/) override {
    if (is_greeted_) ++seen_.closed;
    is_greeted_ = false;
    for (const auto& memory : memory_) seen_.memory_stayed = seen_.memory_stayed && is_mapped(memory);
    memory_.clear();
    coming_.clear();
  }

  bool send(Peer /*peer*/, Bytes head, Body /*body*/) override {
    const auto message = link::decode(head);
    const auto* const credit = message ? std::get_if<link::Credit>(&*message) : nullptr;
    if (message && std::holds_alternative<link::Hello>(*message)) {
      is_greeted_ = true;
      add({link::Hello{.end = link::End::sending, .name = link_name}});
      add({shape()});
    } else if (credit != nullptr && credit->shapes > 0 && credit->up_to > 0) {
      for (Said& each : std::exchange(said_, {})) add(std::move(each));
    }
    return true;
  }

  std::optional<Arrival> receive(Deadline deadline, Inbox& inbox) override {
    for (Coming& each : coming_) {
      if (each.body == 0 || each.asked) continue;
      each.asked = true;
      each.memory = inbox.place(0, each.head, each.body);
      if (each.memory.empty()) continue;
      ++seen_.placed;
      memory_.push_back(each.memory);
    }
    if (coming_.empty() || !coming_.front().arrives) {
      std::this_thread::sleep_until(std::min(deadline, after(milliseconds(1))));
      return std::nullopt;
    }
    current_ = std::move(coming_.front());
    coming_.pop_front();
    return Arrival{
        .peer = 0, .head = current_.head, .body = current_.body, .placed = !current_.memory.empty(), .gone = false};
  }

  static link::Shape shape() {
    link::Shape shape;
    shape.expected = record_of(1).format;
    shape.slot_bytes = picture_bytes;
    shape.frame_rate = 25;
    return shape;
  }
  static link::Frame frame(std::uint64_t number) {
    return {.number = number, .sent = now_ns(), .bytes = picture_bytes, .record = linked_record(number)};
  }

 private:
  struct Coming {
    std::vector<std::uint8_t> head;
    std::size_t body = 0;
    std::span<std::uint8_t> memory;
    bool asked = false;
    bool arrives = true;
  };

  void add(Said said) {
    Coming& coming = coming_.emplace_back();
    link::encode(said.message, coming.head);
    if (const auto* const frame = std::get_if<link::Frame>(&said.message)) coming.body = frame->bytes;
    coming.arrives = said.arrives;
  }

  std::vector<Said> said_;
  Seen& seen_;
  bool is_greeted_ = false;
  std::deque<Coming> coming_;
  Coming current_;
  std::vector<std::span<std::uint8_t>> memory_;
};

struct Outcome {
  Seen seen;
  unsigned rings = 0;
  std::uint64_t refused = 0;
};

// It leaves as soon as `leaves` says so.
Outcome run_end(std::vector<Said> said, const std::function<bool(const Seen&)>& leaves) {
  Outcome outcome;
  ReceivingEnd::Events events;
  events.on_ring = [&](const FrameRingMemory&, std::uint64_t, double, std::int32_t) { ++outcome.rings; };
  const Deadline deadline = after(seconds(50));
  events.left = [&] { return leaves(outcome.seen) || Clock::now() >= deadline; };
  ReceivingEnd end(std::make_unique<WireAhead>(std::move(said), outcome.seen), {.name = link_name}, std::move(events));
  end.run();
  outcome.refused = end.counts().refused;
  return outcome;
}

TEST(ReceivingEnd, KeepsTheRingUntilTheWireIsClosed) {
  const auto outcome =
      run_end({{WireAhead::frame(1), false}}, [](const Seen& seen) { return seen.placed == 1 || seen.closed > 0; });
  EXPECT_EQ(outcome.seen.placed, 1U);
  EXPECT_EQ(outcome.seen.closed, 1U);
  EXPECT_TRUE(outcome.seen.memory_stayed) << "a body may arrive there until the wire is closed";
  EXPECT_EQ(outcome.refused, 0U);
}

// The frame is placed in the ring that the shape before it ends.
TEST(ReceivingEnd, CutsOffWhoSendsAFrameBehindAShapeWithoutCredit) {
  for (const bool arrives : {true, false}) {
    const auto outcome = run_end({{WireAhead::shape()}, {WireAhead::frame(1), arrives}},
                                 [](const Seen& seen) { return seen.closed > 0; });
    EXPECT_EQ(outcome.seen.placed, 1U);
    EXPECT_EQ(outcome.seen.closed, 1U);
    EXPECT_TRUE(outcome.seen.memory_stayed);
    EXPECT_EQ(outcome.refused, 1U);
    EXPECT_EQ(outcome.rings, 1U);
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
