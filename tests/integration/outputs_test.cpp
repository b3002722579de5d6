// Several outputs of one camera: each one's recording as ffprobe sees it, each one's books, and that none of them
// suffers from what happens to another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstdio>
#include <memory>

#include "tests/integration/clips.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

struct Probed {
  std::string codec;
  int width = 0;
  int height = 0;
  int packets = 0;
};

Probed probe(const fs::path& file) {
  const std::string command =
      "ffprobe -v error -select_streams v:0 -count_packets -show_entries "
      "stream=codec_name,width,height,nb_read_packets -of csv=p=0 '" +
      file.string() + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::array<char, 32> codec{};
  Probed probed;
  if (std::fscanf(pipe.get(), "%31[^,],%d,%d,%d", codec.data(), &probed.width, &probed.height, &probed.packets) == 4) {
    probed.codec = codec.data();
  }
  return probed;
}

// With its outputs' ones: empty, or what is wrong.
std::string check_all_books(const nlohmann::json& report) {
  std::string problems = check_accounting(report);
  for (const auto& [name, camera] : report.at("cameras").items()) {
    problems += check_accounting({{"cameras", camera.value("outputs", nlohmann::json::object())}});
  }
  return problems;
}

std::uint64_t total_of(const nlohmann::json& counters) {
  std::uint64_t total = 0;
  for (const auto& [cause, number] : counters.items()) total += number.get<std::uint64_t>();
  return total;
}

std::string dock(const std::string& source, const std::string& outputs, const std::string& rest = "") {
  return "cameras:\n  dock:\n    source: \"" + source +
         "\"\n    encode: {gop: 10, bitrate: 1M}\n    record: {path: dock.mp4}\n" + rest + "    outputs:\n" + outputs;
}

std::string pattern(int frames) {
  return "test://pattern?width=320&height=240&rate=25&frames=" + std::to_string(frames);
}

const std::string small = "      small: {filters: [{resize: {width: 160, height: 120}}], record: {path: small.mp4}, ";

TEST(Outputs, EachHasItsSizeCodecAndRate) {
  RigRun rig(dock(pattern(100), small + "encode: {codec: hevc}}\n" +
                                    "      stills: {rate: 5, encode: {codec: mjpeg, bitrate: 4M}, record: {path: "
                                    "stills.mkv}}\n"));
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  const auto report = rig.report();
  EXPECT_EQ(check_all_books(report), "");
  const auto& camera = report.at("cameras").at("dock");
  EXPECT_EQ(report.at("cameras").size(), 1U);
  EXPECT_EQ(camera.at("frames").at("recorded"), 100);
  const auto& outputs = camera.at("outputs");
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs.at("small").at("encoder"), "libx265");
  EXPECT_EQ(outputs.at("small").at("frames").at("recorded"), 100);
  EXPECT_EQ(outputs.at("stills").at("encoder"), "mjpeg");
  const int stills = outputs.at("stills").at("frames").at("recorded");
  EXPECT_THAT(stills, AllOf(Ge(19), Le(21)));
  EXPECT_EQ(outputs.at("stills").at("frames").at("dropped").at("rate"), 100 - stills);

  EXPECT_EQ(check_pattern_recording(read_video(rig.file("dock.mp4")), true), "");
  const Probed small_file = probe(rig.file("small.mp4"));
  EXPECT_EQ(small_file.codec, "hevc");
  EXPECT_EQ(small_file.width, 160);
  EXPECT_EQ(small_file.height, 120);
  EXPECT_EQ(small_file.packets, 100);
  const Probed stills_file = probe(rig.file("stills.mkv"));
  EXPECT_EQ(stills_file.codec, "mjpeg");
  EXPECT_EQ(stills_file.width, 320);
  EXPECT_EQ(stills_file.packets, stills);
  EXPECT_THAT(rig.log(), HasSubstr("dock/small: ended, 100 frames decoded, 100 encoded"));
}

