// Where the members of a group meet, in one process. Deaths are in tests/faults/group_kill_test.cpp.
#include "ipc/group_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "core/error.h"
#include "tests/unit/ring_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using test::after;
using Outcome = SetOutcome;

constexpr std::uint64_t first = 54'000'000'123;  // 30 a second since 1970

std::shared_ptr<GroupPage> page_of(unsigned members, OnMissing on_missing, std::chrono::nanoseconds max_wait = 1min) {
  auto page = GroupPage::create({on_missing, max_wait});
  for (unsigned member = 0; member < members; ++member) page->add(member);
  return page;
}

TEST(GroupPage, IsDecidedByTheLastArrival) {
  for (const OnMissing on_missing : {OnMissing::repeat, OnMissing::drop, OnMissing::wait}) {
    const auto page = page_of(3, on_missing);
    GroupMember a(page, 0);
    GroupMember b(GroupPage::open(duplicate(page->fd())), 1);
    GroupMember c(page, 2);
    EXPECT_EQ(a.arrive(first), Outcome::open);
    EXPECT_EQ(b.arrive(first), Outcome::open);
    EXPECT_EQ(page->decision(first), Outcome::open);
    EXPECT_EQ(a.wait(after(1ms)), Outcome::open) << "the deadline";
    EXPECT_EQ(c.arrive(first), Outcome::encode);
    EXPECT_EQ(a.wait(after(1min)), Outcome::encode);
    EXPECT_EQ(b.wait(after(1min)), Outcome::encode);
    EXPECT_EQ(page->decision(first), Outcome::encode);
    EXPECT_EQ(page->decision(first + 1), Outcome::late);
  }
}

TEST(GroupPage, IsDecidedWhenItHasHadItsTime) {
  for (const auto& [on_missing, outcome] :
       {std::pair{OnMissing::repeat, Outcome::encode}, {OnMissing::drop, Outcome::drop}}) {
    const auto page = page_of(3, on_missing, 30ms);
    GroupMember a(page, 0);
    GroupMember b(page, 1);
    GroupMember c(page, 2);
    const auto begin = Clock::now();
    a.arrive(first);
    b.arrive(first);
    EXPECT_EQ(a.wait(after(1min)), outcome);
    EXPECT_GE(Clock::now() - begin, 30ms);
    EXPECT_EQ(b.wait(after(1min)), outcome);
    EXPECT_EQ(c.arrive(first), Outcome::late);
    EXPECT_EQ(c.wait(after(1min)), Outcome::late);
    EXPECT_EQ(page->decision(first), outcome);
    // The next one is complete again.
    a.arrive(first + 1);
    b.arrive(first + 1);
    EXPECT_EQ(c.arrive(first + 1), Outcome::encode);
  }
}

TEST(GroupPage, WaitsForWhomItIsToWait) {
  const auto page = page_of(2, OnMissing::wait, 1ms);
  GroupMember a(page, 0);
  GroupMember b(page, 1);
  a.arrive(first);
  EXPECT_EQ(a.wait(after(50ms)), Outcome::open);
  std::jthread late([&] {
    std::this_thread::sleep_for(20ms);
    b.arrive(first);
  });
  EXPECT_EQ(a.wait(after(1min)), Outcome::encode);
}

// Who has no frame of a set, or is gone, is not waited for.
TEST(GroupPage, DoesNotWaitForWhoWillNotCome) {
  struct Case {
    OnMissing on_missing;
    Outcome without_a_frame;
  };
  for (const auto& [on_missing, without_a_frame] : {Case{OnMissing::repeat, Outcome::encode},
                                                    {OnMissing::drop, Outcome::drop},
                                                    {OnMissing::wait, Outcome::encode}}) {
    const auto page = page_of(2, on_missing);
    GroupMember a(page, 0);
    GroupMember b(page, 1);
    EXPECT_EQ(a.arrive(first), Outcome::open);
    std::jthread other([&] { EXPECT_EQ(b.arrive(first + 1), Outcome::open); });
    EXPECT_EQ(a.wait(after(1min)), without_a_frame);
    other.join();
    // It is gone past this set before that begins.
    b.arrive(first + 3);
    EXPECT_EQ(a.arrive(first + 2), Outcome::open);
    EXPECT_EQ(a.wait(after(1min)), without_a_frame);

    EXPECT_EQ(a.arrive(first + 4), Outcome::open);
    std::jthread supervisor([&] { page->remove(1); });
    EXPECT_EQ(a.wait(after(1min)), Outcome::encode);
    EXPECT_EQ(a.arrive(first + 5), Outcome::encode) << "it is alone";
  }
}

TEST(GroupPage, ExpectsANewMemberInTheNextSet) {
  const auto page = page_of(2, OnMissing::wait);
  GroupMember a(page, 0);
  GroupMember b(page, 1);
  GroupMember c(page, 2);
  a.arrive(first);
  page->add(2);
  EXPECT_EQ(b.arrive(first), Outcome::encode);
  a.arrive(first + 1);
  EXPECT_EQ(b.arrive(first + 1), Outcome::open);
  EXPECT_EQ(c.arrive(first + 1), Outcome::encode);
  // It may come to a set that does not expect it.
  page->remove(2);
  a.arrive(first + 2);
  page->add(2);
  EXPECT_EQ(c.arrive(first + 2), Outcome::open);
  EXPECT_EQ(b.arrive(first + 2), Outcome::encode);
  EXPECT_EQ(c.wait(after(1min)), Outcome::encode);
}

