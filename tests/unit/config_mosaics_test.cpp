// Mosaics in the file: what is read, what it becomes, and every mistake with its place and what to do.
#include <gmock/gmock.h>

#include "app/config/changes.h"
#include "app/config/json.h"
#include "app/config/password_hash.h"
#include "tests/unit/config_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Strings = std::vector<std::string>;

// Three cameras on lines 1 to 4; what follows begins on line 5.
std::string with_cameras(const std::string& rest) {
  return "cameras:\n  gate: {source: '" + pattern + "'}\n  dock: {source: '" + pattern + "', enabled: false}\n" +
         "  hall: {source: '" + pattern + "'}\n" + rest;
}

// With one mosaic, whose keys begin in column 10 of line 5.
std::string with_mosaic(const std::string& keys) { return with_cameras("mosaics: {main: {" + keys + "}}\n"); }

class ConfigMosaics : public ConfigTest {
 protected:
  static CameraConfig mosaic(const std::string& keys) { return cameras(with_mosaic(keys)).at(3); }
};

Strings names_of(const CameraConfig& mosaic) {
  Strings names;
  for (const MosaicCell& cell : mosaic.mosaic.value().cells) names.push_back(cell.camera);
  return names;
}

TEST_F(ConfigMosaics, ShowAllCamerasUnlessTheyNameThem) {
  const auto all = cameras(with_mosaic(""));
  ASSERT_EQ(all.size(), 4U);
  EXPECT_FALSE(all[0].mosaic || all[1].mosaic || all[2].mosaic);
  EXPECT_EQ(all[3].name, "main");
  EXPECT_EQ(all[3].source.url, "");
  EXPECT_TRUE(all[3].enabled);
  EXPECT_EQ(all[3].encode.codec, "h264");
  MosaicConfig expected;
  expected.cells = {{"gate", {0, 0, 960, 540}}, {"dock", {960, 0, 960, 540}}, {"hall", {0, 540, 960, 540}}};
  EXPECT_EQ(all[3].mosaic, expected);
  EXPECT_EQ(expected.width * 9, expected.height * 16);
  EXPECT_THAT(names_of(mosaic("cameras: [hall, gate]")), ElementsAre("hall", "gate"));
  EXPECT_THAT(names_of(mosaic("cameras: all, layout: auto")), ElementsAre("gate", "dock", "hall"));
}

TEST_F(ConfigMosaics, HaveKeysOfTheirOwn) {
  MosaicConfig expected{640, 480, 12.5, false, {10, 20, 30}, {}};
  expected.cells = {{"gate", {0, 0, 320, 480}}, {"dock", {320, 0, 320, 480}}};
  EXPECT_EQ(mosaic("cameras: [gate, dock], layout: 2x1, width: 640, height: 480, rate: 12.5, labels: false, "
                   "background: [10, 20, 30]")
                .mosaic,
            expected);
  EXPECT_TRUE(mosaic("across_nodes: true").mosaic->across_nodes);
  expected = {};
  expected.cells = {{"hall", {0, 0, 1920, 1080}}, {"gate", {1280, 720, 640, 360}}};
  EXPECT_EQ(mosaic("layout: [[hall, 0, 0, 1920, 1080], [gate, 1280, 720, 640, 360]]").mosaic, expected);
}

TEST_F(ConfigMosaics, HaveWhatACameraHas) {
  const CameraConfig main = mosaic(
      "gpu: cpu, enabled: false, filters: [sharpen], encode: {crf: 30, preset: fast}, snapshot: {path: "
      "'{camera}.jpg'}, "
      "record: {path: '{camera}.mp4'}, push: ['udp://a:1'], "
      "outputs: {small: {filters: [{resize: {width: 64, height: 48}}], encode: {crf: 35}}}");
  EXPECT_EQ(main.gpu, "cpu");
  EXPECT_FALSE(main.enabled);
  EXPECT_EQ(main.rate, 0) << "the mosaic's own clock gives its rate";
  EXPECT_EQ(main.filters.at(0).name, "sharpen");
  EXPECT_EQ(main.encode.crf, 30);
  EXPECT_EQ(main.record->path, "{camera}.mp4");
  EXPECT_EQ(main.snapshot->path, "{camera}.jpg");
  EXPECT_EQ(main.push.size(), 1U);
  EXPECT_EQ(main.outputs.at(0).encode.crf, 35);
  EXPECT_EQ(main.outputs[0].encode.preset, "fast");
  EXPECT_EQ(resolved_outputs(main).at(1).filters.size(), 2U);
  EXPECT_EQ(mosaic("encode: {codec: hevc}").outputs.at(0).name, browser_output);
}

