// Codec `copy`: what is recorded is what the file holds, packet for packet, as libavformat and ffprobe see both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/command_output.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;

void run(const std::string& command) {
  Program program({"sh", "-c", command});
  ASSERT_EQ(program.wait(), 0) << command;
}

// Those of the packets from the first frame on, as if that came at 0.
std::vector<double> times_in_turn(const fs::path& file, TrackKind track) {
  const double begin = packet_times(file, TrackKind::video).pts.at(0);
  std::vector<double> times = packet_times(file, track).pts;
  for (double& time : times) time -= begin;
  std::erase_if(times, [](double time) { return time < -1e-4; });
  return times;
}

// Of a file that is being written: none while it has less than a player opens.
std::size_t packets_so_far(const fs::path& file) {
  try {
    return packet_times(file, TrackKind::video).pts.size();
  } catch (const Error&) {
    return 0;
  }
}

struct Clip {
  std::string name;  // without its ending
  std::string ending;
  bool audio;
};

class CopiedLoops : public testing::TestWithParam<std::string> {
 protected:
  static constexpr int frames = 25;  // one second

  void make_clips() {
    for (const std::string ending : {"mp4", "mkv"}) {
      for (const bool audio : {false, true}) {
        const Clip clip{ending + (audio ? "_audio" : ""), ending, audio};
        run("ffmpeg -v error -f lavfi -i testsrc2=size=160x128:rate=25 " +
            std::string(audio ? "-f lavfi -i sine=sample_rate=48000 -c:a aac " : "") + "-t 1 -c:v " + GetParam() +
            " -x265-params log-level=none -g 10 -bf 3 '" + file_of(clip).string() + "'");
        clips_.push_back(clip);
      }
    }
  }
  [[nodiscard]] fs::path file_of(const Clip& clip) const { return folder_.path() / (clip.name + "." + clip.ending); }
  // Each in both containers.
  [[nodiscard]] std::string rig() const {
    std::string yaml =
        "http_address: off\nrtsp_address: off\ndefaults: {loop: true, encode: {codec: copy}}\ncameras:\n";
    for (const Clip& clip : clips_) {
      yaml += "  " + clip.name + ":\n    source: \"" + file_of(clip).string() + "\"\n    record: {path: " + clip.name +
              "_out.mkv}\n    outputs: {other: {encode: {codec: copy}, record: {path: " + clip.name + "_out.mp4}}}\n";
    }
    return yaml;
  }
  static void expect_turns(const std::vector<double>& turn, const std::vector<double>& recorded, double tolerance) {
    ASSERT_GT(recorded.size(), 2 * turn.size());
    for (std::size_t i = 0; i < recorded.size(); ++i) {
      const double expected = turn[i % turn.size()] + static_cast<double>(i / turn.size());
      ASSERT_NEAR(recorded[i], expected, tolerance) << "packet " << i;
    }
  }

  TemporaryFolder folder_;
  std::vector<Clip> clips_;
};

TEST_P(CopiedLoops, HaveEveryPacketOfEveryTurnInItsPlace) {
  if (output_of("ffmpeg -hide_banner -encoders").find(GetParam()) == std::string::npos) GTEST_SKIP();
  ASSERT_NO_FATAL_FAILURE(make_clips());
  RigRun rig_run(rig());
  for (const Clip& clip : clips_) {
    // A file of three turns.
    const std::string name = clip.name + "_out.mkv";
    ASSERT_TRUE(eventually([&] { return packets_so_far(rig_run.file(name)) > 2 * frames + 5; })) << rig_run.log();
  }
  rig_run.signal(SIGTERM);
  ASSERT_EQ(rig_run.wait(), 0) << rig_run.log();
  EXPECT_EQ(check_accounting(rig_run.report()), "");
  for (const Clip& clip : clips_) {
    const auto turn = times_in_turn(file_of(clip), TrackKind::video);
    ASSERT_EQ(turn.size(), static_cast<std::size_t>(frames));
    for (const std::string ending : {"mkv", "mp4"}) {
      const fs::path recorded = rig_run.file(clip.name + "_out." + ending);
      SCOPED_TRACE(recorded.filename());
      expect_turns(turn, times_in_turn(recorded, TrackKind::video), 0.0011);
      const auto decoded = packet_times(recorded, TrackKind::video).dts;
      for (std::size_t i = 1; i < decoded.size(); ++i) ASSERT_GT(decoded[i], decoded[i - 1]) << i;
      if (!clip.audio) continue;
      const auto sound = times_in_turn(recorded, TrackKind::sound);
      expect_turns(times_in_turn(file_of(clip), TrackKind::sound), sound, 0.0016);
      for (std::size_t i = 1; i < sound.size(); ++i) ASSERT_GT(sound[i], sound[i - 1]) << i;
    }
    EXPECT_EQ(rig_run.camera(clip.name).at("source").at("timestamps_corrected").at("repeated"), 0) << clip.name;
  }
}