TEST(Outputs, OneThatFailsLeavesTheOthersWhole) {
  RigRun rig(dock(pattern(60), small + "encode: {codec: mjpeg}}\n" +
                                   "      broken: {filters: [{crop: {x: 1000, y: 0, width: 64, height: 64}}], "
                                   "record: {path: broken.mp4}}\n"));
  EXPECT_EQ(rig.wait(), 3) << rig.log();
  const auto report = rig.report();
  EXPECT_EQ(check_all_books(report), "");
  const auto& camera = report.at("cameras").at("dock");
  EXPECT_EQ(camera.at("state"), "ended");
  EXPECT_EQ(camera.at("frames").at("recorded"), 60);
  const auto& broken = camera.at("outputs").at("broken");
  EXPECT_EQ(broken.at("state"), "failed");
  EXPECT_THAT(broken.at("reason").get<std::string>(), HasSubstr("crop"));
  EXPECT_EQ(total_of(broken.at("frames").at("dropped")), 60U);
  EXPECT_EQ(check_pattern_recording(read_video(rig.file("dock.mp4")), true), "");
  EXPECT_EQ(probe(rig.file("small.mp4")).packets, 60);
}

TEST(Outputs, AllGoOnAfterTheirWorkersDeath) {
  RigRun rig(dock(pattern(250),
                  small + "encode: {codec: h264, gop: 10}}\n" +
                      "      stills: {encode: {codec: mjpeg}, record: {path: stills.mkv}}\n",
                  "    queue_size: 32\n"));
  for (const std::string file : {"dock.mp4", "small.mp4", "stills.mkv"}) {
    ASSERT_TRUE(rig.wait_for_growth(file, 4000)) << rig.log();
  }
  ::kill(rig.pid_of("worker 0"), SIGKILL);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  const auto report = rig.report();
  EXPECT_EQ(check_all_books(report), "");
  const auto& camera = report.at("cameras").at("dock");
  EXPECT_EQ(camera.at("worker_restarts"), 1);
  const auto expect_whole = [&](const nlohmann::json& output, const std::string& file) {
    SCOPED_TRACE(file);
    const auto& frames = output.at("frames");
    EXPECT_EQ(frames.at("decoded"), 250);
    EXPECT_EQ(frames.at("recorded"), frames.at("encoded"));
    EXPECT_GT(frames.at("encoded"), 150);
    const VideoFile video = read_video(rig.file(file));
    EXPECT_EQ(video.pictures.size(), frames.at("encoded").get<std::size_t>());
    EXPECT_EQ(video.complaints, 0) << video.text;
    // To the last frame.
    EXPECT_GE(times_of(video).back(), 249 * 40'000'000LL - 2'000'000);
  };
  expect_whole(camera, "dock.mp4");
  expect_whole(camera.at("outputs").at("small"), "small.mp4");
  expect_whole(camera.at("outputs").at("stills"), "stills.mkv");
}

TEST(Outputs, WhatIsCopiedIsPassedOnBesideWhatIsEncoded) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "a.mp4", .frames = 100, .b_frames = 2});
  RigRun rig("cameras:\n  dock:\n    source: \"" + (clips.path() / "a.mp4").string() +
             "\"\n    pace: fast\n    encode: {codec: copy}\n    record: {path: dock.mp4}\n    outputs:\n" + small +
             "encode: {codec: h264}}\n");
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  const auto camera = rig.camera("dock");
  EXPECT_EQ(check_all_books(rig.report()), "");
  EXPECT_EQ(camera.at("frames").at("recorded"), 100);
  EXPECT_EQ(camera.at("outputs").at("small").at("frames").at("recorded"), 100);
  EXPECT_EQ(numbers_of(read_video(rig.file("dock.mp4"))), numbers_of(read_video(clips.path() / "a.mp4")));
  EXPECT_EQ(probe(rig.file("small.mp4")).width, 160);
}

TEST(Outputs, ACameraThatIsOnlyCopiedHasNoWorker) {
  const TemporaryFolder clips;
  make_clip(clips.path(), {.name = "a.mp4", .frames = 50});
  RigRun rig("cameras:\n  dock:\n    source: \"" + (clips.path() / "a.mp4").string() +
             "\"\n    encode: {codec: copy}\n    record: {path: dock.mp4}\n");
  ASSERT_TRUE(rig.wait_for_growth("dock.mp4", 1000)) << rig.log();
  EXPECT_EQ(rig.find("worker 0"), std::nullopt);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  const auto camera = rig.camera("dock");
  EXPECT_EQ(camera.at("state"), "ended");
  EXPECT_EQ(camera.at("frames").at("decoded"), 50);
  EXPECT_EQ(camera.at("frames").at("recorded"), 50);
  EXPECT_EQ(numbers_of(read_video(rig.file("dock.mp4"))), numbers_of(read_video(clips.path() / "a.mp4")));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
