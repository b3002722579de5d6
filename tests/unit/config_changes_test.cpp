// Changes through the API: checked as the file is, kept beside it.
#include "app/config/changes.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "core/error.h"
#include "tests/unit/config_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Strings = std::vector<std::string>;

const std::string file =
    "# the rig of the yard\ndefaults: {queue_size: 5, source: '" + pattern + "'}\ncameras:\n  dock: {}\n  gate: {}\n";

class ChangesTest : public ConfigTest {
 protected:
  ChangesTest() { write("rig.yaml", file); }

  static Strings names(const LoadedConfig& loaded) {
    EXPECT_EQ(formatted(loaded), Strings());
    Strings names;
    for (const CameraConfig& camera : loaded.rig.cameras) names.push_back(camera.name);
    return names;
  }
  static CameraChanges with(const std::string& name, const json& keys) {
    CameraChanges changes;
    changes.put(name, keys);
    return changes;
  }
  static Strings told(const CameraChanges& changes) { return formatted(load_config_with("rig.yaml", changes)); }
};

TEST_F(ChangesTest, TheOverlayLiesInTheFolderForState) {
  const std::filesystem::path overlays = state() / "overlays";
  EXPECT_EQ(overlay_path("rig.yaml"), overlays / std::filesystem::current_path().relative_path() / "rig.api.yaml");
  EXPECT_EQ(overlay_path("/etc/campipe/rig.v2.yml"), overlays / "etc/campipe/rig.v2.api.yml");
  EXPECT_EQ(overlay_path("/a/../b/rig"), overlays / "b/rig.api");
}

TEST_F(ChangesTest, AnOverlayBesideTheFileIsReadAndMoved) {
  keep_changes("rig.yaml", with("belt", json::object()));
  EXPECT_EQ(overlay_note("rig.yaml"), "");
  std::filesystem::rename(overlay_path("rig.yaml"), "rig.api.yaml");  // where older versions kept it
  EXPECT_THAT(names(load_file("rig.yaml")), ElementsAre("dock", "gate", "belt"));
  EXPECT_THAT(overlay_note("rig.yaml"), HasSubstr("is moved to " + overlay_path("rig.yaml").string()));
  keep_changes("rig.yaml", with("yard", json::object()));
  EXPECT_FALSE(std::filesystem::exists("rig.api.yaml"));
  EXPECT_THAT(names(load_file("rig.yaml")), ElementsAre("dock", "gate", "belt", "yard"));
  // One that comes back is not read, which is told.
  write("rig.api.yaml", "cameras: {dock: null}\n");
  EXPECT_THAT(names(load_file("rig.yaml")), ElementsAre("dock", "gate", "belt", "yard"));
  EXPECT_THAT(overlay_note("rig.yaml"), HasSubstr("is not read any more"));
}

TEST_F(ChangesTest, AreReadAgainWhateverTheFileIsCalled) {
  for (const std::string name : {"caf\xe9.yaml", "two\nlines.yaml"}) {
    write(name, file);
    keep_changes(name, with("belt", json::object()));
    EXPECT_THAT(names(load_file(name)), ElementsAre("dock", "gate", "belt")) << name;
    keep_changes(name, with("yard", json::object()));
    EXPECT_THAT(names(load_file(name)), ElementsAre("dock", "gate", "belt", "yard")) << name;
  }
}

TEST_F(ChangesTest, ACameraIsAddedChangedAndRemoved) {
  CameraChanges changes = with("belt", {{"queue_size", 3}, {"decode", {{"threads", 2}}}, {"filters", {"deinterlace"}}});
  changes.put("dock", {{"rate", 12.5}});
  changes.remove("gate");
  const LoadedConfig loaded = load_config_with("rig.yaml", changes);
  EXPECT_THAT(names(loaded), ElementsAre("dock", "belt"));
  EXPECT_EQ(loaded.rig.cameras[0].rate, 12.5);
  EXPECT_EQ(loaded.rig.cameras[0].queue_size, 5);  // the file's defaults apply
  EXPECT_EQ(loaded.rig.cameras[1].queue_size, 3);
  EXPECT_EQ(loaded.rig.cameras[1].decode_threads, 2);
  EXPECT_EQ(loaded.rig.cameras[1].filters.at(0).name, "deinterlace");
  EXPECT_EQ(loaded.gpu_places.size(), 2U);
}

