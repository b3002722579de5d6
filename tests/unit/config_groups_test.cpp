// Synchronised groups in the file: what is read, what their cameras get of it, and every mistake with its place.
#include <gmock/gmock.h>

#include "app/config/json.h"
#include "app/config/rig_groups.h"
#include "tests/unit/config_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Three cameras on lines 1 to 5; what follows begins on line 6.
std::string with_cameras(const std::string& rest, const std::string& more = "") {
  return "cameras:\n  left: {source: '" + pattern + "'" + more + "}\n  right: {source: '" + pattern + "'" + more +
         "}\n  top: {source: '" + pattern + "'}\n  gate: {source: 'rtsp://127.0.0.1/a'}\n" + rest;
}

std::string with_group(const std::string& keys, const std::string& more = "") {
  return with_cameras("sync_groups: {stereo: {" + keys + "}}\n", more);
}

class ConfigGroups : public ConfigTest {};

TEST_F(ConfigGroups, GiveTheirCamerasWhatFollowsFromThem) {
  const auto all = cameras(with_group("cameras: [left, right], rate: 25"));
  const GroupConfig expected{"stereo", 25, 10ms, 200ms, OnMissing::repeat};
  EXPECT_EQ(all.at(0).group, expected);
  EXPECT_EQ(all.at(1).group, expected);
  EXPECT_FALSE(all.at(2).group);
  EXPECT_EQ(all[0].encode.codec, "h264") << "what is passed on as it comes cannot be repeated";
  EXPECT_EQ(all[0].queue_size, 9) << "five frames come in 200 ms, and there are some to spare";
  EXPECT_EQ(all[2].queue_size, 8);
  EXPECT_EQ(resolved_outputs(all[0]).at(0).group, expected);
}

TEST_F(ConfigGroups, EncodeWhatWouldBePassedOnAsItComes) {
  const std::string live =
      "cameras: {a: {source: 'rtsp://127.0.0.1/a'}, b: {source: 'rtsp://127.0.0.1/b'}, "
      "c: {source: 'rtsp://127.0.0.1/c'}}\nsync_groups: {g: {cameras: [a, b], rate: 25}}\n";
  EXPECT_EQ(cameras(live).at(0).encode.codec, "h264");
  EXPECT_EQ(cameras(live).at(2).encode.codec, "auto");
}

TEST_F(ConfigGroups, HaveKeysOfTheirOwn) {
  const auto all =
      cameras(with_group("cameras: [left, right], rate: 12.5, tolerance: 3ms, max_wait: 1s, on_missing: drop"));
  EXPECT_EQ(all.at(1).group, (GroupConfig{"stereo", 12.5, 3ms, 1s, OnMissing::drop}));
}

TEST_F(ConfigGroups, TakeTheRateOfTheirCameras) {
  EXPECT_EQ(cameras(with_group("cameras: [left, right]", ", rate: 12")).at(0).group->rate, 12);
  EXPECT_THAT(errors(with_group("cameras: [left, right]")),
              ElementsAre("rig.yaml:6:15: sync_groups.stereo: missing key 'rate': none of its cameras has one"));
}

// Of cameras, `rate` may be from 0 to 1000.
TEST_F(ConfigGroups, HaveNoRateThatIsNone) {
  EXPECT_THAT(
      errors(with_group("cameras: [left, right], max_wait: 1ms", ", rate: 300")),
      ElementsAre("rig.yaml:6:15: sync_groups.stereo: its cameras have a rate of 300, and a group has 0.1 to 240 "
                  "sets a second; give the group a `rate` of its own"));
  EXPECT_THAT(errors(with_group("cameras: [left, right]", ", rate: 0.05")), ElementsAre(HasSubstr("a rate of 0.05,")));
  EXPECT_EQ(cameras(with_group("cameras: [left, right], rate: 25", ", rate: 300")).at(0).group->rate, 25);
}

TEST_F(ConfigGroups, HaveTheirKeyFramesAtTheSamePlaces) {
  const auto rig = [](const std::string& left, const std::string& right) {
    return "cameras:\n  left: {source: '" + pattern + "'" + left + "}\n  right: {source: '" + pattern + "'" + right +
           "}\nsync_groups: {stereo: {cameras: [left, right], rate: 5}}\n";
  };
  EXPECT_THAT(errors(rig(", encode: {gop: 1s}", ", encode: {gop: 1s}")), IsEmpty());
  EXPECT_THAT(errors(rig(", encode: {gop: 2s}", "")), IsEmpty()) << "that is what it is";
  EXPECT_THAT(errors(rig(", encode: {gop: 1s}", ", encode: {gop: 10}")),
              ElementsAre(testing::AllOf(
                  HasSubstr("rig.yaml:3:"),
                  HasSubstr("cameras.right.encode.gop: camera 'right' of "
                            "group 'stereo' has key frames elsewhere than camera 'left'; give all cameras of the group "
                            "the same `gop`"))));
  EXPECT_THAT(errors(rig(", encode: {gop: 1s}", "")),
              ElementsAre(HasSubstr("rig.yaml:4:40: sync_groups.stereo.cameras[1]: camera 'right'")));
  EXPECT_THAT(errors(rig(", encode: {gop: 1s}", ", encode: {codec: mjpeg}")), IsEmpty())
      << "all of its frames are some";
}

TEST_F(ConfigGroups, AllMistakesAreReportedAtOnce) {
  EXPECT_THAT(errors("cameras:\n  left: {source: '" + pattern + "', encode: {gop: 1s}}\n  right: {source: '" + pattern +
                     "', pace: fast}\n  gate: {source: 'rtsp://127.0.0.1/a'}\n"
                     "sync_groups:\n  stereo: {cameras: [left, right, gate, nobody], rate: 60, max_wait: 1s}\n"),
              testing::UnorderedElementsAre(HasSubstr("there is no camera 'nobody'"), HasSubstr("give all cameras"),
                                            HasSubstr("give all cameras"), HasSubstr("longer than 28 sets"),
                                            HasSubstr("`pace: fast`"), HasSubstr("live cameras and files")));
}

