#include "ipc/group_page.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "core/error.h"
#include "core/failpoint.h"
#include "ipc/futex.h"

namespace campipe {
namespace group_page {

constexpr std::uint32_t magic = 0x70757267;  // "grup"
constexpr std::uint32_t layout_version = 2;
constexpr auto longest_wait = std::chrono::minutes(1);

struct Description {
  std::uint32_t magic;
  std::uint32_t version;
  std::int64_t max_wait;  // ns
  OnMissing on_missing;
};

struct Header {
  Description description;
  std::atomic<std::uint32_t> changes;                                     // waiters sleep on it
  std::atomic<std::uint32_t> members;                                     // by the supervisor
  std::array<std::atomic<std::uint64_t>, GroupPage::max_members> newest;  // the set that each has arrived at last
  std::atomic<std::uint64_t> first;                                       // set that one arrived at, plus 1; 0: none
  std::array<std::atomic<std::uint64_t>, GroupPage::window> words;
  // When each member's frame of a set was taken; written before it arrives there.
  std::array<std::array<std::atomic<std::int64_t>, GroupPage::window>, GroupPage::max_members> taken;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

namespace {

enum class Decision : std::uint8_t { open, encode, drop };

// Of one set; nobody is expected: there was none yet.
struct Word {
  std::uint32_t tag = 0;
  Decision decision = Decision::open;
  std::uint16_t expected = 0;
  std::uint16_t arrived = 0;

