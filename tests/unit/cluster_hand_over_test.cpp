// Which node does what must not happen twice, and how a camera goes from one node to another one without a gap: what
// nodes make of one another's keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/cluster/effects.h"
#include "app/cluster/node_hand_over.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

const ClusterKeys keys("test");
const Clock::time_point start = Clock::time_point() + 1h;
constexpr std::int64_t lease_of_a = 7;
constexpr std::int64_t lease_of_b = 8;

MembershipState member(std::int64_t lease) { return {MembershipState::Stage::member, lease, start + 4s}; }

class HandOverTest : public testing::Test {
 protected:
  void put(const std::string& key, const std::string& value, std::int64_t lease = 0) {
    ++revision_;
    mirror_.apply({false, {{false, {key, value, revision_, revision_, 1, lease}}}, revision_});
  }
  void erase(const std::string& key) {
    ++revision_;
    mirror_.apply({false, {{true, {key, "", 0, revision_}}}, revision_});
  }
  // As etcd carries them out.
  void carry_out(const OwnKeyChanges& changes) {
    for (const EtcdKeyValue& key : changes.releases) erase(key.key);
    for (const auto& [key, value] : changes.claims) {
      if (mirror_.find(key) == nullptr) put(key, value, changes.lease);
    }
    for (const auto& [key, value] : changes.puts) put(key, value, changes.lease);
  }
  void assign(const std::string& camera, const std::string& node, const std::string& from = "") {
    put(keys.generation(1) + camera, write_assignment({.node = node, .from = from, .epoch = 1}));
    put(keys.plan(), R"({"schema":1,"generation":1,"epoch":1})");
  }
  const NodeDuties& duties(DutyKeeper& keeper) { return keeper.update(read_plan(mirror_, keys), mirror_, keys); }

  EtcdMirror mirror_;
  std::int64_t revision_ = 0;
};