TEST_F(ConfigMosaics, TakeNothingOfDefaults) {
  const std::string defaults =
      "defaults: {rate: 5, filters: [sharpen], encode: {crf: 30}, record: {path: '{camera}.mp4'}}\n";
  const CameraConfig main = cameras(with_mosaic("") + defaults).at(3);
  EXPECT_EQ(main.encode, EncoderConfig());
  EXPECT_TRUE(main.filters.empty() && !main.record);
}

TEST_F(ConfigMosaics, MayBeSeenByUsers) {
  const std::string users = "users: {guard: {password: '" + hash_password("secret") + "', cameras: [main]}}\n";
  EXPECT_THAT(errors(with_mosaic("") + users), IsEmpty());
  EXPECT_THAT(errors(with_cameras(users)), ElementsAre(HasSubstr("users.guard.cameras[0]: ")));
}

TEST_F(ConfigMosaics, MistakesAreReportedWithTheirPlace) {
  const auto mistake = [](const std::string& keys) { return errors(with_mosaic(keys)); };
  const auto is = [](const std::string& line) { return ElementsAre("rig.yaml:5:" + line); };
  EXPECT_THAT(mistake("cameras: [gate, dok]"), is("34: mosaics.main.cameras[1]: there is no camera 'dok', did you mean "
                                                  "'dock'?"));
  EXPECT_THAT(mistake("cameras: [gate, gate]"),
              is("34: mosaics.main.cameras[1]: camera 'gate' is in the list already; remove one"));
  EXPECT_THAT(mistake("cameras: []"),
              is("27: mosaics.main.cameras: expected at least one camera; without this key it is all cameras"));
  EXPECT_THAT(mistake("cameras: some"),
              ElementsAre(HasSubstr("expected all, or a list of cameras' names, got 'some'")));
  EXPECT_THAT(mistake("cameras: [main]"),
              is("28: mosaics.main.cameras[0]: a mosaic shows cameras only, and 'main' is a mosaic"));
  EXPECT_THAT(mistake("layout: 1x2"), is("26: mosaics.main.layout: 1x2 is too small for 3 cameras; 2x2 holds them"));
  for (const char* layout : {"0x2", "3x", "x3", "100x1", "3x2x1", "-1x2", "grid", "3 x 2"})
    EXPECT_THAT(mistake(std::string("layout: ") + layout), ElementsAre(HasSubstr("expected auto, columns and rows")))
        << layout;
  EXPECT_THAT(mistake("layout: [[gate, 0, 0, 64, 64], [dok, 64, 0, 64, 64]]"),
              is("50: mosaics.main.layout[1][0]: there is no camera 'dok', did you mean 'dock'?"));
  EXPECT_THAT(
      mistake("layout: [[gate, 0, 0, 64, 64], [dock, 1900, 0, 64, 64]]"),
      is("49: mosaics.main.layout[1]: 64x64 at 1900, 0 reaches beyond the mosaic, which is 1920x1080; move it, or "
         "make either fit"));
  EXPECT_THAT(mistake("layout: [[gate, 0, 0, 64]]"),
              ElementsAre(HasSubstr("mosaics.main.layout[0]: expected a cell: [camera, x, y, width, height], got ")));
  EXPECT_THAT(mistake("layout: [[gate, 0, -2, 64, 64]]"),
              ElementsAre(HasSubstr("mosaics.main.layout[0][2]: expected an integer from 0 to 8192")));
  EXPECT_THAT(mistake("layout: []"), ElementsAre(HasSubstr("mosaics.main.layout: expected 1 to 99 cells, got 0")));
  EXPECT_THAT(
      mistake("cameras: [gate], layout: [[gate, 0, 0, 64, 64]]"),
      ElementsAre(HasSubstr("mosaics.main.cameras: the cells of `layout` name their cameras; remove this key")));
  EXPECT_THAT(mistake("width: 641"),
              ElementsAre(HasSubstr("expected a multiple of 2 from 64 to 8192 (samples), got ")));
  EXPECT_THAT(mistake("height: 62"),
              ElementsAre(HasSubstr("expected a multiple of 2 from 64 to 8192 (samples), got ")));
  EXPECT_THAT(mistake("rate: 0"), ElementsAre(HasSubstr("mosaics.main.rate: expected a number from 0.1 to 240")));
  for (const char* colour : {"black", "[1, 2]", "[1, 2, 3, 4]"})
    EXPECT_THAT(mistake(std::string("background: ") + colour), ElementsAre(HasSubstr("expected red, green and blue")))
        << colour;
  EXPECT_THAT(mistake("background: [0, 256, 0]"), ElementsAre(HasSubstr("mosaics.main.background[1]: ")));
  EXPECT_THAT(mistake("encode: {codec: copy}"),
              ElementsAre(HasSubstr("mosaics.main.encode.codec: a mosaic is drawn, so that there is nothing to copy")));
  EXPECT_THAT(
      mistake("outputs: {a: {encode: {codec: copy}}}"),
      ElementsAre(HasSubstr("mosaics.main.outputs.a.encode.codec: a mosaic is drawn, so that there is nothing to "
                            "copy; expected h264, hevc or mjpeg")));
  EXPECT_THAT(mistake("layot: 2x2"), ElementsAre(HasSubstr("mosaics.main.layot: unknown key, did you mean 'layout'?")));
  EXPECT_THAT(mistake("source: a.mp4"), ElementsAre(HasSubstr("mosaics.main.source: unknown key")));
  EXPECT_THAT(mistake("encode: {preset: nonsense}"), ElementsAre(HasSubstr("mosaics.main.encode.preset: ")));
  EXPECT_THAT(mistake("record: {path: a.mp4}, outputs: {a: {record: {path: a.mp4}}}"),
              ElementsAre(HasSubstr("records to the same file")));
}

