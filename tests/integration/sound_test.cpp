// A camera's sound beside its live frames, as players get both from a rig.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <map>
#include <sstream>

#include "core/error.h"
#include "tests/integration/rig_run.h"
#include "tests/unit/command_output.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::Each;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

struct Heard {
  std::vector<double> video;  // seconds
  std::vector<double> audio;
  std::vector<std::string> codecs;
  std::string complaints;
};

// What ffprobe reads of `input` within `seconds` of its time.
Heard listen(const std::string& input, int seconds, const std::string& options = "") {
  std::istringstream lines(output_of("ffprobe -v error " + options + " -read_intervals %+" + std::to_string(seconds) +
                                     " -show_entries packet=codec_type,pts_time:stream=codec_name -of csv '" + input +
                                     "' 2>&1"));
  Heard heard;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("N/A") != std::string::npos) continue;  // a time that the first packets of RTSP may not have
    if (line.starts_with("packet,video,"))
      heard.video.push_back(std::stod(line.substr(13)));
    else if (line.starts_with("packet,audio,"))
      heard.audio.push_back(std::stod(line.substr(13)));
    else if (line.starts_with("stream,"))
      heard.codecs.push_back(line.substr(7));
    else if (!line.empty() && !line.starts_with("program,"))
      heard.complaints += line + "\n";
  }
  return heard;
}

struct Listened {
  std::string what;
  std::future<Heard> heard;
};

// To several at the same time. `listen_to` is used until all have been heard.
template <typename Listen>
std::vector<Listened> listen_to_all(const std::vector<std::string>& all, const Listen& listen_to) {
  std::vector<Listened> listened;
  for (const std::string& what : all) {
    listened.push_back({what, std::async(std::launch::async, [&listen_to, what] { return listen_to(what); })});
  }
  return listened;
}

// Where the times go on behind their first gap of more than half a second.
double behind_gap(const std::vector<double>& times) {
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (times[i] - times[i - 1] > 0.5) return times[i];
  }
  return -1;
}

struct Steps {
  double usual = 0;
  double largest = 0;  // forwards or backwards
};
// From each time to the next.
Steps steps_of(const std::vector<double>& times) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < times.size(); ++i) steps.push_back(times[i] - times[i - 1]);
  if (steps.empty()) return {};
  std::ranges::sort(steps);
  return {steps[steps.size() / 2], std::max(steps.back(), -steps.front())};
}

class Sound : public testing::Test {
 protected:
  void run(const std::string& audio) {
    const std::string video = "testsrc2=size=640x360:rate=25:duration=30,noise=alls=20:allf=t";
    const std::string command = "ffmpeg -v error -f lavfi -i " + video +
                                " -f lavfi -i sine=sample_rate=48000:duration=30 -c:v libx264 -preset ultrafast -g 25 "
                                "-bf 0 -b:v 1500k -maxrate 1500k -bufsize 500k " +
                                audio + " '" + (folder_.path() / "clip.mkv").string() + "'";
    Program ffmpeg({"sh", "-c", command});
    ASSERT_EQ(ffmpeg.wait(), 0);
    rig_ = std::make_unique<RigRun>("http_address: \"127.0.0.1:" + std::to_string(http_) + "\"\nrtsp_address: off\n" +
                                        "workers: {count: 1}\ncameras:\n  dock:\n    source: \"" +
                                        (folder_.path() / "clip.mkv").string() +
                                        "\"\n    loop: true\n    encode: {codec: copy}\n" +
                                        "    outputs:\n      small: {encode: {codec: h264, gop: 25}, filters: "
                                        "[{resize: {width: 160, height: 90}}]}\n",
                                    RigOptions{.report = false});
    for (const std::string query : {"", "?output=small"}) {
      ASSERT_TRUE(eventually([&] {
        try {
          return ask(static_cast<std::uint16_t>(http_), "GET /cameras/dock/snapshot.jpg" + query).status == 200;
        } catch (const Error&) {
          return false;  // it does not listen yet
        }
      })) << rig_->log();
    }
  }
  [[nodiscard]] std::string url(const std::string& rest) const {
    return "http://127.0.0.1:" + std::to_string(http_) + "/cameras/dock/" + rest;
  }
  TemporaryFolder folder_;
  const int http_ = free_port();
  std::unique_ptr<RigRun> rig_;
};

TEST_F(Sound, IsHeardInStepWithThePictures) {
  run("-c:a aac");
  const auto hear = [&](const std::string& what) { return listen(url(what), 3); };
  for (auto& [what, listened] :
       listen_to_all({"stream.ts", "stream.mp4", "stream.ts?output=small", "stream.mp4?output=small"}, hear)) {
    SCOPED_TRACE(what);
    const Heard heard = listened.get();
    EXPECT_THAT(heard.complaints, IsEmpty());
    EXPECT_THAT(heard.codecs, testing::IsSupersetOf({"h264", "aac"}));
    ASSERT_THAT(heard.video, SizeIs(Ge(60U)));
    ASSERT_THAT(heard.audio, SizeIs(Ge(110U)));
    EXPECT_NEAR(heard.audio.front(), heard.video.front(), 0.1);
    EXPECT_NEAR(heard.audio.back(), heard.video.back(), 0.2);
    EXPECT_EQ(behind_gap(heard.video), -1);
    EXPECT_EQ(behind_gap(heard.audio), -1);
  }
}