TEST(GroupPage, AnOldSetGivesWayToANewOne) {
  const auto page = page_of(2, OnMissing::repeat);
  GroupMember a(page, 0);
  GroupMember b(page, 1);
  a.arrive(first);
  b.arrive(first + GroupPage::window);
  EXPECT_EQ(a.wait(after(1min)), Outcome::late);
  EXPECT_EQ(page->decision(first), Outcome::late);
  EXPECT_EQ(a.arrive(first + GroupPage::window), Outcome::encode);
  GroupMember other(page, 2);
  EXPECT_EQ(other.arrive(first), Outcome::late);
  EXPECT_EQ(page->decision(first + GroupPage::window), Outcome::encode);
}

TEST(GroupPage, NumbersMayGoBeyondItsTags) {
  const auto page = page_of(2, OnMissing::repeat);
  GroupMember a(page, 0);
  GroupMember b(page, 1);
  const std::uint64_t end = std::uint64_t{1} << 32;
  for (std::uint64_t set = end - 600; set < end + 600; ++set) {
    ASSERT_EQ(a.arrive(set), Outcome::open) << set;
    ASSERT_EQ(b.arrive(set), Outcome::encode) << set;
    ASSERT_EQ(a.wait(Clock::now()), Outcome::encode) << set;
  }
  EXPECT_EQ(page->decision(end + 600 - GroupPage::window), Outcome::encode);
  EXPECT_EQ(page->decision(end + 599 - GroupPage::window), Outcome::late);
  EXPECT_EQ(GroupMember(page, 2).arrive(end - 1), Outcome::late);
}