TEST_F(ConfigMosaics, AllMistakesOfALayoutAreReportedAtOnce) {
  EXPECT_THAT(
      errors(with_mosaic("width: 640, height: 360, cameras: [gate], layout: [[gate, 0, 0, 63, 64], "
                         "[nobody, 0, 0, 64, 64], [dock, 600, 0, 64, 64], [hall, 0, 0, wide, 64], [dock, 0, 0, 16]]")),
      testing::UnorderedElementsAre(
          HasSubstr("mosaics.main.cameras: the cells of `layout` name their cameras"),
          HasSubstr("mosaics.main.layout[0]: x, y, width and height must be even"),
          HasSubstr("mosaics.main.layout[1][0]: there is no camera 'nobody'"),
          HasSubstr("mosaics.main.layout[2]: 64x64 at 600, 0 reaches beyond the mosaic"),
          HasSubstr("mosaics.main.layout[3][3]: expected an integer"),
          HasSubstr("mosaics.main.layout[4]: expected a cell: [camera, x, y, width, height]")));
}

TEST_F(ConfigMosaics, HaveNamesOfTheirOwn) {
  EXPECT_THAT(errors(with_cameras("mosaics: {gate: {}}\n")),
              ElementsAre("rig.yaml:5:11: mosaics.gate: a camera has this name already; choose another one"));
  EXPECT_THAT(errors(with_cameras("mosaics: {-a: {}}\n")), ElementsAre(HasSubstr("a mosaic's name has 1 to 64 of")));
  EXPECT_THAT(errors("cameras: {\"gate\\a\": {source: '" + pattern + "'}}\nmosaics: {a: {cameras: [gate]}}\n"),
              ElementsAre(HasSubstr("a camera's name has 1 to 64 of"),
                          HasSubstr("there is no camera 'gate', did you mean 'gate?'?")))
      << "nothing that a terminal would obey";
  EXPECT_THAT(errors(with_cameras("mosaics: [a]\n")), ElementsAre(HasSubstr("rig.yaml:5:10: mosaics: expected")));
  EXPECT_THAT(errors(with_cameras("mosaics: {a: {cameras: [b]}, b: {}}\n")),
              ElementsAre(HasSubstr("mosaics.a.cameras[0]: a mosaic shows cameras only, and 'b' is a mosaic")));
}