TEST_F(ChangesTest, ACameraTakesTheWholePlaceOfTheFiles) {
  write("rig.yaml", "cameras:\n  dock: {source: '" + pattern + "', rate: 5, record: {path: a.mp4}}\n");
  const LoadedConfig loaded = load_config_with("rig.yaml", with("dock", {{"source", pattern}}));
  ASSERT_THAT(names(loaded), ElementsAre("dock"));
  EXPECT_EQ(loaded.rig.cameras[0].rate, 0);
  EXPECT_FALSE(loaded.rig.cameras[0].record);
}

TEST_F(ChangesTest, EnabledGoesOverWhateverCameraItIs) {
  CameraChanges changes;
  changes.enable("gate", false);
  changes.enable("nobody", false);
  EXPECT_FALSE(load_config_with("rig.yaml", changes).rig.cameras.at(1).enabled);
  changes.enable("gate", true);
  write("rig.yaml", "cameras:\n  gate: {source: '" + pattern + "', enabled: false}\n");
  EXPECT_TRUE(load_config_with("rig.yaml", changes).rig.cameras.at(0).enabled);
  changes.enable("gate", false);
  changes.put("gate", {{"source", pattern}});  // what is said last counts
  EXPECT_TRUE(load_config_with("rig.yaml", changes).rig.cameras.at(0).enabled);
}

TEST_F(ChangesTest, MistakesAreToldAsTheFilesAre) {
  EXPECT_EQ(told(with("dock", {{"filters", {{{"resize", {{"widht", 640}, {"height", 480}}}}}}})),
            (Strings{"cameras.dock.filters[0].resize.widht: unknown key, did you mean 'width'?"}));
  EXPECT_EQ(told(with("dock", {{"queue_size", 99}})),
            Strings{"cameras.dock.queue_size: expected an integer from 1 to 32, got '99'"});
  EXPECT_EQ(told(with("dock", {{"loop", "maybe"}, {"queue_size", json::array()}})),
            (Strings{"cameras.dock.loop: expected true or false, got 'maybe'",
                     "cameras.dock.queue_size: expected an integer from 1 to 32, got a list"}));
  EXPECT_THAT(told(with("a b", json::object())), ElementsAre(HasSubstr("cameras.a b: a camera's name has 1 to 64")));
  EXPECT_EQ(told(with("dock", 1)), Strings{"cameras.dock: expected a map, got '1'"});
  EXPECT_EQ(told(with("belt", {{"record", {{"path", "x.mp4"}}}})), Strings());
  // Also what shows only beside the other cameras.
  write("rig.yaml", file + "  belt: {record: {path: x.mp4}}\n");
  EXPECT_EQ(
      told(with("dock", {{"record", {{"path", "x.mp4"}}}})),
      Strings{"rig.yaml:6:25: cameras.belt.record.path: camera 'belt' records to the same file as camera 'dock'"});
}

TEST_F(ChangesTest, WhatIsNestedWithoutEndIsRefused) {
  json deep = 1;
  for (int i = 0; i < 100; ++i) deep = json::array({deep});
  EXPECT_THAT(told(with("dock", {{"filters", deep}})), ElementsAre(HasSubstr("cameras.dock.filters[0]")));
}

TEST_F(ChangesTest, PasswordsAreNotTold) {
  EXPECT_THAT(told(with("dock", {{"source", "rtps://user:hunter2@host/s"}})), ElementsAre(Not(HasSubstr("hunter2"))));
}

