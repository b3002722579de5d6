// Mosaics, groups and placement of a rig that runs, changed through the API: what is asked for comes about and is kept,
// what contradicts the rest is refused, and a camera that is not named loses no frame.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/integration/mosaic_video.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using nlohmann::json;
using testing::HasSubstr;

const std::string picture = "\"test://pattern?width=160&height=120&rate=10\"";

std::string keys_of(const std::string& name, const std::string& more = "") {
  return "{\"source\": " + picture + ", \"gpu\": \"cpu\", \"encode\": {\"gop\": 10, \"bitrate\": \"500k\"}, " +
         "\"record\": {\"path\": \"" + name + ".mp4\"}" + more + "}";
}

std::string mosaic_keys(const std::string& cells) {
  return R"({"layout": [)" + cells +
         R"(], "width": 320, "height": 240, "rate": 10, "gpu": "cpu", "encode": {"gop": 10, "bitrate": "1M"},)" +
         R"("record": {"path": "wall.mp4"}})";
}

std::string put(const std::string& keys) { return R"({"config": )" + keys + R"(, "persist": true})"; }

class GraphChanges : public testing::Test {
 protected:
  GraphChanges() { start({}); }

  void start(const RigOptions& options) {
    std::string yaml =
        "http_address: \"127.0.0.1:" + std::to_string(port_) + "\"\nrtsp_address: off\nworkers: {count: 2}\ncameras:\n";
    for (const std::string name : {"still", "left", "right"}) yaml += "  " + name + ": " + keys_of(name) + "\n";
    rig_ = std::make_unique<RigRun>(yaml, options);
    const bool ready = eventually([&] {
      try {
        return ask(port(), "GET /readyz").status == 200;
      } catch (const Error&) {
        return false;  // it does not listen yet
      }
    });
    if (!ready) throw Error("the rig is not ready: " + rig_->log());
  }
  // Once more, with the same configuration and what was kept of changes; it records into a folder of its own.
  void start_again() {
    first_ = std::move(rig_);
    start({.config = first_->file("rig.yaml"), .state = first_->file("state")});
  }
  [[nodiscard]] std::uint16_t port() const { return static_cast<std::uint16_t>(port_); }
  [[nodiscard]] Reply change(const std::string& line, const std::string& body = "") const {
    const std::string token = read_text((first_ ? *first_ : *rig_).file("state/token-" + std::to_string(port_)));
    const auto space = line.find(' ');
    return ask(port(), line.substr(0, space) + " /api/v1/" + line.substr(space + 1),
               "Authorization: Bearer " + token + "\r\n", body);
  }
  [[nodiscard]] json status_of(const std::string& camera) const {
    return json::parse(ask(port(), "GET /api/v1/cameras/" + camera).body);
  }
  [[nodiscard]] bool becomes(const std::function<bool()>& so) const {
    return eventually([&] {
      try {
        return so();
      } catch (const json::exception&) {
        return false;  // it is not there yet, or any more
      }
    });
  }
  bool flows(const std::vector<std::string>& files) {
    return std::ranges::all_of(files, [&](const std::string& file) {
      const std::string name = file + ".mp4";
      const bool there = std::filesystem::exists(rig_->file(name));
      return rig_->wait_for_growth(name, (there ? rig_->size(name) : 0) + 2000);
    });
  }
  // From now on: it has a frame for nearly each set.
  void expect_in_step(const std::string& name) {
    const auto frames = [&] { return status_of(name).at("frames"); };
    const json before = frames();
    json after;
    const auto goes_on = [&] { return (after = frames()).at("encoded") > before.at("encoded").get<int>() + 20; };
    EXPECT_TRUE(becomes(goes_on)) << name << rig_->log();
    EXPECT_LT(after.at("repeated"), before.at("repeated").get<int>() + 10) << name << after;
    EXPECT_EQ(status_of(name).at("group").at("name"), "pair");
  }
  void expect_untouched() {
    EXPECT_EQ(check_pattern_recording(read_video(rig_->file("still.mp4")), true), "");
    EXPECT_EQ(rig_->camera("still").at("frames").at("dropped"), json::object());
    EXPECT_FALSE(std::filesystem::exists(rig_->file("still-1.mp4"))) << "it was started again";
  }
  void end() {
    rig_->signal(SIGTERM);
    ASSERT_EQ(rig_->wait(), 0) << rig_->log();
    EXPECT_EQ(check_accounting(rig_->report()), "");
  }

