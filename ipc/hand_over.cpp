#include "ipc/hand_over.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <new>
#include <utility>

#include "core/error.h"
#include "core/failpoint.h"
#include "ipc/futex.h"

namespace campipe {
namespace hand_over {

constexpr std::uint32_t magic = 0x6f646e68;  // "hndo"
constexpr std::uint32_t layout_version = 1;
constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();

// The zero bytes of a new memfd are valid: proposed, nothing passed.
struct Page {
  std::uint32_t magic;
  std::uint32_t version;
  alignas(64) std::atomic<std::uint64_t> word;  // {frame 62 | state 2}
  std::atomic<std::uint64_t> passed;
  std::atomic<std::uint32_t> news;          // futex of the new node: grows with every frame passed and every change
  std::atomic<std::uint64_t> taken_by_old;  // plus 1; 0: it has not committed
  std::atomic<std::uint64_t> taken_by_new;
  struct Due {
    std::atomic<std::int64_t> rate;
    std::atomic<std::int64_t> snapshot;
  };
  std::array<Due, HandOver::most_outputs> due;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

namespace {

constexpr unsigned state_bits = 2;

std::uint64_t pack(const HandOver::Word& word) {
  return word.frame << state_bits | static_cast<std::uint64_t>(word.state);
}

HandOver::Word unpack(std::uint64_t word) {
  return {static_cast<HandOver::State>(word & ((1U << state_bits) - 1)), word >> state_bits};
}

std::int64_t packed(const std::optional<std::int64_t>& time) { return time.value_or(none); }

std::optional<std::int64_t> unpacked(std::int64_t time) { return time == none ? std::nullopt : std::optional(time); }

}  // namespace
}  // namespace hand_over

using hand_over::pack;
using hand_over::packed;
using hand_over::Page;
using hand_over::unpack;
using hand_over::unpacked;

HandOver::HandOver(UniqueFd fd, Mapping mapping)
    : fd_(std::move(fd)),
      mapping_(std::move(mapping)),
      page_(std::launder(reinterpret_cast<Page*>(mapping_.bytes().data()))) {}

std::shared_ptr<HandOver> HandOver::create() {
  UniqueFd fd = create_shared_memory("hand-over", sizeof(Page));
  Mapping mapping(fd.get(), Mapping::Access::read_write);
  std::shared_ptr<HandOver> made(new HandOver(std::move(fd), std::move(mapping)));
  made->page_->magic = hand_over::magic;
  made->page_->version = hand_over::layout_version;
  for (unsigned output = 0; output < most_outputs; ++output) made->carry(output, {});
  return made;
}

std::shared_ptr<HandOver> HandOver::open(UniqueFd fd) {
  Mapping mapping(fd.get(), Mapping::Access::read_write);
  if (mapping.bytes().size() < sizeof(Page)) throw Error("a hand-over page that is too small");
  std::shared_ptr<HandOver> opened(new HandOver(UniqueFd(), std::move(mapping)));
  const bool is_page = opened->page_->magic == hand_over::magic && opened->page_->version == hand_over::layout_version;
  if (!is_page) throw Error("a hand-over page of another version");
  return opened;
}

HandOver::Word HandOver::word() const { return unpack(page_->word.load(std::memory_order_seq_cst)); }

std::optional<std::uint64_t> HandOver::boundary() const {
  const Word now = word();
  return now.state == State::committed ? std::optional(now.frame) : std::nullopt;
}

bool HandOver::change(const Word& from, const Word& to) {
  std::uint64_t expected = pack(from);
  if (!page_->word.compare_exchange_strong(expected, pack(to), std::memory_order_seq_cst)) return false;
  count_news();
  return true;
}

void HandOver::count_news() {
  page_->news.fetch_add(1, std::memory_order_seq_cst);
  futex_wake_all(page_->news);
}

bool HandOver::get_ready(std::uint64_t from) {
  failpoint("hand_over.getting_ready");
  const bool is_ready = change({State::proposed, 0}, {State::ready, from});
  failpoint("hand_over.ready");
  return is_ready;
}

// The word is loaded first: a frame that is passed by then cannot be committed any more.
HandOver::Owner HandOver::owner_of(std::uint64_t frame) const {
  const Word now = word();
  if (now.state == State::cancelled) return Owner::old_node;
  if (now.state == State::committed) return frame < now.frame ? Owner::old_node : Owner::new_node;
  if (now.state == State::proposed || frame < now.frame) return Owner::old_node;  // it does not take part yet
  return page_->passed.load(std::memory_order_seq_cst) >= frame ? Owner::old_node : Owner::undecided;
}

HandOver::Owner HandOver::wait_for_owner(std::uint64_t frame, Deadline deadline) const {
  for (;;) {
    const std::uint32_t news = page_->news.load(std::memory_order_seq_cst);
    const Owner owner = owner_of(frame);
    if (owner != Owner::undecided || Clock::now() >= deadline) return owner;
    futex_wait(page_->news, news, deadline);
  }
}

void HandOver::wait_for_change(Deadline deadline) const {
  const std::uint32_t news = page_->news.load(std::memory_order_seq_cst);
  const State state = word().state;
  if (state == State::committed || state == State::cancelled) return;
  futex_wait(page_->news, news, deadline);
}

bool HandOver::commit(std::uint64_t frame) {
  const Word now = word();
  if (now.state != State::ready || frame < now.frame) return false;
  failpoint("hand_over.committing");
  const bool is_committed = change(now, {State::committed, frame});
  failpoint("hand_over.committed");
  return is_committed;
}

void HandOver::pass(std::uint64_t frame) {
  failpoint("hand_over.passing");
  page_->passed.store(frame, std::memory_order_seq_cst);
  failpoint("hand_over.passed");
  count_news();
}

// The new node may get ready at the same time.
bool HandOver::cancel() {
  for (;;) {
    const Word now = word();
    if (now.state == State::committed) return false;
    if (now.state == State::cancelled) return true;
    if (change(now, {State::cancelled, 0})) return true;
  }
}

std::optional<std::uint64_t> HandOver::decide_for_dead(std::uint64_t newest) {
  for (;;) {
    const Word now = word();
    if (now.state == State::committed) {
      if (now.frame <= newest + 1) return now.frame;
      if (change(now, {State::committed, newest + 1}))
        return newest + 1;  // no frame has that number: nobody would go on
      continue;
    }
    const std::uint64_t passed = std::min(page_->passed.load(std::memory_order_seq_cst), newest);
    if (now.state != State::ready || passed == 0) {
      if (cancel()) return std::nullopt;
      continue;
    }
    const std::uint64_t frame = std::min(std::max(passed + 1, now.frame), newest + 1);
    if (change(now, {State::committed, frame})) return frame;
  }
}

void HandOver::carry(unsigned output, const Due& due) {
  if (output >= most_outputs) return;
  page_->due[output].rate.store(packed(due.rate), std::memory_order_seq_cst);
  page_->due[output].snapshot.store(packed(due.snapshot), std::memory_order_seq_cst);
}

HandOver::Due HandOver::carried(unsigned output) const {
  if (output >= most_outputs) return {};
  return {unpacked(page_->due[output].rate.load(std::memory_order_seq_cst)),
          unpacked(page_->due[output].snapshot.load(std::memory_order_seq_cst))};
}

void HandOver::set_taken_by_old(std::uint64_t frames) {
  page_->taken_by_old.store(frames + 1, std::memory_order_seq_cst);
}

void HandOver::set_taken_by_new(std::uint64_t frames) { page_->taken_by_new.store(frames, std::memory_order_seq_cst); }

std::optional<std::uint64_t> HandOver::taken_by_old() const {
  const std::uint64_t taken = page_->taken_by_old.load(std::memory_order_seq_cst);
  return taken == 0 ? std::nullopt : std::optional(taken - 1);
}

std::uint64_t HandOver::taken_by_new() const { return page_->taken_by_new.load(std::memory_order_seq_cst); }

}  // namespace campipe