  [[nodiscard]] bool is_there() const { return expected != 0; }
};

constexpr std::uint32_t tag_bits = 24;
constexpr std::uint32_t tag_mask = (1U << tag_bits) - 1;

Word unpack(std::uint64_t word) {
  return {static_cast<std::uint32_t>(word >> 34) & tag_mask, static_cast<Decision>(word >> 32 & 3),
          static_cast<std::uint16_t>(word >> 16), static_cast<std::uint16_t>(word)};
}

std::uint64_t pack(const Word& w) {
  return std::uint64_t{w.tag} << 34 | static_cast<std::uint64_t>(w.decision) << 32 | std::uint64_t{w.expected} << 16 |
         w.arrived;
}

std::uint32_t tag_of(std::uint64_t set) { return static_cast<std::uint32_t>(set / GroupPage::window) & tag_mask; }

// By how many rounds of the page `tag` is newer than `than`; less than 0: older.
std::int32_t newer_by(std::uint32_t tag, std::uint32_t than) {
  return static_cast<std::int32_t>((tag - than) << (32 - tag_bits)) >> (32 - tag_bits);
}

std::uint16_t bit(unsigned member) { return static_cast<std::uint16_t>(1U << member); }

// As this member is to act on it.
SetOutcome outcome_of(const Word& word, std::uint16_t self) {
  if (word.decision == Decision::open) return SetOutcome::open;
  if (word.decision > Decision::drop) return SetOutcome::broken;
  if ((word.arrived & self) != self) return SetOutcome::late;
  return word.decision == Decision::encode ? SetOutcome::encode : SetOutcome::drop;
}

// What others wrote may be anything.
std::int64_t difference(std::int64_t first, std::int64_t last) {
  const auto apart = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
  return static_cast<std::int64_t>(std::min<std::uint64_t>(apart, std::numeric_limits<std::int64_t>::max()));
}

Header& header_in(const Mapping& mapping) { return *std::launder(reinterpret_cast<Header*>(mapping.bytes().data())); }

}  // namespace
}  // namespace group_page

using group_page::Decision;
using group_page::Word;

GroupPage::GroupPage(UniqueFd fd, Mapping mapping, const Rules& rules)
    : fd_(std::move(fd)), mapping_(std::move(mapping)), header_(&group_page::header_in(mapping_)), rules_(rules) {}

std::shared_ptr<GroupPage> GroupPage::create(const Rules& rules) {
  UniqueFd fd = create_shared_memory("group page", sizeof(group_page::Header));
  Mapping mapping(fd.get(), Mapping::Access::read_write);
  group_page::header_in(mapping).description = {group_page::magic, group_page::layout_version, rules.max_wait.count(),
                                                rules.on_missing};
  return std::shared_ptr<GroupPage>(new GroupPage(std::move(fd), std::move(mapping), rules));
}

std::shared_ptr<GroupPage> GroupPage::open(UniqueFd fd) {
  checked_size(fd.get(), sizeof(group_page::Header));
  Mapping mapping(fd.get(), Mapping::Access::read_write);
  group_page::Description description{};
  std::memcpy(&description, &group_page::header_in(mapping).description, sizeof description);
  if (description.magic != group_page::magic || description.version != group_page::layout_version) {
    throw Error("a group page of another version");
  }
  const std::chrono::nanoseconds max_wait(description.max_wait);
  if (description.on_missing > OnMissing::wait || max_wait.count() < 0 || max_wait > group_page::longest_wait) {
    throw Error("a group page with rules as they cannot be");
  }
  return std::shared_ptr<GroupPage>(
      new GroupPage(std::move(fd), std::move(mapping), {description.on_missing, max_wait}));
}

void GroupPage::count_change() {
  header_->changes.fetch_add(1);
  futex_wake_all(header_->changes);
}

void GroupPage::add(unsigned member) { header_->members.fetch_or(group_page::bit(member)); }

void GroupPage::remove(unsigned member) {
  header_->members.fetch_and(~std::uint32_t{group_page::bit(member)});
  count_change();
}

SetOutcome GroupPage::decision(std::uint64_t set) const {
  const Word word = group_page::unpack(header_->words[set % window].load());
  if (!word.is_there() || word.tag != group_page::tag_of(set)) return SetOutcome::late;
  return group_page::outcome_of(word, word.arrived);
}

std::optional<std::int64_t> GroupPage::taken_after(std::uint64_t set, std::int64_t due, std::int64_t most) const {
  const Word word = group_page::unpack(header_->words[set % window].load());
  const bool is_decided = word.is_there() && word.tag == group_page::tag_of(set) && word.decision != Decision::open;
  if (!is_decided || word.arrived == 0) return std::nullopt;
  std::int64_t sum = 0;
  for (unsigned member = 0; member < max_members; ++member) {
    if ((word.arrived & group_page::bit(member)) == 0) continue;
    const std::int64_t taken = header_->taken[member][set % window].load();
    const auto after = static_cast<std::uint64_t>(taken) - static_cast<std::uint64_t>(due);  // whatever others wrote
    sum += std::clamp(static_cast<std::int64_t>(after), -most, most);
  }
  return sum / std::popcount(word.arrived);
}

std::optional<std::uint64_t> GroupPage::first_set() const {
  const std::uint64_t first = header_->first.load();
  return first == 0 ? std::nullopt : std::optional(first - 1);
}

std::uint32_t GroupPage::changes() const { return header_->changes.load(); }

void GroupPage::wait_for_change(std::uint32_t seen, Deadline deadline) const {
  futex_wait(header_->changes, seen, deadline);
}

SetOutcome GroupMember::arrive(std::uint64_t set) {
  const GroupPage::Rules& rules = page_->rules_;
  return arrive(set, 0, rules.on_missing == OnMissing::wait ? Deadline::max() : Clock::now() + rules.max_wait);
}

SetOutcome GroupMember::arrive(std::uint64_t set, std::int64_t taken, Deadline had_its_time) {
  group_page::Header& header = *page_->header_;
  const std::uint16_t self = group_page::bit(member_);
  const std::uint32_t tag = group_page::tag_of(set);
  set_ = set;
  had_its_time_ = had_its_time;
  header.taken[member_][set % GroupPage::window].store(taken);
  header.newest[member_].store(set);  // first: others need not wait for what it has left out
  std::uint64_t none = 0;
  header.first.compare_exchange_strong(none, set + 1);
  failpoint("group.arriving");
  std::atomic<std::uint64_t>& place = header.words[set % GroupPage::window];
  SetOutcome outcome = SetOutcome::late;
  std::uint64_t seen = place.load();
  for (;;) {
    Word word = group_page::unpack(seen);
    const std::int32_t newer = word.is_there() ? group_page::newer_by(word.tag, tag) : -1;
    if (newer > 0) break;
    if (newer < 0) word = {tag, Decision::open, static_cast<std::uint16_t>(header.members.load()), 0};
    outcome = group_page::outcome_of(word, self);
    if (outcome != SetOutcome::open) break;
    word.expected |= self;
    word.arrived |= self;
    if ((word.expected & ~word.arrived) == 0) word.decision = Decision::encode;
    if (!place.compare_exchange_strong(seen, group_page::pack(word))) continue;
    outcome = group_page::outcome_of(word, self);
    if (outcome != SetOutcome::open) note_decision(outcome, set, word.arrived);
    break;
  }
  failpoint("group.arrived");
  page_->count_change();
  return outcome;
}

SetOutcome GroupMember::wait(Deadline deadline) {
  const std::atomic<std::uint32_t>& changes = page_->header_->changes;
  for (;;) {
    const std::uint32_t seen = changes.load();  // first: what changes from here on ends the sleep
    const auto now = Clock::now();
    const bool timed_out = now >= had_its_time_;
    const SetOutcome outcome = look(timed_out);
    if (outcome != SetOutcome::open || now >= deadline) return outcome;
    futex_wait(changes, seen, timed_out ? deadline : std::min(deadline, had_its_time_));
  }
}

// Decides about its set if nobody has, and it is time.
SetOutcome GroupMember::look(bool timed_out) {
  group_page::Header& header = *page_->header_;
  const std::uint16_t self = group_page::bit(member_);
  std::atomic<std::uint64_t>& place = header.words[set_ % GroupPage::window];
  std::uint64_t seen = place.load();
  for (;;) {
    Word word = group_page::unpack(seen);
    if (word.tag != group_page::tag_of(set_)) return SetOutcome::late;
    if (const SetOutcome outcome = group_page::outcome_of(word, self); outcome != SetOutcome::open) return outcome;
    if ((word.arrived & self) == 0) return SetOutcome::broken;
    const auto absent = static_cast<std::uint16_t>(word.expected & ~word.arrived & header.members.load());
    if (not_coming(timed_out, absent) != absent) return SetOutcome::open;
    const bool drops = absent != 0 && page_->rules_.on_missing == OnMissing::drop;
    word.decision = drops ? Decision::drop : Decision::encode;
    failpoint("group.deciding");
    if (!place.compare_exchange_strong(seen, group_page::pack(word))) continue;
    failpoint("group.decided");
    page_->count_change();
    const SetOutcome outcome = group_page::outcome_of(word, self);
    note_decision(outcome, set_, word.arrived);
    return outcome;
  }
}

// Of those that are absent: who has gone past its set, who has had its time, and who was missed before and not seen
// since.
std::uint16_t GroupMember::not_coming(bool timed_out, std::uint16_t absent) {
  std::uint16_t without = 0;
  for (unsigned member = 0; member < GroupPage::max_members; ++member) {
    const std::uint16_t one = group_page::bit(member);
    if ((absent & one) == 0) continue;
    const std::uint64_t newest = page_->header_->newest[member].load();
    if (timed_out && newest <= set_) missed_.at(member) = newest + 1;
    if (newest > set_ || missed_.at(member) == newest + 1) without |= one;
  }
  return without;
}

void GroupMember::note_decision(SetOutcome outcome, std::uint64_t set, std::uint16_t arrived) {
  DecidedSet decided{outcome, std::nullopt};
  std::optional<std::int64_t> first;
  std::optional<std::int64_t> last;
  for (unsigned member = 0; member < GroupPage::max_members; ++member) {
    if ((arrived & group_page::bit(member)) == 0) continue;
    const std::int64_t taken = page_->header_->taken[member][set % GroupPage::window].load();
    first = std::min(first.value_or(taken), taken);
    last = std::max(last.value_or(taken), taken);
  }
  if (std::popcount(arrived) > 1) decided.skew = group_page::difference(*first, *last);
  decided_.push_back(decided);
}

SetOutcome GroupMember::settle(std::uint64_t set) {
  group_page::Header& header = *page_->header_;
  const std::uint32_t tag = group_page::tag_of(set);
  std::atomic<std::uint64_t>& place = header.words[set % GroupPage::window];
  std::uint64_t seen = place.load();
  for (;;) {
    Word word = group_page::unpack(seen);
    const std::int32_t newer = word.is_there() ? group_page::newer_by(word.tag, tag) : -1;
    if (newer > 0) return SetOutcome::late;
    if (newer == 0 && word.decision != Decision::open) return group_page::outcome_of(word, word.arrived);
    if (newer < 0) word = {tag, Decision::open, group_page::bit(member_), 0};  // nobody has come to it
    const bool drops = word.arrived == 0 || (page_->rules_.on_missing == OnMissing::drop &&
                                             (word.expected & ~word.arrived & header.members.load()) != 0);
    word.decision = drops ? Decision::drop : Decision::encode;
    failpoint("group.settling");
    if (!place.compare_exchange_strong(seen, group_page::pack(word))) continue;
    page_->count_change();
    const SetOutcome outcome = drops ? SetOutcome::drop : SetOutcome::encode;
    if (word.arrived != 0) note_decision(outcome, set, word.arrived);
    return outcome;
  }
}

std::optional<std::uint64_t> GroupMember::newest_decided(std::uint64_t set) const {
  std::uint64_t newest = set;
  for (const auto& of : page_->header_->newest) newest = std::max(newest, of.load());
  for (std::uint64_t at = newest; at > set && newest - at < GroupPage::window; --at) {
    const SetOutcome outcome = page_->decision(at);
    if (outcome == SetOutcome::encode || outcome == SetOutcome::drop) return at;
  }
  return std::nullopt;
}

bool GroupMember::has_company() const {
  return (page_->header_->members.load() & ~std::uint32_t{group_page::bit(member_)}) != 0;
}

}  // namespace campipe