  const int port_ = free_port();
  std::unique_ptr<RigRun> rig_;
  std::unique_ptr<RigRun> first_;  // that has ended
};

const std::vector<FrameRegion> halves{{0, 0, 160, 120}, {160, 120, 160, 120}};

TEST_F(GraphChanges, AMosaicComesChangesAndGoes) {
  ASSERT_TRUE(flows({"still"})) << rig_->log();
  EXPECT_EQ(change("PUT mosaics/wall", put(mosaic_keys(R"(["still", 0, 0, 160, 120])"))).status, 201);
  ASSERT_TRUE(flows({"wall"})) << rig_->log();
  EXPECT_EQ(status_of("wall").at("cells").size(), 1U);
  const std::string two = R"(["left", 0, 0, 160, 120], ["still", 160, 120, 160, 120])";
  EXPECT_EQ(change("PUT mosaics/wall", put(mosaic_keys(two))).status, 200);
  ASSERT_TRUE(flows({"wall-1"})) << rig_->log();
  EXPECT_TRUE(becomes([&] { return status_of("wall").at("cells").size() == 2; })) << rig_->log();
  EXPECT_EQ(change("PUT mosaics/wall", put(mosaic_keys(two))).status, 200);  // the same: nothing begins anew

  // What cannot be changes nothing.
  const Reply wrong = change("PUT mosaics/wall", put(R"({"layout": "2x", "widht": 5})"));
  EXPECT_EQ(wrong.status, 400) << wrong.body;
  EXPECT_THAT(wrong.body, HasSubstr("mosaics.wall.layout: expected auto"));
  EXPECT_THAT(wrong.body, HasSubstr("mosaics.wall.widht: unknown key, did you mean 'width'?"));
  const Reply unknown = change("PUT mosaics/wall", put(R"({"cameras": ["nobody"]})"));
  EXPECT_EQ(unknown.status, 400) << unknown.body;
  const Reply taken = change("PUT mosaics/left", put("{}"));
  EXPECT_EQ(taken.status, 409) << taken.body;
  EXPECT_THAT(taken.body, HasSubstr("a camera has this name already"));
  const Reply by_mosaic = change("PUT cameras/wall", put(keys_of("other")));
  EXPECT_EQ(by_mosaic.status, 409) << by_mosaic.body;
  const Reply named = change("DELETE cameras/left");
  EXPECT_EQ(named.status, 409) << named.body;
  EXPECT_THAT(named.body, HasSubstr("camera 'left' is removed, and this names it; take it out of here first"));
  const Reply other = change("DELETE cameras/wall");
  EXPECT_EQ(other.status, 409) << other.body;
  EXPECT_EQ(change("DELETE mosaics/left").status, 409);
  EXPECT_EQ(change("DELETE mosaics/nobody").status, 404);

  EXPECT_EQ(change("DELETE mosaics/wall?persist=true").status, 200);
  EXPECT_TRUE(becomes([&] { return ask(port(), "GET /api/v1/cameras/wall").status == 404; })) << rig_->log();
  EXPECT_EQ(change("DELETE mosaics/wall").status, 404);
  EXPECT_EQ(change("DELETE cameras/left").status, 200) << "no mosaic names it any more";
  ASSERT_TRUE(flows({"still", "right"})) << rig_->log();
  end();
  expect_untouched();
  EXPECT_FALSE(std::filesystem::exists(rig_->file("wall-2.mp4"))) << "it was started again for nothing";
  const auto frames = read_mosaic(rig_->file("wall-1.mp4"), halves);
  EXPECT_EQ(check_mosaic(frames, 10, true), "");
  EXPECT_TRUE(frames.back().cells[0].code && frames.back().cells[1].code);
}