TEST_F(ConfigGroups, MayHaveCamerasThatAreAway) {
  const auto all = cameras(with_group("cameras: [left, right], rate: 25", ", enabled: false"));
  EXPECT_TRUE(all.at(0).group);
}

TEST_F(ConfigGroups, MistakesAreReportedWithTheirPlace) {
  const auto mistake = [](const std::string& keys, const std::string& more = "") {
    return errors(with_group(keys, more));
  };
  EXPECT_THAT(mistake("cameras: [left, rigt], rate: 25"),
              ElementsAre("rig.yaml:6:40: sync_groups.stereo.cameras[1]: there is no camera 'rigt', did you mean "
                          "'right'?"));
  EXPECT_THAT(mistake("cameras: [left, left], rate: 25"), ElementsAre(HasSubstr("is in the list already")));
  EXPECT_THAT(mistake("cameras: [left], rate: 25"), ElementsAre(HasSubstr("expected 2 to 16 cameras, got 1")));
  EXPECT_THAT(mistake("rate: 25"), ElementsAre("rig.yaml:6:15: sync_groups.stereo: missing key 'cameras'"));
  EXPECT_THAT(mistake("cameras: left, rate: 25"), ElementsAre(HasSubstr("sync_groups.stereo.cameras: expected")));
  EXPECT_THAT(mistake("cameras: [left, gate], rate: 25"), ElementsAre(HasSubstr("live cameras and files cannot be")));
  EXPECT_THAT(mistake("cameras: [left, right], rate: 0"), ElementsAre(HasSubstr("expected a number from 0.1 to 240")));
  EXPECT_THAT(mistake("cameras: [left, right], rate: 60, max_wait: 1s"),
              ElementsAre(HasSubstr("longer than 28 sets at that rate")));
  EXPECT_THAT(mistake("cameras: [left, right], rate: 25, on_missing: wait", ", drop_policy: drop"),
              ElementsAre(HasSubstr("'left' drops frames meanwhile; give it `drop_policy: block`"),
                          HasSubstr("'right' drops frames meanwhile; give it `drop_policy: block`")));
  EXPECT_THAT(mistake("cameras: [left, top], rate: 25", ", pace: fast"), ElementsAre(HasSubstr("use `wait`")));
  EXPECT_THAT(errors(with_group("cameras: [left, right], rate: 25, on_missing: wait", ", pace: fast")), IsEmpty());
  const std::string live =
      "cameras: {a: {source: 'rtsp://127.0.0.1/a', encode: {codec: copy}}, b: {source: "
      "'rtsp://127.0.0.1/b'}}\nsync_groups: {g: {cameras: [a, b], rate: 25}}\n";
  EXPECT_THAT(errors(live), ElementsAre(HasSubstr("sync_groups.g.cameras[0]: camera 'a' has codec `copy`")));
  EXPECT_THAT(mistake("cameras: [left, right], rat: 25"), testing::Contains(HasSubstr("did you mean 'rate'?")));
  EXPECT_THAT(errors(with_cameras("sync_groups: {a: {cameras: [left, right], rate: 5}, "
                                  "b: {cameras: [right, top], rate: 5}}\n")),
              ElementsAre(HasSubstr("sync_groups.b.cameras[0]: camera 'right' is in group 'a' already")));
}

// Frames of one set may come up to a set apart.
TEST_F(ConfigGroups, WaitForMoreThanASet) {
  const auto wait = [](const std::string& keys) {
    return load(with_group("cameras: [left, right], " + keys)).rig.cameras.at(0).group.value().max_wait;
  };
  EXPECT_EQ(wait("rate: 25"), 200ms);
  EXPECT_EQ(wait("rate: 5"), 300ms);
  EXPECT_EQ(wait("rate: 1"), 1500ms);
  EXPECT_EQ(wait("rate: 1, max_wait: 20ms"), 20ms);
}

TEST_F(ConfigGroups, AreDescribedInALineEach) {
  const auto described = [](const std::string& keys) {
    const LoadedConfig loaded = load(with_group("cameras: [right, left], " + keys));
    std::vector<std::string> lines;
    for (const RigGroup& group : groups_of(loaded.rig)) lines.push_back(describe(group));
    return lines;
  };
  EXPECT_THAT(
      described("rate: 25"),
      ElementsAre("group stereo: left, right; 25 sets a second, of frames up to 10 ms apart; for a frame that is "
                  "missing after 200 ms, the camera's last one is repeated"));
  EXPECT_THAT(described("rate: 12.5, max_wait: 1s, on_missing: drop"),
              ElementsAre(HasSubstr("12.5 sets a second, of frames up to 10 ms apart; a set that lacks a frame after "
                                    "1000 ms is dropped")));
  EXPECT_THAT(described("rate: 5, on_missing: wait"), ElementsAre(HasSubstr("all wait for a frame that is missing")));
  EXPECT_THAT(groups_of(load(with_cameras("")).rig), IsEmpty());
}

TEST_F(ConfigGroups, ComeToOtherProcessesAsTheyAre) {
  const LoadedConfig loaded = load(with_group("cameras: [left, right], rate: 25, on_missing: drop"));
  ASSERT_THAT(formatted(loaded), IsEmpty());
  EXPECT_EQ(rig_from_json(nlohmann::json::parse(to_json(loaded.rig).dump())).cameras, loaded.rig.cameras);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