// Four that are late, and leave sets out, at random: no set is encoded by one and dropped by another. To the first one
// all come before anybody's wait for the others is over, however busy the machine is.
TEST(GroupPage, AllActAlike) {
  constexpr std::uint64_t sets = 1500;
  for (const OnMissing on_missing : {OnMissing::repeat, OnMissing::drop, OnMissing::wait}) {
    const auto page = page_of(4, on_missing, 1ms);
    std::vector<std::map<std::uint64_t, Outcome>> found(4);
    std::barrier all_are_there(4);
    {
      std::vector<std::jthread> threads;
      for (unsigned number = 0; number < 4; ++number) {
        threads.emplace_back([&, number] {
          std::mt19937 random(number);
          GroupMember member(page, number);
          member.arrive(first);
          all_are_there.arrive_and_wait();
          found[number][first] = member.wait(after(1min));
          for (std::uint64_t set = first + 1; set < first + sets; ++set) {
            if (random() % 10 == 0) continue;
            if (random() % 50 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
            member.arrive(set);
            found[number][set] = member.wait(after(1min));
          }
          page->remove(number);
        });
      }
    }
    std::map<Outcome, int> count;
    for (std::uint64_t set = first; set < first + sets; ++set) {
      const Outcome decision = page->decision(set);
      for (const auto& outcomes : found) {
        const auto own = outcomes.find(set);
        if (own == outcomes.end()) continue;
        ++count[own->second];
        if (own->second == Outcome::late) continue;
        for (const auto& others : found) {
          const auto other = others.find(set);
          if (other != others.end() && other->second != Outcome::late) {
            ASSERT_EQ(own->second, other->second) << set;
          }
        }
        if (set + GroupPage::window > first + sets) {
          EXPECT_EQ(own->second, decision);
        }
      }
    }
    EXPECT_EQ(count[Outcome::open] + count[Outcome::broken], 0);
    EXPECT_GT(count[Outcome::encode], 0);
    EXPECT_EQ(count[Outcome::drop] > 0, on_missing == OnMissing::drop);
    if (on_missing == OnMissing::wait) {
      EXPECT_EQ(count[Outcome::late], 0);
    }
  }
}

// Who has left out sets settles them, before it acts on the one behind: then nobody can encode them any more.
TEST(GroupPage, ASetThatAMemberHasPassedIsSettled) {
  const auto page = page_of(3, OnMissing::repeat);
  GroupMember a(page, 0);
  GroupMember b(page, 1);
  GroupMember c(page, 2);
  EXPECT_FALSE(page->first_set());
  EXPECT_EQ(b.arrive(first), Outcome::open);
  EXPECT_EQ(page->first_set(), first);
  a.arrive(first + 2);
  EXPECT_EQ(a.newest_decided(first - 1), std::nullopt);
  EXPECT_EQ(a.settle(first), Outcome::encode) << "b has a frame";
  EXPECT_EQ(a.settle(first + 1), Outcome::drop) << "nobody has come to it";
  EXPECT_EQ(a.newest_decided(first - 1), first + 1);
  EXPECT_EQ(b.wait(after(1min)), Outcome::encode);
  EXPECT_EQ(b.arrive(first + 1), Outcome::late);
  EXPECT_EQ(c.settle(first), Outcome::encode);
  EXPECT_EQ(c.settle(first + 1), Outcome::drop);
  a.arrive(first + 2 + GroupPage::window);
  EXPECT_EQ(b.settle(first + 2), Outcome::late) << "it is not remembered";
}

TEST(GroupPage, ASetWithAHoleIsDroppedBySettling) {
  const auto page = page_of(2, OnMissing::drop);
  GroupMember a(page, 0);
  GroupMember b(page, 1);
  b.arrive(first);
  EXPECT_EQ(a.settle(first), Outcome::drop);
  EXPECT_EQ(b.wait(after(1min)), Outcome::drop);
}

// A member that was missing is not waited for again before it has come to a set.
TEST(GroupPage, DoesNotWaitTwiceForWhoIsAway) {
  const auto page = page_of(2, OnMissing::wait);
  GroupMember a(page, 0);
  GroupMember b(page, 1);
  b.arrive(first);
  a.arrive(first + 1, 0, after(20ms));
  EXPECT_EQ(a.wait(after(1min)), Outcome::encode);
  EXPECT_EQ(a.arrive(first + 2, 0, after(1min)), Outcome::open);
  EXPECT_EQ(a.wait(after(30s)), Outcome::encode) << "at once";
  EXPECT_EQ(b.arrive(first + 2), Outcome::late);
  EXPECT_EQ(a.arrive(first + 3, 0, after(1min)), Outcome::open);
  EXPECT_EQ(a.wait(after(20ms)), Outcome::open) << "it is back";
}

TEST(GroupPage, MeasuresHowFarApartTheFramesOfASetWereTaken) {
  const auto page = page_of(3, OnMissing::repeat);
  GroupMember a(page, 0);
  GroupMember b(page, 1);
  GroupMember c(page, 2);
  a.arrive(first, 1000, after(1min));
  b.arrive(first, 400, after(1min));
  c.arrive(first, 700, after(1min));
  EXPECT_TRUE(a.decided().empty() && b.decided().empty());
  ASSERT_EQ(c.decided().size(), 1U);
  EXPECT_EQ(c.decided()[0].outcome, Outcome::encode);
  EXPECT_EQ(c.decided()[0].skew, 600);
  c.forget_decided();
  EXPECT_TRUE(c.decided().empty());
}

TEST(GroupPage, IsOpenedOnlyAsWhatItIs) {
  const GroupPage::Rules rules{OnMissing::drop, 123ms};
  const auto page = GroupPage::create(rules);
  EXPECT_EQ(GroupPage::open(duplicate(page->fd()))->rules(), rules);
  EXPECT_THROW(GroupPage::open(create_shared_memory("other", 1 << 16)), Error);
  EXPECT_THROW(GroupPage::open(create_shared_memory("small", 64)), Error);
  const Mapping mapping(page->fd(), Mapping::Access::read_write);
  for (const auto& [at, value] : {std::pair<std::size_t, int>{0, 1}, {4, 99}, {15, 0xff}, {14, 0xff}, {16, 3}}) {
    const std::uint8_t before = mapping.bytes()[at];
    mapping.bytes()[at] = static_cast<std::uint8_t>(value);
    EXPECT_THROW(GroupPage::open(duplicate(page->fd())), Error) << at;
    mapping.bytes()[at] = before;
  }
  EXPECT_NO_THROW(GroupPage::open(duplicate(page->fd())));
}

// Whatever another member writes there: an outcome, in time.
TEST(GroupPage, EndsInTimeWithGarbage) {
  std::mt19937_64 random(3);
  const auto page = page_of(2, OnMissing::repeat, 1ms);
  const Mapping mapping(page->fd(), Mapping::Access::read_write);
  constexpr std::size_t rules = 24;
  const std::size_t words = mapping.bytes().size() - (GroupPage::max_members + 1) * GroupPage::window * 8;
  GroupMember member(page, 0);
  std::map<Outcome, int> count;
  for (std::uint64_t set = first; set < first + 3000; ++set) {
    const bool arrives = random() % 2 == 0;
    if (arrives) member.arrive(set);
    for (std::size_t at = rules; at + 8 <= mapping.bytes().size(); at += 8) {
      const std::uint64_t word = random();
      std::memcpy(&mapping.bytes()[at], &word, sizeof word);
    }
    // With this set's tag, so that it gets further.
    const std::uint64_t word = (set / GroupPage::window & 0xffffff) << 34 | random() >> 30;
    std::memcpy(&mapping.bytes()[words + set % GroupPage::window * 8], &word, sizeof word);
    if (!arrives) member.arrive(set);
    ++count[member.wait(after(5ms))];
    ++count[page->decision(set)];
  }
  for (const Outcome outcome : {Outcome::encode, Outcome::drop, Outcome::late, Outcome::broken}) {
    EXPECT_GT(count[outcome], 0) << static_cast<int>(outcome);
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
