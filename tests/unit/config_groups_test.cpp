// Synchronised groups in the file: what is read, what their cameras get of it, and every mistake with its place.
#include <gmock/gmock.h>

#include "tests/unit/config_test_support.h"

namespace campipe {
namespace {

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
              ElementsAre(HasSubstr("give it `drop_policy: block`")));
  EXPECT_THAT(mistake("cameras: [left, right], rate: 25", ", pace: fast"), ElementsAre(HasSubstr("use `wait`")));
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

TEST_F(ConfigGroups, ComeToOtherProcessesAsTheyAre) {
  const LoadedConfig loaded = load(with_group("cameras: [left, right], rate: 25, on_missing: drop"));
  ASSERT_THAT(formatted(loaded), IsEmpty());
  EXPECT_EQ(rig_from_json(nlohmann::json::parse(to_json(loaded.rig).dump())).cameras, loaded.rig.cameras);
}

}  // namespace
}  // namespace campipe
