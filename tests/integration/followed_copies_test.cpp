// Copies of streams that become others in the midst: what is recorded, and what viewers get, can be decoded from each
// key frame on by who knows no more than its header.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>

#include "core/big_endian.h"
#include "tests/integration/clips.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/times_in.h"
#include "tests/unit/coded_units.h"
#include "tests/unit/command_output.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* quiet = "http_address: off\nrtsp_address: off\nworkers: {count: 1}\n";

void run(const std::string& command) {
  Program program({"sh", "-c", command});
  ASSERT_EQ(program.wait(), 0) << command;
}

void write_file(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

std::uint8_t* data_of(std::string& bytes, std::size_t at) {
  return static_cast<std::uint8_t*>(static_cast<void*>(&bytes.at(at)));
}

// The tags of an FLV file, so much later.
std::string flv_tags(std::string bytes, unsigned later_ms) {
  constexpr std::size_t header = 13;
  std::string tags;
  for (std::size_t at = header; at + 11 <= bytes.size();) {
    const std::size_t size = 15 + get_big_endian(data_of(bytes, at + 1), 3);
    if (later_ms > 0) put_big_endian(get_big_endian(data_of(bytes, at + 4), 3) + later_ms, 3, data_of(bytes, at + 4));
    constexpr char script = 18;
    if (bytes[at] != script && at + size <= bytes.size()) tags += bytes.substr(at, size);
    at += size;
  }
  return tags;
}

struct Joined {
  std::string name;
  std::string encoder;
  std::string ending;        // of the two parts
  std::string remuxed = "";  // the ending of what ffmpeg makes of both
  std::string recorded = ".mp4";
};

constexpr int frames = 24;  // of each part
constexpr int gop = 6;

// Of two parts, of which the second one has smaller frames.
fs::path make_joined(const fs::path& folder, const Joined& how) {
  const auto part = [&](const std::string& name, int width, int height) {
    ClipSpec spec{.name = name + "." + how.ending, .encoder = how.encoder, .frames = frames, .gop = gop};
    spec.width = width;
    spec.height = height;
    if (how.encoder == "mjpeg") spec.pixels = "yuvj420p";
    make_clip(folder, spec);
    return read_text(folder / spec.name);
  };
  const std::string large = part("large", 320, 240);
  const std::string small = part("small", 192, 160);
  const fs::path joined = folder / ("joined." + how.ending);
  if (how.ending == "flv") {
    write_file(joined, large.substr(0, 13) + flv_tags(large, 0) + flv_tags(small, 40 * frames));
  } else {
    write_file(joined, large + small);
  }
  if (how.remuxed.empty()) return joined;
  const fs::path remuxed = folder / ("remuxed." + how.remuxed);
  run("ffmpeg -v error -y -r 25 -i '" + joined.string() + "' -c copy '" + remuxed.string() + "' 2>/dev/null");
  return remuxed;
}

TEST(FollowedJoints, AreTwoFilesThatCanBePlayed) {
  const std::vector<Joined> all{{"h264_flv", "libx264", "flv"},
                                {"h264", "libx264", "h264"},
                                {"h264_ts", "libx264", "ts"},
                                {"h264_mkv", "libx264", "h264", "mkv"},
                                {"h264_mp4_to_mkv", "libx264", "h264", "mp4", ".mkv"},
                                {"hevc", "libx265", "hevc"},
                                {"hevc_ts", "libx265", "ts"},
                                {"hevc_mp4", "libx265", "hevc", "mp4"},
                                {"mpeg4_ts", "mpeg4", "ts"},
                                {"mpeg4_to_mkv", "mpeg4", "ts", "", ".mkv"},
                                {"mpeg2_ts", "mpeg2video", "ts"},
                                {"mjpeg", "mjpeg", "mjpeg"}};
  const TemporaryFolder folder;
  std::string yaml = std::string(quiet) + "defaults: {pace: fast, encode: {codec: copy}}\ncameras:\n";
  for (const Joined& how : all) {
    if (!can_encode(how.encoder)) continue;
    fs::create_directory(folder.path() / how.name);
    yaml += "  " + how.name + ": {source: \"" + make_joined(folder.path() / how.name, how).string() +
            "\", record: {path: " + how.name + "/cam" + how.recorded + "}}\n";
  }
  RigRun rig(yaml);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  for (const Joined& how : all) {
    if (!can_encode(how.encoder)) continue;
    SCOPED_TRACE(how.name);
    EXPECT_EQ(times_in(rig.log(), " " + how.name + ": its frames are 192x160 now"), 1U) << rig.log();
    const fs::path recorded = rig.file(how.name);
    const std::array files{recorded / ("cam" + how.recorded), recorded / ("cam-1" + how.recorded)};
    std::size_t shown = 0;
    for (const fs::path& file : files) {
      ASSERT_TRUE(fs::exists(file)) << rig.log();
      EXPECT_EQ(check_key_frames(file), "");
      shown += read_video(file).pictures.size();
    }
    EXPECT_EQ(read_video(files[0]).width, 320);
    EXPECT_EQ(read_video(files[1]).width, 192);
    EXPECT_FALSE(fs::exists(recorded / ("cam-2" + how.recorded))) << rig.log();
    EXPECT_EQ(shown, rig.camera(how.name).at("frames").at("recorded").get<std::size_t>());
    EXPECT_GE(shown, 2U * frames - 1);
  }
}

// Its first header comes again with each turn.
TEST(FollowedLoop, OfFlvBeginsEachTurnWithItsOwnHeader) {
  const TemporaryFolder folder;
  const auto part = [&](const std::string& name, int width, int height) {
    make_clip(folder.path(), {.name = name, .width = width, .height = height, .frames = 10, .gop = 5});
    return read_text(folder.path() / name);
  };
  const std::string large = part("large.flv", 320, 240);
  write_file(folder.path() / "all.flv",
             large.substr(0, 13) + flv_tags(large, 0) + flv_tags(part("small.flv", 192, 160), 400));
  RigRun rig(std::string(quiet) + "cameras: {cam: {source: \"" + (folder.path() / "all.flv").string() +
             "\", loop: true, record: {path: cam.mp4}}}\n");
  ASSERT_TRUE(rig.wait_for_growth("cam-3.mp4", 2000)) << rig.log();
  rig.signal(SIGTERM);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  for (const char* file : {"cam.mp4", "cam-1.mp4", "cam-2.mp4", "cam-3.mp4"})
    EXPECT_EQ(check_key_frames(rig.file(file)), "");
  EXPECT_EQ(read_video(rig.file("cam-1.mp4")).width, 192);
  EXPECT_EQ(read_video(rig.file("cam-2.mp4")).width, 320);
}

class FollowedCopies : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  static std::set<fs::path> recordings(const RigRun& rig, const std::string& camera) {
    std::set<fs::path> files;
    for (const auto& entry : fs::directory_iterator(rig.folder())) {
      const std::string name = entry.path().filename();
      if (name.starts_with(camera) && name.ends_with(".mp4")) files.insert(entry.path());
    }
    return files;
  }

  TemporaryFolder folder_;
};

