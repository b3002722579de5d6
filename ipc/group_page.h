// A group of cameras gives its frames in sets: the members that filter and encode them, up to 16 in several processes,
// meet here for each set and act alike on it, so that recordings of the group have the same frames.
//
// The page has one atomic word for each of the newest 1024 sets: {tag 24 | decision 2 | expected 16 | arrived 16}. Set
// n has word n mod 1024, and the tag is what is left of n; 2^34 sets are eighteen years at 30 a second. Members arrive
// as at a barrier. The last one that is expected decides with its arrival; who waits decides as soon as all who are
// missing have died, or gone past this set without a frame, or the set has had its time. All decide by the same
// compare-exchange, so there is one decision. What comes after it, or to a set whose word a newer one has, is late.
//
// Each member acts on every set from the group's first on, in order, also on those of which it has no frame: before it
// acts on a set it settles those before, which closes the ones that nobody has come to. What is settled stays so, and
// thus all members act on the same sets.
//
// No member waits for one that is gone: the supervisor removes it, and what it has arrived at stays as it was. Checked
// exhaustively in tests/model/group_page_model_test.cpp.
//
// Every member can write the whole page. What it holds is copied, checked, and used: a member that writes what cannot
// be costs its group synchronisation, and nobody else anything.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/unique_handle.h"
#include "ipc/shared_memory.h"

namespace campipe {

// What becomes of a set for which a member has no frame in time.
enum class OnMissing : std::uint8_t {
  repeat,  // who has a frame encodes it; a missing member repeats its last one
  drop,    // nobody encodes the set
  wait     // as `repeat`, and who has a frame gives the others long
};

enum class SetOutcome : std::uint8_t {
  open,    // not decided yet
  encode,  // by all: those that arrived their frame, the others their last one again
  drop,    // by all
  late,    // it was decided without this member, or so long ago that nobody knows
  broken   // the page holds what cannot be: the member must leave the group
};

namespace group_page {
struct Header;
}

class GroupPage {
 public:
  static constexpr unsigned max_members = 16;
  static constexpr unsigned window = 1024;  // sets that the page remembers

  struct Rules {
    OnMissing on_missing = OnMissing::repeat;
    std::chrono::nanoseconds max_wait = std::chrono::milliseconds(200);  // of a set's first arrival, for the others
    friend bool operator==(const Rules&, const Rules&) = default;
  };

  // Supervisor. Throws Error.
  static std::shared_ptr<GroupPage> create(const Rules& rules);
  // Throws Error when it is not a page of this version, or has rules that cannot be.
  static std::shared_ptr<GroupPage> open(UniqueFd fd);

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const Rules& rules() const { return rules_; }

  // Supervisor: before the member's process gets the page; sets that begin from then on wait for it. Its successor has
  // the same place.
  void add(unsigned member);
  // Supervisor: once the member's process is gone, or when it is through: nobody waits for it any more.
  void remove(unsigned member);

  // What was decided about a set: encode, drop or open; late: nobody arrived at it, or it is not remembered.
  [[nodiscard]] SetOutcome decision(std::uint64_t set) const;
  // How much later than `due` the frames of a set were taken that is decided: the mean of those that came in time, each
  // of which counts as `most` off at most (ns). The same for all who ask. Nothing: it is not decided or not remembered,
  // or none came.
  [[nodiscard]] std::optional<std::int64_t> taken_after(std::uint64_t set, std::int64_t due, std::int64_t most) const;
  // The first one that a member arrived at. Sets before it are late for all. Nothing: nobody has arrived.
  [[nodiscard]] std::optional<std::uint64_t> first_set() const;
  // How often something has changed, and to wait until that is not `seen` any more.
  [[nodiscard]] std::uint32_t changes() const;
  void wait_for_change(std::uint32_t seen, Deadline deadline) const;

 private:
  friend class GroupMember;
  GroupPage(UniqueFd fd, Mapping mapping, const Rules& rules);
  void count_change();

  UniqueFd fd_;
  Mapping mapping_;
  group_page::Header* header_;
  Rules rules_;  // a copy
};

// How far apart the frames of a set were taken that this member has decided about, in ns; nothing: fewer than two
// frames.
struct DecidedSet {
  SetOutcome outcome = SetOutcome::open;  // encode or drop
  std::optional<std::int64_t> skew;
};

// One member. Used by one thread; several may use one page.
class GroupMember {
 public:
  // `member`: less than max_members; the supervisor has added it.
  GroupMember(std::shared_ptr<GroupPage> page, unsigned member) : page_(std::move(page)), member_(member) {}

  // It has a frame of `set`, taken then (ns, by a clock that all members have), and will have none of the sets before.
  // Sets must grow, and be of the present: a member that is ahead of its time has the others come late. Does not wait.
  // `had_its_time`: when the set is to be decided without those that have not come.
  SetOutcome arrive(std::uint64_t set, std::int64_t taken, Deadline had_its_time);
  // By the page's rules: after max_wait, or, with `wait`, never.
  SetOutcome arrive(std::uint64_t set);
  // Waits for the decision about the set that it arrived at last. `open`: the deadline came first; ask again. Whom it
  // had to do without it does not wait for again before that one has arrived at a set.
  SetOutcome wait(Deadline deadline);

  // What all members do about a set that is over for this one: encode or drop, for good; late: it is not remembered.
  // A set that is open is decided without those who have not come, and one that nobody has come to is dropped. For sets
  // before one that is decided, in order.
  SetOutcome settle(std::uint64_t set);
  // The newest set that is decided, of those behind `set`, for a member that has no frame.
  [[nodiscard]] std::optional<std::uint64_t> newest_decided(std::uint64_t set) const;
  // It will arrive at no set any more, and is not waited for.
  void leave() { page_->remove(member_); }
  // Others are still expected.
  [[nodiscard]] bool has_company() const;
  // The sets about which it was this member that decided, since they were forgotten last.
  [[nodiscard]] const std::vector<DecidedSet>& decided() const { return decided_; }
  void forget_decided() { decided_.clear(); }

 private:
  SetOutcome look(bool timed_out);
  [[nodiscard]] std::uint16_t not_coming(bool timed_out, std::uint16_t absent);
  void note_decision(SetOutcome outcome, std::uint64_t set, std::uint16_t arrived);

  std::shared_ptr<GroupPage> page_;
  unsigned member_;
  std::uint64_t set_ = 0;
  Deadline had_its_time_;                                       // the set, as this member has seen it
  std::array<std::uint64_t, GroupPage::max_members> missed_{};  // how far those were that it did without
  std::vector<DecidedSet> decided_;
};

}  // namespace campipe