TEST_F(ConfigMosaics, HoldNinetyNineCameras) {
  const auto rig = [](int count, const std::string& keys) {
    std::string yaml = "cameras:\n";
    for (int i = 0; i < count; ++i) yaml += "  cam" + std::to_string(i) + ": {source: '" + pattern + "'}\n";
    return yaml + "mosaics: {main: {" + keys + "}}\n";
  };
  const auto all = cameras(rig(99, ""));
  EXPECT_EQ(all.at(99).mosaic->cells.size(), 99U);
  EXPECT_THAT(errors(rig(100, "")), ElementsAre("rig.yaml:102:11: mosaics.main: a mosaic shows up to 99 cameras, and "
                                                "there are 100; name those that it shows in `cameras`"));
  EXPECT_EQ(cameras(rig(100, "cameras: [cam99]")).at(100).mosaic->cells.size(), 1U);
  EXPECT_THAT(errors(rig(256, "cameras: [cam1]")), ElementsAre(HasSubstr("more than 256 cameras and mosaics")));
  EXPECT_THAT(errors(rig(99, "width: 128, height: 64")), ElementsAre(HasSubstr("they must be at least 16x16")));
}

TEST_F(ConfigMosaics, FollowChangesOfCameras) {
  write("rig.yaml", with_mosaic("") + "# with\n");
  CameraChanges changes;
  changes.remove("dock");
  changes.put("yard", {{"source", pattern}});
  const LoadedConfig loaded = load_config_with("rig.yaml", changes);
  ASSERT_THAT(formatted(loaded), IsEmpty());
  EXPECT_THAT(names_of(loaded.rig.cameras.at(3)), ElementsAre("gate", "hall", "yard"));
  write("rig.yaml", with_mosaic("cameras: [dock]"));
  EXPECT_THAT(formatted(load_config_with("rig.yaml", changes)),
              ElementsAre(HasSubstr("camera 'dock' is removed, and this names it")));
  CameraChanges same_name;
  same_name.put("main", {{"source", pattern}});
  EXPECT_THAT(formatted(load_config_with("rig.yaml", same_name)),
              ElementsAre("cameras.main: a mosaic has this name already; choose another one"));
}

TEST_F(ConfigMosaics, AreEnabledByChanges) {
  write("rig.yaml", with_mosaic("enabled: false"));
  CameraChanges changes;
  changes.enable("main", true);
  const LoadedConfig loaded = load_config_with("rig.yaml", changes);
  ASSERT_THAT(formatted(loaded), IsEmpty());
  EXPECT_TRUE(loaded.rig.cameras.at(3).enabled);
  keep_changes("rig.yaml", changes);
  const LoadedConfig again = load_file("rig.yaml");
  EXPECT_TRUE(again.rig.cameras.at(3).enabled);
  EXPECT_THAT(again.overlay_effects, ElementsAre("main enabled"));
}

TEST_F(ConfigMosaics, ComeToOtherProcessesAsTheyAre) {
  const LoadedConfig loaded = load(with_mosaic("layout: [[gate, 0, 0, 640, 360]], background: [1, 2, 3]"));
  ASSERT_THAT(formatted(loaded), IsEmpty());
  const RigConfig there = rig_from_json(nlohmann::json::parse(to_json(loaded.rig).dump()));
  EXPECT_EQ(there.cameras, loaded.rig.cameras);
  EXPECT_EQ(loaded.gpu_places.size(), 4U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