// One that changes with every other group of pictures would be a file for each.
TEST_F(FollowedCopies, OfAStreamThatChangesAllTheTimeAreFewFilesAndNothingIsLost) {
  make_clip(folder_.path(), {.name = "large.h264", .width = 320, .height = 240, .frames = 4, .gop = 4});
  make_clip(folder_.path(), {.name = "small.h264", .width = 192, .height = 160, .frames = 4, .gop = 4});
  std::string all;
  for (int i = 0; i < 40; ++i) all += read_text(folder_.path() / (i % 2 == 0 ? "large.h264" : "small.h264"));
  write_file(folder_.path() / "all.h264", all);
  RigRun rig(std::string(quiet) + "cameras: {cam: {source: \"" + path("all.h264") +
             "\", pace: fast, encode: {codec: copy}, record: {path: cam.mp4}}}\n");
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  EXPECT_EQ(rig.camera("cam").at("frames").at("recorded"), 160) << rig.log();
  EXPECT_THAT(rig.log(), HasSubstr("again and again"));
  const auto files = recordings(rig, "cam");
  EXPECT_LE(files.size(), 10U);
  std::size_t shown = 0;
  for (const fs::path& file : files) shown += read_video(file).pictures.size();
  EXPECT_EQ(shown, 160U);
}