TEST_F(GraphChanges, AGroupComesChangesAndGoes) {
  ASSERT_TRUE(flows({"still", "left", "right"})) << rig_->log();
  const auto group = [](const std::string& cameras, const std::string& more = "") {
    return put("{\"cameras\": [" + cameras + "], \"rate\": 10" + more + "}");
  };
  EXPECT_EQ(change("PUT sync_groups/pair", group(R"("left", "right")")).status, 201);
  ASSERT_TRUE(flows({"left-1", "right-1"})) << rig_->log();
  EXPECT_TRUE(becomes([&] { return status_of("right").at("group").at("name") == "pair"; })) << rig_->log();
  const auto sets = [&] { return status_of("left").at("group").at("sets").at("encoded").get<int>(); };
  const int so_far = sets();
  EXPECT_TRUE(becomes([&] { return sets() > so_far; })) << rig_->log();
  EXPECT_EQ(change("PUT sync_groups/pair", group(R"("left", "right")", R"(, "tolerance": "5ms")")).status, 200);
  ASSERT_TRUE(flows({"left-2", "right-2"})) << rig_->log();
  EXPECT_EQ(change("PUT sync_groups/pair", group(R"("left", "right")", R"(, "tolerance": "5ms")")).status, 200);

  const Reply wrong = change("PUT sync_groups/pair", group(R"("left", "rigt")"));
  EXPECT_EQ(wrong.status, 400) << wrong.body;
  EXPECT_THAT(wrong.body, HasSubstr("sync_groups.pair.cameras[1]: there is no camera 'rigt', did you mean 'right'?"));
  const Reply taken = change("PUT sync_groups/other", group(R"("still", "right")"));
  EXPECT_EQ(taken.status, 409) << taken.body;
  EXPECT_THAT(taken.body, HasSubstr("is in group 'pair' already"));
  const Reply named = change("DELETE cameras/left");
  EXPECT_EQ(named.status, 409) << named.body;
  EXPECT_THAT(named.body, HasSubstr("sync_groups.pair.cameras[0]"));
  EXPECT_EQ(change("DELETE sync_groups/other").status, 404);

  // A member that is changed, or switched off and on, stays one, and the other is not touched.
  EXPECT_EQ(change("PUT cameras/left", put(keys_of("left", R"(, "filters": ["sharpen"])"))).status, 200);
  ASSERT_TRUE(flows({"left-3", "right-2"})) << rig_->log();
  expect_in_step("left");
  expect_in_step("right");
  EXPECT_EQ(change("POST cameras/left/disable").status, 200);
  EXPECT_TRUE(becomes([&] { return status_of("left").at("state") == "disabled"; })) << rig_->log();
  ASSERT_TRUE(flows({"right-2"})) << "it waits for one that is away; " << rig_->log();
  EXPECT_EQ(change("POST cameras/left/enable").status, 200);
  ASSERT_TRUE(flows({"left-4", "right-2"})) << rig_->log();
  expect_in_step("left");
  expect_in_step("right");

  EXPECT_EQ(change("DELETE sync_groups/pair?persist=true").status, 200);
  ASSERT_TRUE(flows({"left-5", "right-3", "still"})) << rig_->log();
  EXPECT_TRUE(becomes([&] { return !status_of("right").contains("group"); })) << rig_->log();
  EXPECT_EQ(change("DELETE sync_groups/pair").status, 404);
  EXPECT_EQ(change("DELETE cameras/left").status, 200) << "no group names it any more";
  end();
  expect_untouched();
}