// G.711, as cameras have it, is in neither form.
TEST_F(Sound, ThatDoesNotFitIsLeftOut) {
  run("-c:a pcm_mulaw -ar 8000");
  const auto hear = [&](const std::string& what) { return listen(url(what), 2); };
  for (auto& [what, listened] : listen_to_all({"stream.ts", "stream.mp4"}, hear)) {
    const Heard heard = listened.get();
    EXPECT_THAT(heard.complaints, IsEmpty());
    EXPECT_THAT(heard.codecs, Each("h264"));
    EXPECT_THAT(heard.video, SizeIs(Ge(40U)));
  }
  EXPECT_THAT(rig_->log(), HasSubstr("dock: watched as MPEG-TS without audio, which cannot hold pcm_mulaw"));
  EXPECT_THAT(rig_->log(), HasSubstr("dock: watched as MP4 without audio, which cannot hold pcm_mulaw"));
}

TEST_F(Sound, OfASlowPlayerGoesOnInStepWithThePictures) {
  run("-c:a aac");
  const std::vector<std::string> forms{"stream.ts", "stream.mp4"};
  std::map<std::string, TcpClient> players;
  for (const std::string& what : forms) {
    TcpClient& player = players.try_emplace(what, static_cast<std::uint16_t>(http_), 4096).first->second;
    player.send("GET /cameras/dock/" + what + " HTTP/1.0\r\nHost: localhost\r\n\r\n");
    ASSERT_EQ(read_head(player).status, 200);
  }
  // Meanwhile they read nothing.
  const auto hear = [&](const std::string& what) { return listen(url(what), 12); };
  for (auto& [what, listened] : listen_to_all(forms, hear)) {
    EXPECT_GT(listened.get().video.size(), 0U) << what;
  }
  for (auto& [what, player] : players) {
    SCOPED_TRACE(what);
    const auto path = folder_.path() / what;
    Heard heard;
    std::size_t size = 0;
    ASSERT_TRUE(eventually([&] {
      player.read_up_to(size += 100'000);
      std::ofstream(path, std::ios::binary) << player.text();
      heard = listen(path, 60);
      return !heard.audio.empty() && heard.audio.back() > behind_gap(heard.video) + 1 && behind_gap(heard.video) > 0;
    }));
    EXPECT_GT(behind_gap(heard.audio), 0);
    EXPECT_NEAR(behind_gap(heard.audio), behind_gap(heard.video), 0.1);
    EXPECT_NEAR(heard.audio.front(), heard.video.front(), 0.1);
  }
}

// Each camera with another kind of sound. Over RTSP both are streams of their own: which of them has come further when
// ffprobe ends depends on how busy the machine is. They are in step where they begin together, and neither jumps or
// runs at another pace.
TEST_F(Sound, IsHeardByRtsp) {
  struct Kind {
    std::string arguments;
    double step = 1024 / 48000.;  // between its packets, s
  };
  const std::map<std::string, Kind> kinds{{"aac", {"-c:a aac"}},
                                          {"opus", {"-c:a libopus", 0.02}},
                                          {"pcm_alaw", {"-c:a pcm_alaw -ar 8000"}},
                                          {"pcm_mulaw", {"-c:a pcm_mulaw -ar 8000"}}};
  const int rtsp = free_port();
  std::vector<std::string> codecs;
  std::string yaml = "http_address: \"127.0.0.1:" + std::to_string(http_) +
                     "\"\nrtsp_address: \"127.0.0.1:" + std::to_string(rtsp) + "\"\nworkers: {count: 1}\ncameras:\n";
  for (const auto& [codec, kind] : kinds) {
    const std::string file = (folder_.path() / (codec + ".mkv")).string();
    Program ffmpeg({"sh", "-c",
                    "ffmpeg -v error -f lavfi -i testsrc2=size=160x120:rate=25:duration=20 -f lavfi -i "
                    "sine=sample_rate=48000:duration=20 -c:v libx264 -preset ultrafast -g 25 -bf 0 " +
                        kind.arguments + " '" + file + "'"});
    ASSERT_EQ(ffmpeg.wait(), 0);
    codecs.push_back(codec);
    yaml += "  " + codec + ": {source: \"" + file + "\", loop: true, encode: {codec: copy}}\n";
  }
  rig_ = std::make_unique<RigRun>(yaml, RigOptions{.report = false});
  const auto is_enough = [](const Heard& heard) { return heard.audio.size() > 40 && heard.video.size() > 40; };
  for (const std::string transport : {"tcp", "udp"}) {
    const auto hear = [&](const std::string& codec) {
      const std::string url = "rtsp://127.0.0.1:" + std::to_string(rtsp) + "/" + codec;
      Heard heard;
      eventually([&] { return is_enough(heard = listen(url, 3, "-rtsp_transport " + transport)); });
      return heard;
    };
    for (auto& [codec, listened] : listen_to_all(codecs, hear)) {
      SCOPED_TRACE(codec + " " + transport);
      const Heard heard = listened.get();
      ASSERT_TRUE(is_enough(heard)) << heard.complaints << rig_->log();
      EXPECT_THAT(heard.codecs, testing::IsSupersetOf({std::string("h264"), codec}));
      EXPECT_NEAR(heard.audio.front(), heard.video.front(), 0.1);
      EXPECT_LT(steps_of(heard.video).largest, 0.3);
      EXPECT_LT(steps_of(heard.audio).largest, 0.3);
      EXPECT_NEAR(steps_of(heard.video).usual, 0.04, 0.002);
      EXPECT_NEAR(steps_of(heard.audio).usual, kinds.at(codec).step, 0.002);
    }
  }
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