// Who begins with the key frame before has no use for what comes behind the new sets.
TEST_F(FollowedCopies, EndWhereParameterSetsChangeAndGoOnAtTheNextKeyFrame) {
  for (const auto& [name, encoder] : {std::pair{"h264", "libx264"}, std::pair{"hevc", "libx265"}}) {
    SCOPED_TRACE(name);
    if (!can_encode(encoder)) continue;
    make_clip(folder_.path(), {.name = std::string("large.") + name,
                               .encoder = encoder,
                               .width = 320,
                               .height = 240,
                               .frames = 12,
                               .gop = 6});
    const std::string large = read_text(folder_.path() / (std::string("large.") + name));
    std::string sets;
    const bool hevc = std::string(name) == "hevc";
    for (const std::string& unit : nal_units(large)) {
      const int type = hevc ? unit[0] >> 1 & 63 : unit[0] & 31;
      if (hevc ? type >= 32 && type <= 34 : type == 7 || type == 8) sets += std::string("\0\0\0\1", 4) + unit;
    }
    std::string all;
    int frame = 0;
    for (const CodedUnit& unit : coded_units({.encoder = encoder, .count = 24, .gop = 12})) {
      if (++frame == 20) all += sets;
      all += unit.data;
    }
    write_file(folder_.path() / (std::string("all.") + name), all + large);
    RigRun rig(std::string(quiet) + "cameras: {cam: {source: \"" + path(std::string("all.") + name) +
               "\", pace: fast, encode: {codec: copy}, record: {path: cam.mp4}}}\n");
    ASSERT_EQ(rig.wait(), 0) << rig.log();
    EXPECT_EQ(check_accounting(rig.report()), "");
    EXPECT_EQ(rig.camera("cam").at("frames").at("recorded"), 19 + 12) << rig.log();
    EXPECT_EQ(rig.camera("cam").at("frames").at("dropped").at("undecodable"), 5) << rig.log();
    EXPECT_EQ(times_in(rig.log(), "its parameter sets change between key frames"), 1U) << rig.log();
    EXPECT_EQ(check_key_frames(rig.file("cam.mp4")), "");
    EXPECT_EQ(check_key_frames(rig.file("cam-1.mp4")), "");
    EXPECT_EQ(read_video(rig.file("cam.mp4")).pictures.size(), 19U);
    EXPECT_EQ(read_video(rig.file("cam-1.mp4")).pictures.size(), 12U);
    EXPECT_EQ(read_video(rig.file("cam-1.mp4")).width, 320);
  }
}

// `ffmpeg -c copy` cuts at any place: its edit list hides what has to be decoded before.
TEST_F(FollowedCopies, HaveNothingThatAnEditListHides) {
  const std::string cut = path("cut.mp4");
  make_clip(folder_.path(), {.name = "whole.mp4", .frames = 100, .b_frames = 2, .gop = 50, .rate = 25});
  run("ffmpeg -v error -y -ss 1.2 -i '" + path("whole.mp4") + "' -c copy '" + cut + "'");
  const std::size_t shown = read_video(cut).pictures.size();
  ASSERT_EQ(shown, 70U);
  RigRun rig(std::string(quiet) + "defaults: {source: \"" + cut +
             "\", pace: fast}\ncameras:\n  own: {record: {path: own.mp4}}\n"
             "  copied: {encode: {codec: copy}, record: {path: copied.mp4}}\n");
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_EQ(check_accounting(rig.report()), "");
  const VideoFile own = read_video(rig.file("own.mp4"));
  EXPECT_EQ(own.pictures.size(), shown);
  EXPECT_EQ(numbers_of(own).front(), 30);
  EXPECT_NEAR(own.duration_s, 2.8, 0.05);
  EXPECT_THAT(rig.log(), HasSubstr("edit list cuts between key frames"));
  const VideoFile copied = read_video(rig.file("copied.mp4"));
  EXPECT_EQ(check_key_frames(rig.file("copied.mp4")), "");
  EXPECT_EQ(copied.pictures.size(), 50U);
  EXPECT_EQ(numbers_of(copied).front(), 50);
  EXPECT_EQ(rig.camera("copied").at("frames").at("recorded"), 50);
  EXPECT_EQ(rig.camera("copied").at("frames").at("dropped").at("undecodable"), 20);
}