// Else a part of what somebody is about to write there would come with it.
TEST_F(GraphChanges, WhatWasEditedInTheFileIsReadFirst) {
  ASSERT_TRUE(flows({"still", "left"})) << rig_->log();
  std::ofstream(rig_->file("rig.yaml"), std::ios::app) << "# edited\n";
  const std::string wall = R"({"cameras": ["left", "right"], "width": 320, "height": 120, "rate": 5})";
  for (const std::string call : {"PUT mosaics/wall", "PUT cameras/left", "DELETE cameras/right"}) {
    const Reply refused =
        change(call, call.starts_with("DELETE") ? "" : put(call == "PUT mosaics/wall" ? wall : keys_of("left", "")));
    EXPECT_EQ(refused.status, 409) << call << refused.body;
    EXPECT_THAT(refused.body, HasSubstr("rig.yaml has been edited since it was read: reload it first"));
  }
  EXPECT_EQ(change("POST reload").status, 200);
  EXPECT_EQ(change("PUT mosaics/wall", put(wall)).status, 201);
  end();
  expect_untouched();
}

TEST_F(GraphChanges, APlacementIsChangedByItsCamera) {
  ASSERT_TRUE(flows({"still", "left"})) << rig_->log();
  const std::string placed =
      R"(, "filters": ["sharpen"], "placement": {"decode": "cpu", "filter": ["cpu:0"], "encode": "cpu:1"})";
  EXPECT_EQ(change("PUT cameras/left", put(keys_of("left", placed))).status, 200);
  ASSERT_TRUE(flows({"left-1", "still"})) << rig_->log();
  const auto places = [&] {
    std::vector<std::string> found;
    const json status = status_of("left");
    for (const json& node : status.at("graph").at("nodes")) found.push_back(node.at("process"));
    return found;
  };
  const std::vector<std::string> wanted{"source", "worker 0", "worker 1"};
  EXPECT_TRUE(becomes([&] { return places() == wanted; })) << status_of("left");
  const Reply wrong =
      change("PUT cameras/left", put(keys_of("left", R"(, "placement": {"filter": ["nowhere"], "encode": "cpu:77"})")));
  EXPECT_EQ(wrong.status, 400) << wrong.body;
  EXPECT_THAT(wrong.body, HasSubstr("cameras.left.placement.filter[0]: expected cpu"));
  EXPECT_THAT(wrong.body, HasSubstr("cameras.left.placement.encode: expected"));
  end();
  expect_untouched();
}

TEST_F(GraphChanges, AreKeptForTheNextStart) {
  ASSERT_TRUE(flows({"still", "left", "right"})) << rig_->log();
  EXPECT_EQ(change("PUT mosaics/wall", put(mosaic_keys(R"(["still", 0, 0, 160, 120])"))).status, 201);
  EXPECT_EQ(change("PUT sync_groups/pair", put(R"({"cameras": ["left", "right"], "rate": 10})")).status, 201);
  ASSERT_TRUE(flows({"wall", "left-1", "right-1"})) << rig_->log();
  EXPECT_EQ(change("POST reload").status, 200);
  const auto is_all_there = [&] {
    return status_of("wall").at("state") == "running" && status_of("left").at("group").at("name") == "pair";
  };
  EXPECT_TRUE(becomes(is_all_there)) << rig_->log();
  end();
  start_again();
  ASSERT_TRUE(flows({"wall", "left", "right", "still"})) << rig_->log();
  EXPECT_TRUE(becomes(is_all_there)) << rig_->log();
  EXPECT_EQ(status_of("wall").at("cells").size(), 1U);
  EXPECT_EQ(change("DELETE mosaics/wall?persist=true").status, 200);
  EXPECT_EQ(change("DELETE sync_groups/pair?persist=true").status, 200);
  ASSERT_TRUE(flows({"left-1", "right-1", "still"})) << rig_->log();
  end();
  expect_untouched();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