// One value of `ffprobe -show_entries WHAT`.
double number_of(const std::string& file, const std::string& what) {
  const std::string text =
      output_of("ffprobe -v error -of default=nk=1:nw=1 -show_entries " + what + " '" + file + "'");
  return text.empty() ? -1 : std::stod(text);
}

// A clip of two seconds whose frames are reordered, with sound, to be turned by `degrees` counterclockwise.
class CopiedFiles : public testing::Test {
 protected:
  std::string make_clip(int degrees) {
    const std::string plain = (folder_.path() / "plain.mp4").string();
    const std::string clip = (folder_.path() / (std::to_string(degrees) + ".mp4")).string();
    run("ffmpeg -v error -y -f lavfi -i testsrc2=size=160x128:rate=25 -f lavfi -i sine=sample_rate=48000 -t 2 -c:v "
        "libx264 -g 10 -bf 3 -c:a aac '" +
        plain + "'");
    run("ffmpeg -v error -y -i '" + plain + "' -c copy -metadata:s:v rotate=" + std::to_string(degrees) + " '" + clip +
        "'");
    return clip;
  }

  TemporaryFolder folder_;
};

// As one run of ffprobe tells it; s.
struct Told {
  double rotation = -1;
  double duration = 0;  // of the file
  struct Track {
    double duration = 0;
    std::vector<double> in_turn;  // times of the packets since the first frame, of those that are not before it
  };
  std::map<std::string, Track> tracks;  // "video", "audio"
};

Told told_of(const std::string& file) {
  const auto text = output_of(
      "ffprobe -v error -of json -show_entries "
      "stream_side_data=rotation:stream=codec_type,duration:format=duration:packet=codec_type,pts_time '" +
      file + "'");
  const auto all = nlohmann::json::parse(text);
  const auto number = [](const nlohmann::json& value) { return std::stod(value.get<std::string>()); };
  Told told;
  told.duration = number(all.at("format").at("duration"));
  for (const auto& stream : all.at("streams")) {
    told.tracks[stream.at("codec_type")].duration = stream.contains("duration") ? number(stream.at("duration")) : 0;
    for (const auto& data : stream.value("side_data_list", nlohmann::json::array()))
      told.rotation = data.value("rotation", told.rotation);
  }
  const auto is_video = [](const nlohmann::json& packet) { return packet.at("codec_type") == "video"; };
  const double begin = number(std::ranges::find_if(all.at("packets"), is_video)->at("pts_time"));
  for (const auto& packet : all.at("packets")) {
    const double time = number(packet.at("pts_time")) - begin;
    if (time > -1e-4) told.tracks[packet.at("codec_type")].in_turn.push_back(time);
  }
  return told;
}

TEST_F(CopiedFiles, KeepTheirRotationAndTheirLength) {
  std::string yaml = "http_address: off\nrtsp_address: off\ndefaults: {pace: fast, encode: {codec: copy}}\ncameras:\n";
  std::vector<std::string> clips;
  for (const int degrees : {0, 90, 180, 270}) {
    const std::string name = "c" + std::to_string(degrees);
    clips.push_back(make_clip(degrees));
    yaml += "  " + name + ":\n    source: \"" + clips.back() + "\"\n    record: {path: " + name +
            ".mkv}\n    outputs: {other: {encode: {codec: copy}, record: {path: " + name + ".mp4}}}\n";
  }
  RigRun rig(yaml);
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  for (std::size_t i = 0; i < clips.size(); ++i) {
    const Told clip = told_of(clips[i]);
    for (const std::string ending : {".mkv", ".mp4"}) {
      const std::string recorded = rig.file("c" + std::to_string(90 * i) + ending).string();
      SCOPED_TRACE(recorded);
      Told told = told_of(recorded);
      EXPECT_EQ(told.rotation, clip.rotation);
      EXPECT_NEAR(told.duration, 2, 0.0011);
      EXPECT_EQ(told.tracks["video"].in_turn.size(), 50U);
      EXPECT_EQ(told.tracks["audio"].in_turn.size(), clip.tracks.at("audio").in_turn.size());
      EXPECT_EQ(told.tracks["audio"].in_turn.at(0), 0);
      if (ending != ".mp4") continue;
      for (const std::string track : {"video", "audio"}) EXPECT_NEAR(told.tracks[track].duration, 2, 0.0011) << track;
    }
  }
}

TEST_F(CopiedFiles, AreServedWithTheirRotation) {
  const std::string clip = make_clip(90);
  const std::string port = std::to_string(free_port());
  RigRun rig("http_address: 127.0.0.1:" + port + "\nrtsp_address: off\ncameras: {dock: {source: \"" + clip +
             "\", loop: true, encode: {codec: copy}}}\n");
  const std::string url = "http://127.0.0.1:" + port + "/cameras/dock/stream.mp4";
  EXPECT_TRUE(eventually([&] { return number_of(url, "stream_side_data=rotation") == 90; })) << rig.log();
}

INSTANTIATE_TEST_SUITE_P(Codecs, CopiedLoops, testing::Values("libx264", "libx265"));

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