// What is hidden behind a key frame, and would be shown before it, is no reason to leave anything out.
TEST_F(FollowedCopies, OfAFileThatIsCutAtAKeyFrameAreWhole) {
  make_clip(folder_.path(), {.name = "whole.mp4", .frames = 100, .b_frames = 2, .gop = 25, .rate = 25});
  run("ffmpeg -v error -y -ss 1 -i '" + path("whole.mp4") + "' -c copy '" + path("cut.mp4") + "'");
  const std::size_t shown = read_video(path("cut.mp4")).pictures.size();
  RigRun rig(std::string(quiet) + "cameras: {cam: {source: \"" + path("cut.mp4") +
             "\", pace: fast, record: {path: cam.mp4}}}\n");
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_THAT(rig.log(), HasSubstr("passed on as it comes"));
  EXPECT_EQ(read_video(rig.file("cam.mp4")).pictures.size(), shown);
  EXPECT_EQ(check_key_frames(rig.file("cam.mp4")), "");
}

// Display matrices as phones write them, in the header of the track.
std::string with_matrix(std::string file, const std::array<int, 4>& matrix) {
  const std::size_t at = file.find("tkhd") + 4 + 40;
  const std::array<std::size_t, 4> places{0, 4, 12, 16};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto number = static_cast<std::uint32_t>(matrix.at(i) * 65536);
    put_big_endian(number, 4, data_of(file, at + places.at(i)));
  }
  return file;
}

// Small and grey, as ffmpeg shows the first frame of each file: 64 bytes for each.
std::string shown(const std::vector<fs::path>& files) {
  std::string inputs;
  std::string scaled;
  std::string names;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string number = std::to_string(i);
    inputs += " -i '" + files[i].string() + "'";
    scaled += "[" + number + ":v]scale=8:8,format=gray[s" + number + "];";
    names += "[s" + number + "]";
  }
  return output_of("ffmpeg -v error" + inputs + " -filter_complex '" + scaled + names +
                   "vstack=inputs=" + std::to_string(files.size()) + "' -frames:v 1 -f rawvideo -");
}

double difference(const std::string& a, const std::string& b) {
  if (a.size() != 64 || b.size() != 64) return 255;
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    sum += std::abs(static_cast<int>(static_cast<unsigned char>(a[i])) - static_cast<unsigned char>(b[i]));
  return sum / 64;
}

TEST_F(FollowedCopies, OfMirroredClipsLookAsTheClipsDo) {
  run("ffmpeg -v error -y -f lavfi -i testsrc2=size=160x128:rate=25:duration=1 -vf \"geq=lum='X+Y/2':cb=128:cr=128\" "
      "-c:v libx264 -pix_fmt yuv420p '" +
      path("plain.mp4") + "'");
  const std::string plain = read_text(path("plain.mp4"));
  const std::vector<std::pair<std::string, std::array<int, 4>>> matrices{
      {"hflip", {-1, 0, 0, 1}},       {"vflip", {1, 0, 0, -1}},   {"transpose", {0, 1, 1, 0}},
      {"transverse", {0, -1, -1, 0}}, {"quarter", {0, 1, -1, 0}}, {"half", {-1, 0, 0, -1}},
  };
  std::string cameras;
  for (const auto& [name, matrix] : matrices) {
    write_file(path(name + ".mp4"), with_matrix(plain, matrix));
    cameras += "  " + name + ": {source: \"" + path(name + ".mp4") + "\", pace: fast, record: {path: " + name +
               ".mp4}, outputs: {kept: {encode: {codec: copy}, record: {path: " + name + "_kept.mp4}}}}\n";
  }
  RigRun rig(std::string(quiet) + "cameras:\n" + cameras);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  for (const auto& [name, matrix] : matrices) {
    const std::string all =
        shown({path(name + ".mp4"), path("plain.mp4"), rig.file(name + ".mp4"), rig.file(name + "_kept.mp4")});
    ASSERT_EQ(all.size(), 4 * 64U) << name;
    const std::string right = all.substr(0, 64);
    EXPECT_GT(difference(right, all.substr(64, 64)), 20) << name;
    EXPECT_LT(difference(all.substr(128, 64), right), 4) << name;
    EXPECT_LT(difference(all.substr(192, 64), right), 4) << name;
  }
  EXPECT_THAT(rig.log(), HasSubstr("h264 that is mirrored"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