TEST(FenceText, Sorts) {
  EXPECT_EQ(text_of({1, 57}), "1.0000000057");
  EXPECT_LT(text_of({1, 57}), text_of({1, 157}));
  EXPECT_LT(text_of({1, 157}), text_of({1'800'000'000, 3})) << "an epoch that was raised is the time";
}

TEST(FenceText, IsReadAsItWasWritten) {
  for (const Fence& fence : {Fence{1, 57}, Fence{1'800'000'000, 3}, Fence{~0ULL, INT64_MAX}})
    EXPECT_EQ(read_fence(text_of(fence)), fence);
  for (const char* bad : {"", ".", "1", "1.", ".1", "1.-1", "1.1.", "x.1", "1.99999999999999999999"})
    EXPECT_FALSE(read_fence(bad)) << bad;
}

TEST_F(HandOverTest, EffectsAreOneNodesUntilItGivesThemBack) {
  Effects a(keys, "a");
  Effects b(keys, "b");
  put(keys.nodes(), "");  // so that something is known
  const auto update = [&](Effects& of, std::int64_t lease, bool writes = true) {
    OwnKeyChanges changes{lease};
    const auto held = of.update(mirror_, member(lease), {{"dock", {{1, 5}}}}, changes);
    if (writes && !changes.empty()) {
      of.on_written(changes);
      carry_out(changes);
    }
    return held;
  };
  EXPECT_THAT(update(a, lease_of_a), IsEmpty());
  a.want({"dock"});
  EXPECT_THAT(update(a, lease_of_a), IsEmpty()) << "not before it is known that it is there";
  EXPECT_THAT(update(a, lease_of_a), ElementsAre("dock"));
  EXPECT_EQ(mirror_.find(keys.effect("dock"))->value, R"({"fence":"1.0000000005","node":"a","schema":1})");
  b.want({"dock"});
  EXPECT_THAT(update(b, lease_of_b), IsEmpty());
  EXPECT_THAT(update(b, lease_of_b), IsEmpty());

  // A process that goes on for another one of its node under the same lease keeps what that had.
  Effects next(keys, "a");
  EXPECT_THAT(update(next, lease_of_a), IsEmpty());
  next.want({"dock"});
  EXPECT_THAT(update(next, lease_of_a), ElementsAre("dock"));
  // Another lease: what was made under the one before is not its own.
  EXPECT_THAT(update(next, 9), IsEmpty());

  a.want({});
  EXPECT_THAT(update(a, lease_of_a), IsEmpty());
  EXPECT_THAT(update(b, lease_of_b), IsEmpty());
  EXPECT_THAT(update(b, lease_of_b), ElementsAre("dock"));
}

// It has asked for its key to be erased, and another node may have made it anew before this one sees that.
TEST_F(HandOverTest, EffectsThatAreBeingGivenBackAreOver) {
  Effects a(keys, "a");
  a.want({"dock"});
  put(keys.effect("dock"), "{}", lease_of_a);
  OwnKeyChanges none{lease_of_a};
  ASSERT_THAT(a.update(mirror_, member(lease_of_a), {}, none), ElementsAre("dock"));
  a.want({});
  OwnKeyChanges changes{lease_of_a};
  a.update(mirror_, member(lease_of_a), {}, changes);
  ASSERT_THAT(changes.releases, SizeIs(1));
  a.on_written(changes);
  a.want({"dock"});
  EXPECT_THAT(a.update(mirror_, member(lease_of_a), {}, none), IsEmpty());
  carry_out(changes);
  OwnKeyChanges again{lease_of_a};
  EXPECT_THAT(a.update(mirror_, member(lease_of_a), {}, again), IsEmpty());
  carry_out(again);
  EXPECT_THAT(a.update(mirror_, member(lease_of_a), {}, none), ElementsAre("dock"));
}

TEST_F(HandOverTest, ANodeGoesOnUntilTheNextOneRecords) {
  DutyKeeper a("a");
  DutyKeeper b("b");
  NodeHandOver from(keys, "a");
  NodeHandOver to(keys, "b");
  assign("dock", "a");
  EXPECT_THAT(duties(b), IsEmpty());
  ASSERT_THAT(duties(a), SizeIs(1));
  const Fence before = duties(a).at("dock").fence;
  assign("dock", "b", "a");
  const NodeDuty leaving = duties(a).at("dock");
  const NodeDuty coming = duties(b).at("dock");
  EXPECT_EQ(leaving, (NodeDuty{before, "", "b", coming.fence})) << "its files keep their names";
  EXPECT_FALSE(coming.is_leaving());
  EXPECT_EQ(coming.from, "a");

  const auto update = [&](NodeHandOver& of, DutyKeeper& keeper, std::int64_t lease, Clock::time_point now) {
    OwnKeyChanges changes{lease};
    auto kept = of.update(mirror_, member(lease), duties(keeper), now, changes);
    carry_out(changes);
    return kept;
  };
  to.set_recorded({{"dock", text_of(before)}});
  EXPECT_THAT(update(to, b, lease_of_b, start), IsEmpty());
  EXPECT_TRUE(duties(a).at("dock").is_leaving()) << "that was recorded under another fence";
  EXPECT_THAT(update(from, a, lease_of_a, start), IsEmpty());
  EXPECT_THAT(update(from, a, lease_of_a, start + 19s), IsEmpty());
  EXPECT_THAT(update(from, a, lease_of_a, start + 20s), ElementsAre(Pair("dock", "b")));
  EXPECT_EQ(mirror_.find(keys.kept("a", "dock"))->value, R"({"fence":")" + text_of(coming.fence) + R"(","schema":1})");
  const std::int64_t written = revision_;
  update(from, a, lease_of_a, start + 40s);
  EXPECT_EQ(revision_, written) << "once";

  to.set_recorded({{"dock", text_of(coming.fence)}});
  update(to, b, lease_of_b, start + 41s);
  EXPECT_THAT(duties(a), IsEmpty());
  EXPECT_THAT(update(from, a, lease_of_a, start + 41s), IsEmpty());
  EXPECT_EQ(mirror_.find(keys.kept("a", "dock")), nullptr);
  const std::int64_t said = revision_;
  update(to, b, lease_of_b, start + 42s);
  EXPECT_EQ(revision_, said) << "once";
  // Its lease ends the key: that the camera has gone over stays so.
  erase(keys.recorder("b", "dock"));
  EXPECT_THAT(duties(a), IsEmpty());
}

// As after a backup was restored.
TEST_F(HandOverTest, ANodeEndsAlsoWhereThePlanDoesNotNameIt) {
  DutyKeeper a("a");
  DutyKeeper b("b");
  NodeHandOver from(keys, "a");
  NodeHandOver to(keys, "b");
  const auto update = [&](NodeHandOver& of, DutyKeeper& keeper, std::int64_t lease, Clock::time_point now) {
    OwnKeyChanges changes{lease};
    of.update(mirror_, member(lease), duties(keeper), now, changes);
    carry_out(changes);
  };
  assign("dock", "a");
  duties(a);
  assign("dock", "b");
  to.set_recorded({{"dock", text_of(duties(b).at("dock").fence)}});
  EXPECT_TRUE(duties(a).at("dock").is_leaving());
  update(from, a, lease_of_a, start);
  update(to, b, lease_of_b, start);
  EXPECT_THAT(duties(a), IsEmpty()) << "the next one does not know of it, so it is asked at once";
  update(from, a, lease_of_a, start + 1s);
  update(to, b, lease_of_b, start + 1s);
  EXPECT_EQ(mirror_.find(keys.recorder("b", "dock")), nullptr) << "nobody asks any more";
  EXPECT_THAT(duties(a), IsEmpty());
}

TEST_F(HandOverTest, WhoComesAfterADeadOneGoesOnWithWhatLeaves) {
  DutyKeeper before("a");
  assign("dock", "a");
  assign("gate", "a");
  const EtcdMirror backup = mirror_;
  assign("gate", "a");
  const NodeDuties known = duties(before);
  assign("dock", "b", "a");
  DutyKeeper after("a", known);
  EXPECT_EQ(duties(after), duties(before));
  EXPECT_TRUE(duties(after).at("dock").is_leaving());
  put(keys.generation(1) + "gate", "{}");
  EXPECT_EQ(duties(after).at("gate"), known.at("gate")) << "what cannot be read changes nothing";
  // Nor does what is older than that which the dead one obeyed, or etcd without its data.
  DutyKeeper late("a", known);
  EXPECT_EQ(late.update(read_plan(backup, keys), backup, keys), known);
  EXPECT_TRUE(late.plan_is_older());
  EXPECT_EQ(late.update(StoredPlan(), EtcdMirror(), keys), known);
  EXPECT_TRUE(late.plan_is_older());
}

TEST_F(HandOverTest, ACameraThatItsNextNodeNeverRecordedComesBackWithoutAGap) {
  DutyKeeper a("a");
  assign("dock", "a");
  duties(a);
  assign("dock", "b", "a");
  ASSERT_TRUE(duties(a).at("dock").is_leaving());
  assign("dock", "c", "b");  // b has died
  EXPECT_EQ(duties(a).at("dock").to, "c");
  assign("dock", "a", "c");
  EXPECT_FALSE(duties(a).at("dock").is_leaving());
  assign("dock", "", "a");  // others are more important
  EXPECT_THAT(duties(a), IsEmpty());
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