TEST_F(ChangesTest, WhatIsKeptIsThereWhenTheFileIsReadAgain) {
  ::setenv("CAMPIPE_TEST_HOST", "10.0.0.17", 1);
  const std::string source = "rtsp://u:p%20\"'x: y@${CAMPIPE_TEST_HOST}/s?a=b #c";
  const json keys{{"queue_size", 3}, {"source", source}, {"filters", json::array()}, {"rate", 0.5}, {"enabled", false}};
  CameraChanges changes = with("belt", keys);
  changes.remove("gate");
  const LoadedConfig before = load_config_with("rig.yaml", changes);
  keep_changes("rig.yaml", changes);
  const LoadedConfig after = load_file("rig.yaml");
  EXPECT_THAT(names(after), ElementsAre("dock", "belt"));
  EXPECT_EQ(after.rig.cameras, before.rig.cameras);
  EXPECT_EQ(after.rig.cameras[1].source.url, "rtsp://u:p%20\"'x: y@10.0.0.17/s?a=b #c");
}

TEST_F(ChangesTest, WhatIsKeptIsNeverHalfThere) {
  keep_changes("rig.yaml", with("belt", json::object()));
  struct stat info {};
  ASSERT_EQ(::stat(overlay_path("rig.yaml").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  ASSERT_EQ(::stat(overlay_path("rig.yaml").parent_path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
  // Only the overlay, and the file: nothing unfinished is left.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(overlay_path("rig.yaml").parent_path()), {}), 1);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator("."), {}), 1);
  std::stringstream text;
  text << std::ifstream("rig.yaml").rdbuf();
  EXPECT_EQ(text.str(), file);
  ::setenv("STATE_DIRECTORY", std::filesystem::absolute("rig.yaml").c_str(), 1);
  EXPECT_THROW(keep_changes("rig.yaml", with("belt", json::object())), Error) << "this is no folder";
}

TEST_F(ChangesTest, LaterChangesGoOverEarlierOnes) {
  keep_changes("rig.yaml", with("belt", {{"queue_size", 3}}));
  CameraChanges off;
  off.enable("belt", false);
  off.enable("dock", false);
  keep_changes("rig.yaml", off);
  const LoadedConfig first = load_file("rig.yaml");
  EXPECT_THAT(names(first), ElementsAre("dock", "gate", "belt"));
  EXPECT_EQ(first.rig.cameras[2].queue_size, 3);
  EXPECT_FALSE(first.rig.cameras[2].enabled);
  EXPECT_FALSE(first.rig.cameras[0].enabled);
  keep_changes("rig.yaml", with("belt", {{"queue_size", 4}}));
  EXPECT_TRUE(load_file("rig.yaml").rig.cameras.at(2).enabled);
  CameraChanges gone;
  gone.remove("belt");
  keep_changes("rig.yaml", gone);
  EXPECT_THAT(names(load_file("rig.yaml")), ElementsAre("dock", "gate"));
  // And a change that is not kept goes over what is.
  EXPECT_THAT(names(load_config_with("rig.yaml", with("belt", json::object()))), ElementsAre("dock", "gate", "belt"));
}

// One that the file gets later under that name is its owner's wish.
TEST_F(ChangesTest, ARemovedCameraOfTheOverlayLeavesNothingThere) {
  CameraChanges gone;
  gone.remove("belt");
  keep_changes("rig.yaml", with("belt", json::object()));
  keep_changes("rig.yaml", gone);
  write("rig.yaml", file + "  belt: {}\n");
  EXPECT_THAT(names(load_file("rig.yaml")), ElementsAre("dock", "gate", "belt"));
  keep_changes("rig.yaml", gone);
  EXPECT_THAT(names(load_file("rig.yaml")), ElementsAre("dock", "gate"));
}

TEST_F(ChangesTest, ARemovedCameraOfTheOverlayThatAUserMaySeeIsNoMistake) {
  write("rig.yaml",
        file +
            "users:\n  ann: {cameras: [belt], password: "
            "'$argon2id$v=19$m=65536,t=2,p=1$pKdkMPjFL/OThlHz4rBWXQ$Nsc6Kn8RIyBJGZ4TWJ9EqnoaYwM0LGMgZpmvw+vSu24'}\n");
  keep_changes("rig.yaml", with("belt", json::object()));
  CameraChanges gone;
  gone.remove("belt");
  keep_changes("rig.yaml", gone);
  EXPECT_THAT(names(load_file("rig.yaml")), ElementsAre("dock", "gate"));
}

TEST_F(ChangesTest, WhatAnOverlayDoesToTheFilesCamerasIsKnown) {
  const auto effects = [] { return load_config("rig.yaml").overlay_effects; };
  EXPECT_THAT(effects(), IsEmpty());
  keep_changes("rig.yaml", with("belt", json::object()));
  EXPECT_THAT(effects(), IsEmpty()) << "the file has no such camera";
  CameraChanges changes = with("dock", json::object());
  changes.remove("gate");
  changes.enable("dock", false);
  changes.enable("belt", false);
  keep_changes("rig.yaml", changes);
  EXPECT_THAT(effects(), ElementsAre("dock replaced", "gate removed", "dock disabled"));
  write(overlay_path("rig.yaml"), "cameras: {");
  EXPECT_THAT(effects(), IsEmpty());
}

TEST_F(ChangesTest, MosaicsAndGroupsAreAddedChangedAndRemoved) {
  write("rig.yaml",
        file + "mosaics:\n  wall: {rate: 5}\n  hall: {}\nsync_groups: {pair: {cameras: [dock, gate], rate: 5}}\n");
  CameraChanges changes;
  changes.put(ConfigPart::mosaic, "wall", {{"cameras", {"gate"}}, {"width", 640}, {"height", 360}});
  changes.put(ConfigPart::mosaic, "new", {{"layout", {{"dock", 0, 0, 64, 64}}}});
  changes.remove(ConfigPart::mosaic, "hall");
  changes.put(ConfigPart::group, "pair", {{"cameras", {"gate", "dock"}}, {"rate", 7}});
  const auto check = [](const LoadedConfig& loaded) {
    ASSERT_THAT(names(loaded), ElementsAre("dock", "gate", "wall", "new"));
    EXPECT_EQ(loaded.rig.cameras[2].mosaic->cells.size(), 1U);
    EXPECT_EQ(loaded.rig.cameras[2].mosaic->rate, 25) << "nothing of the file's is left";
    EXPECT_EQ(loaded.rig.cameras[3].mosaic->cells.at(0).region.width, 64);
    EXPECT_EQ(loaded.rig.cameras[0].group->rate, 7);
  };
  check(load_config_with("rig.yaml", changes));
  keep_changes("rig.yaml", changes);
  const LoadedConfig kept = load_config("rig.yaml");
  check(kept);
  EXPECT_THAT(kept.overlay_effects, ElementsAre("mosaic hall removed", "mosaic wall replaced", "group pair replaced"));
  CameraChanges gone;
  for (const char* name : {"wall", "new"}) gone.remove(ConfigPart::mosaic, name);
  gone.remove(ConfigPart::group, "pair");
  keep_changes("rig.yaml", gone);
  EXPECT_THAT(names(load_config("rig.yaml")), ElementsAre("dock", "gate"));
  EXPECT_FALSE(load_config("rig.yaml").rig.cameras[0].group);
  std::stringstream text;
  text << std::ifstream(overlay_path("rig.yaml")).rdbuf();
  EXPECT_THAT(text.str(), Not(HasSubstr("new"))) << "the file has none of that name";
}

TEST_F(ChangesTest, MistakesOfMosaicsAndGroupsAreToldAsTheFilesAre) {
  write("rig.yaml",
        file + "mosaics:\n  wall: {cameras: [dock]}\nsync_groups: {pair: {cameras: [dock, gate], rate: 5}}\n");
  const auto told_of = [](ConfigPart part, const std::string& name, const json& keys) {
    CameraChanges changes;
    changes.put(part, name, keys);
    return load_config_with("rig.yaml", changes).errors;
  };
  const auto one = [&](ConfigPart part, const std::string& name, const json& keys) {
    const auto errors = told_of(part, name, keys);
    EXPECT_EQ(errors.size(), 1U);
    return errors.empty() ? ConfigError() : errors.front();
  };
  const ConfigError unknown = one(ConfigPart::mosaic, "wall", {{"widht", 640}});
  EXPECT_EQ(format(unknown, "rig.yaml"), "mosaics.wall.widht: unknown key, did you mean 'width'?");
  EXPECT_FALSE(unknown.contradicts);
  const ConfigError taken = one(ConfigPart::mosaic, "dock", json::object());
  EXPECT_EQ(format(taken, "rig.yaml"), "mosaics.dock: a camera has this name already; choose another one");
  EXPECT_TRUE(taken.contradicts);
  const ConfigError by_mosaic = one(ConfigPart::camera, "wall", json::object());
  EXPECT_EQ(format(by_mosaic, "rig.yaml"), "cameras.wall: a mosaic has this name already; choose another one");
  EXPECT_TRUE(by_mosaic.contradicts);
  for (const ConfigError& error : told_of(ConfigPart::group, "other", {{"cameras", {"dock", "gate"}}, {"rate", 5}})) {
    EXPECT_THAT(format(error, "rig.yaml"), HasSubstr("is in group 'pair' already; take it out of one of them"));
    EXPECT_TRUE(error.contradicts);
  }
  EXPECT_EQ(told_of(ConfigPart::group, "other", {{"cameras", {"dock", "gate"}}, {"rate", 5}}).size(), 2U);
}

TEST_F(ChangesTest, ACameraThatIsNamedIsNotRemoved) {
  write("rig.yaml",
        file +
            "  belt: {}\nmosaics:\n  wall: {cameras: [dock]}\nsync_groups: {pair: {cameras: [gate, belt], rate: 5}}\n");
  const auto told_without = [](const std::string& name) {
    CameraChanges changes;
    changes.remove(name);
    return told(changes);
  };
  EXPECT_THAT(told_without("dock"), ElementsAre("rig.yaml:8:20: mosaics.wall.cameras[0]: camera 'dock' is removed, and "
                                                "this names it; take it out of here first"));
  EXPECT_THAT(told_without("gate"), ElementsAre("rig.yaml:9:32: sync_groups.pair.cameras[0]: camera 'gate' is removed, "
                                                "and this names it; take it out of here first"));
}

// What another part was called may be the name of a camera, and the other way round.
TEST_F(ChangesTest, ANameIsFreeOnceItsPartIsRemoved) {
  write("rig.yaml", file + "mosaics:\n  wall: {}\n");
  CameraChanges changes;
  changes.remove("gate");
  changes.remove(ConfigPart::mosaic, "wall");
  changes.put("wall", json::object());
  changes.put(ConfigPart::mosaic, "gate", json::object());
  keep_changes("rig.yaml", changes);
  const LoadedConfig loaded = load_config("rig.yaml");
  ASSERT_THAT(names(loaded), ElementsAre("dock", "wall", "gate"));
  EXPECT_FALSE(loaded.rig.cameras[1].mosaic);
  EXPECT_TRUE(loaded.rig.cameras[2].mosaic);
}

TEST_F(ChangesTest, AnOverlayIsCheckedAsTheFile) {
  const auto told_of = [](const std::string& overlay) {
    write("rig.api.yaml", overlay);
    return formatted(load_file("rig.yaml"));
  };
  EXPECT_THAT(told_of(""), IsEmpty());
  EXPECT_THAT(told_of("cameras: {}\n"), IsEmpty());
  EXPECT_EQ(told_of("cameras:\n  dock: {queue_size: 99}\n"),
            Strings{"rig.api.yaml:2:22: cameras.dock.queue_size: expected an integer from 1 to 32, got '99'"});
  EXPECT_EQ(told_of("camera: {}\n"), Strings{"rig.api.yaml:1:1: camera: unknown key, did you mean 'cameras'?"});
  EXPECT_EQ(told_of("cameras: [dock]\n"), Strings{"rig.api.yaml:1:10: cameras: expected a map, got a list"});
  EXPECT_EQ(told_of("[dock]\n"), Strings{"rig.api.yaml:1:1: expected a map, got a list"});
  EXPECT_EQ(told_of("enabled: {dock: maybe}\n"),
            Strings{"rig.api.yaml:1:17: cameras.dock.enabled: expected true or false, got 'maybe'"});
  EXPECT_EQ(told_of("cameras: {dock: {}, dock: {}}\n"), Strings{"rig.api.yaml:1:21: cameras.dock: duplicate key"});
  EXPECT_THAT(told_of("cameras: {"), ElementsAre(HasSubstr("rig.api.yaml:")));
}

TEST_F(ChangesTest, AUserMayBeAllowedToSeeACameraThatWasRemoved) {
  write("rig.yaml",
        file +
            "users:\n  ann: {cameras: [gate], password: "
            "'$argon2id$v=19$m=65536,t=2,p=1$pKdkMPjFL/OThlHz4rBWXQ$Nsc6Kn8RIyBJGZ4TWJ9EqnoaYwM0LGMgZpmvw+vSu24'}\n");
  CameraChanges changes;
  changes.remove("gate");
  EXPECT_THAT(told(changes), IsEmpty());
  keep_changes("rig.yaml", changes);
  EXPECT_THAT(names(load_file("rig.yaml")), ElementsAre("dock"));
}

TEST_F(ChangesTest, AFileWithoutCamerasMayGetThemFromItsOverlay) {
  write("rig.yaml", "defaults: {source: '" + pattern + "'}\n");
  EXPECT_THAT(names(load_config_with("rig.yaml", with("belt", json::object()))), ElementsAre("belt"));
}

// As it lies in etcd: what is filled in on each node is not.
TEST(ChangedRig, HasTheChangeAndAllElseInItsOrder) {
  const std::string rig =
      "# of the yard\ncameras:\n  gate: {source: 'rtsp://u:${GATE}@10.0.0.3/1', enabled: true}\n  dock: {source: "
      "a.mp4}\n"
      "cluster: {node: \"${NODE}\"}\n";
  const auto [text, had] = changed_rig(rig, ConfigPart::camera, "dock", {{"source", "b.mp4"}, {"queue_size", 5}});
  EXPECT_TRUE(had);
  EXPECT_EQ(text, R"(# Changed through the API of a node, which keeps no comments.
{
  "cameras": {
    "gate": {
      "source": "rtsp://u:${GATE}@10.0.0.3/1",
      "enabled": "true"
    },
    "dock": {
      "queue_size": "5",
      "source": "b.mp4"
    }
  },
  "cluster": {
    "node": "${NODE}"
  }
}
)");
  const ChangedRig added = changed_rig(text, ConfigPart::group, "pair", {{"cameras", {"dock", "gate"}}});
  EXPECT_FALSE(added.had);
  EXPECT_THAT(added.text, HasSubstr("\"sync_groups\": {"));
  const ChangedRig removed = changed_rig(text, ConfigPart::camera, "gate", nullptr);
  EXPECT_TRUE(removed.had);
  EXPECT_THAT(removed.text, Not(HasSubstr("gate")));
  EXPECT_FALSE(changed_rig(text, ConfigPart::mosaic, "gate", nullptr).had);
  EXPECT_THROW(changed_rig("[", ConfigPart::camera, "dock", nullptr), Error);
  const ChangedRig disabled = enabled_rig(text, "gate", false);
  EXPECT_TRUE(disabled.had);
  EXPECT_THAT(disabled.text, HasSubstr("\"source\": \"rtsp://u:${GATE}@10.0.0.3/1\",\n      \"enabled\": \"false\""));
  EXPECT_FALSE(enabled_rig(text, "quay", false).had);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
