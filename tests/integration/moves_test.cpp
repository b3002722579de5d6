// Cameras that are moved from one worker to another while they run, by the real program: recordings and RTSP readers go
// on with every frame, once; what cannot be moved is refused, and stays where it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/ffmpeg.h"
#include "tests/integration/move_rig.h"
#include "tests/unit/command_output.h"
#include "tests/unit/sanitized.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::HasSubstr;

std::size_t files_of(MoveRig& rig, const std::string& camera) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(rig.rig().folder())) {
    const std::string name = entry.path().filename();
    files += name.starts_with(camera) && name.ends_with(".mp4") ? 1 : 0;
  }
  return files;
}

TEST(Moves, ThereAndBackInOneFileWithoutALostFrame) {
  MoveRig moves;
  moves.wait_for_flow();
  for (const unsigned worker : {MoveRig::target, 0U, 1U}) {
    const Answer answer = moves.move("a", worker);
    EXPECT_EQ(answer.status, 0) << answer.errors << moves.log();
    EXPECT_THAT(answer.output, HasSubstr("a: is on worker " + std::to_string(worker)));
    moves.wait_for_flow();
  }
  moves.end();
  moves.expect_whole("a.mp4");
  EXPECT_EQ(files_of(moves, "a"), 1U);
  const auto camera = moves.rig().camera("a");
  EXPECT_TRUE(camera.at("frames").at("dropped").empty()) << camera << moves.log();
  EXPECT_EQ(camera.at("worker_restarts"), 0);
}

// Key frames stay on their grid: the second encoder begins where one is due.
TEST(MovesOfKeyFrames, KeepTheGrid) {
  MoveRig moves;
  moves.wait_for_flow();
  ASSERT_EQ(moves.move("a", MoveRig::target).status, 0) << moves.log();
  moves.wait_for_flow();
  moves.end();
  AVFormatContext* opened = nullptr;
  av_check(avformat_open_input(&opened, moves.rig().file("a.mp4").c_str(), nullptr, nullptr), "a.mp4");
  const AvInput input(opened);
  std::vector<int> keys;
  int at = 0;
  for (AvPacket packet = make_av_packet(); av_read_frame(input.get(), packet.get()) == 0; av_packet_unref(packet.get()))
    if (++at; (packet->flags & AV_PKT_FLAG_KEY) != 0) keys.push_back(at);
  ASSERT_GE(keys.size(), 4U);
  for (std::size_t i = 2; i < keys.size(); ++i) EXPECT_EQ(keys[i] - keys[i - 1], 25) << i << moves.log();
}

// All that a camera may have: more outputs, one of them at a lower rate, motion, snapshots.
TEST(MovesOfAll, OutputsGoOnAsTheyWere) {
  MoveRig moves(
      "    filters: [{motion: {}}]\n"
      "    snapshot: {path: a.jpg, every: 200ms}\n"
      "    outputs:\n"
      "      slow: {rate: 5, filters: [{resize: {width: 160, height: 120}}], record: {path: slow.mp4}}\n"
      "      quick: {encode: {gop: 10, bitrate: 500k}, record: {path: quick.mp4}}\n",
      "block");
  moves.wait_for_flow();
  const Answer answer = moves.move("a", MoveRig::target);
  ASSERT_EQ(answer.status, 0) << answer.errors << moves.log();
  std::filesystem::remove(moves.rig().file("a.jpg"));
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(moves.rig().file("a.jpg")); })) << "a snapshot";
  moves.wait_for_flow();
  ASSERT_EQ(moves.move("a", 0).status, 0) << moves.log();
  moves.wait_for_flow();
  ASSERT_TRUE(moves.rig().wait_for_growth("slow.mp4", moves.rig().size("slow.mp4")));
  moves.end();
  moves.expect_whole("a.mp4");
  moves.expect_whole("quick.mp4");
  for (const std::string name : {"a", "slow", "quick"}) EXPECT_EQ(files_of(moves, name), 1U) << name;
  MoveRig::expect_even(read_video(moves.rig().file("slow.mp4")), 200'000'000);
  const auto camera = moves.rig().camera("a");
  EXPECT_TRUE(camera.at("frames").at("dropped").empty()) << camera << moves.log();
}

// The new node's filters need a second and a half, and there is no key frame to come before the source is over.
TEST(MovesAtTheEnd, AreCancelledAndLoseNothing) {
  MoveRig moves(
      "    source: \"test://pattern?width=320&height=240&rate=25&frames=75\"\n    filters: [{motion: {}}]\n"
      "    encode: {gop: 10s, bitrate: 1M}\n");
  ASSERT_TRUE(eventually([&] { return moves.log().find("a: recording to") != std::string::npos; })) << moves.log();
  const Answer answer = moves.move("a", MoveRig::target);
  EXPECT_EQ(answer.status, 1) << answer.output;
  EXPECT_THAT(answer.errors, HasSubstr("it is not moved: its source has ended")) << moves.log();
  moves.end();
  moves.expect_whole("a.mp4");
  EXPECT_EQ(moves.rig().camera("a").at("frames").at("recorded"), 75);
}

// Its filters settle for a second and a half.
TEST(MovesAtTheEnd, OfACameraThatIsDisabledSayThat) {
  MoveRig moves("    filters: [{motion: {}}]\n");
  moves.wait_for_flow();
  Answer answer;
  std::jthread mover([&] { answer = moves.move("a", MoveRig::target); });
  ASSERT_TRUE(eventually([&] { return moves.log().find("is to go over") != std::string::npos; }));
  ASSERT_EQ(moves.ask_http("POST /api/v1/cameras/a/disable").status, 200);
  mover.join();
  EXPECT_EQ(answer.status, 1) << answer.output;
  EXPECT_THAT(answer.errors, HasSubstr("it is not moved: it is disabled")) << moves.log();
  moves.end();
  moves.expect_whole("a.mp4");
}

// The new node has to see a second and a half of the stream, and its frames come every ten seconds.
TEST(MovesThatTakeTooLong, AreCancelled) {
  MoveRig moves("    source: \"test://pattern?width=320&height=240&rate=0.1\"\n    filters: [{motion: {}}]\n");
  ASSERT_TRUE(eventually([&] { return moves.log().find("a: recording to") != std::string::npos; })) << moves.log();
  const Answer answer = moves.move("a", MoveRig::target);
  EXPECT_EQ(answer.status, 1) << answer.output;
  EXPECT_THAT(answer.errors, HasSubstr("it is not moved: worker 2 did not get ready for it within 8 s")) << moves.log();
  EXPECT_TRUE(eventually([&] { return !moves.status_of("a").contains("moves_to"); })) << moves.status_of("a");
  moves.end();
  EXPECT_TRUE(moves.rig().camera("a").at("frames").at("dropped").empty()) << moves.rig().camera("a");
}

// The rig is ended while both nodes have the camera.
TEST(MovesAtTheEnd, OfTheRigLoseNothing) {
  MoveRig moves("    filters: [{motion: {}}]\n", "block");
  moves.wait_for_flow();
  std::jthread mover([&] { static_cast<void>(moves.move("a", MoveRig::target)); });
  ASSERT_TRUE(eventually([&] { return moves.log().find("is to go over") != std::string::npos; }));
  moves.end();
  mover.join();
  moves.expect_whole("a.mp4");
  EXPECT_TRUE(moves.rig().camera("a").at("frames").at("dropped").empty()) << moves.rig().camera("a") << moves.log();
}

// A reader's packets, by when they came.
class Arrivals {
 public:
  explicit Arrivals(const std::string& url) {
    AVDictionary* options = nullptr;
    if (url.starts_with("rtsp:")) av_dict_set(&options, "rtsp_transport", "tcp", 0);
    av_dict_set(&options, "fflags", "nobuffer", 0);
    AVFormatContext* opened = nullptr;
    const int status = avformat_open_input(&opened, url.c_str(), nullptr, &options);
    av_dict_free(&options);
    av_check(status, url);
    input_.reset(opened);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] bool is_over() const { return over_; }
  void stop() { thread_ = {}; }
  // Of what came, from packet `first` on: the longest time between two packets, and the longest and shortest step of
  // their times, in seconds.
  struct Gaps {
    double arrival = 0;
    double pts = 0;
    double least_pts = 1;
  };
  [[nodiscard]] Gaps gaps(std::size_t first = 0) const {
    const std::lock_guard lock(mutex_);
    Gaps gaps;
    for (std::size_t i = first + 1; i < came_.size(); ++i) {
      gaps.arrival = std::max(gaps.arrival, std::chrono::duration<double>(came_[i] - came_[i - 1]).count());
      gaps.pts = std::max(gaps.pts, pts_[i] - pts_[i - 1]);
      gaps.least_pts = std::min(gaps.least_pts, pts_[i] - pts_[i - 1]);
    }
    return gaps;
  }

 private:
  void run(const std::stop_token& stop) {
    AvPacket packet = make_av_packet();
    while (!stop.stop_requested() && av_read_frame(input_.get(), packet.get()) == 0) {
      const AVStream& stream = *input_->streams[packet->stream_index];
      if (packet->pts != AV_NOPTS_VALUE) {
        const std::lock_guard lock(mutex_);
        came_.push_back(Clock::now());
        pts_.push_back(static_cast<double>(packet->pts) * av_q2d(stream.time_base));
        ++count_;
      }
      av_packet_unref(packet.get());
    }
    over_ = !stop.stop_requested();
  }

  AvInput input_;
  mutable std::mutex mutex_;  // for the two vectors
  std::vector<Clock::time_point> came_;
  std::vector<double> pts_;
  std::atomic<std::size_t> count_ = 0;
  std::atomic<bool> over_ = false;
  std::jthread thread_;
};

TEST(MovesOfReaders, HaveNoGapInTheirStream) {
  MoveRig moves;
  moves.wait_for_flow();
  Arrivals reader("rtsp://127.0.0.1:" + std::to_string(moves.rtsp_port()) + "/a");
  const auto wait_for_more = [&] {
    const std::size_t before = reader.count();
    ASSERT_TRUE(eventually([&] { return reader.count() > before + 50 || reader.is_over(); })) << moves.log();
  };
  wait_for_more();
  // What the machine does besides delays some of them; a move that takes its time would delay each.
  constexpr int most_moves = 20;
  double least = 1;
  for (int i = 0; i < 4 || (i < most_moves && least >= 0.1 * sanitizer_slowdown); ++i) {
    const std::size_t begin = reader.count();
    ASSERT_EQ(moves.move("a", i % 2 == 0 ? MoveRig::target : 0).status, 0) << moves.log();
    wait_for_more();
    const double longest = reader.gaps(begin).arrival;
    std::cout << "longest arrival gap of move " << i << ": " << longest * 1000 << " ms\n";
    least = std::min(least, longest);
  }
  EXPECT_LT(least, 0.1 * sanitizer_slowdown);
  EXPECT_FALSE(reader.is_over()) << "the connection was closed";
  reader.stop();
  EXPECT_NEAR(reader.gaps().pts, 0.04, 0.002);
  EXPECT_NEAR(reader.gaps().least_pts, 0.04, 0.002);
  moves.end();
}

TEST(MovesOfPushes, GoOnWithoutALostFrame) {
  const std::string target = "udp://127.0.0.1:" + std::to_string(free_port(SOCK_DGRAM));
  MoveRig moves("    push: [\"" + target + "\"]\n");
  moves.wait_for_flow();
  // Without a buffer, which a thread would fill that ThreadSanitizer does not let end.
  Arrivals reader(target + "?timeout=20000000&fifo_size=0");
  ASSERT_TRUE(eventually([&] { return reader.count() > 25 || reader.is_over(); })) << moves.log();
  ASSERT_EQ(moves.move("a", MoveRig::target).status, 0) << moves.log();
  const std::size_t before = reader.count();
  ASSERT_TRUE(eventually([&] { return reader.count() > before + 50 || reader.is_over(); })) << moves.log();
  reader.stop();
  EXPECT_NEAR(reader.gaps().pts, 0.04, 0.002);
  EXPECT_NEAR(reader.gaps().least_pts, 0.04, 0.002);
  moves.end();
}

// It goes from the source past the workers.
TEST(MovesOfSound, LeaveItAsItIs) {
  const TemporaryFolder folder;
  const std::string clip = (folder.path() / "clip.mkv").string();
  Program ffmpeg({"sh", "-c",
                  "ffmpeg -v error -f lavfi -i testsrc2=size=320x240:rate=25:duration=60 -f lavfi -i "
                  "sine=sample_rate=48000:duration=60 -c:v libx264 -preset ultrafast -g 25 -bf 0 -b:v 500k -c:a aac '" +
                      clip + "'"});
  ASSERT_EQ(ffmpeg.wait(), 0);
  MoveRig moves("    source: \"" + clip + "\"\n    encode: {codec: h264, gop: 1s, bitrate: 1M}\n");
  moves.wait_for_flow();
  for (const unsigned worker : {MoveRig::target, 0U}) {
    ASSERT_EQ(moves.move("a", worker).status, 0) << moves.log();
    moves.wait_for_flow();
  }
  moves.end();
  MoveRig::expect_even(read_video(moves.rig().file("a.mp4")), 40'000'000);
  std::istringstream lines(
      output_of("ffprobe -v error -select_streams a:0 -show_entries packet=pts_time -of csv=p=0 '" +
                moves.rig().file("a.mp4").string() + "'"));
  std::vector<double> times;
  for (double time = 0; lines >> time; lines.ignore(8, '\n')) times.push_back(time);
  ASSERT_GT(times.size(), 100U) << moves.log();
  for (std::size_t i = 1; i < times.size(); ++i) ASSERT_NEAR(times[i] - times[i - 1], 1024.0 / 48000, 2e-3) << i;
}

TEST(MovesThatAreRefused, LeaveTheCameraWhereItIs) {
  MoveRig moves;
  moves.wait_for_flow();
  const auto refused = [&](const std::string& camera, unsigned worker) {
    const Answer answer = moves.move(camera, worker);
    EXPECT_EQ(answer.status, 1) << answer.output;
    return answer.errors;
  };
  EXPECT_THAT(refused("a", 0), HasSubstr("it is on worker 0 already"));
  EXPECT_THAT(refused("a", 7), HasSubstr("there is no worker 7; the rig's are 0 to 2"));
  EXPECT_THAT(refused("nowhere", 1), HasSubstr("no such camera"));
  for (const std::string body : {"{}", R"({"worker": -1})", R"({"worker": "1"})", R"({"worker": 1.5})"})
    EXPECT_EQ(moves.ask_http("POST /api/v1/cameras/a/move", body).status, 400) << body;
  EXPECT_EQ(ask(moves.port(), "POST /api/v1/cameras/a/move", "", R"({"worker": 1})").status, 403);
  const auto reply = moves.ask_http("POST /api/v1/cameras/a/move", R"({"worker": 1001})");
  EXPECT_THAT(reply.body, HasSubstr("'worker' must be the number of a worker, 0 to 1000, not 1001"));
  const auto mistake = [](const std::string& camera, const std::string& worker) {
    const Answer answer = ask({"move", camera, worker});
    EXPECT_EQ(answer.status, 2) << answer.output;
    return answer.errors;
  };
  for (const std::string worker : {"1001", "99999999999999999999", "-1", "1.5", "01", ""})
    EXPECT_THAT(
        mistake("a", worker),
        HasSubstr("expected a worker's number, 0 to 1000, as `campipe status` lists them, not '" + worker + "'"));
  for (const std::string camera : {"", "a b", "_a"})
    EXPECT_THAT(mistake(camera, "1"), HasSubstr("expected the name of a camera or mosaic, which has 1 to 64 of the "
                                                "characters A-Z, a-z, 0-9, _ and -, and begins with a letter or a "
                                                "digit, not '" +
                                                camera + "'"));
  moves.end();
  moves.expect_whole("a.mp4");
}

TEST(MovesThatAreRefused, AreThoseOfCamerasOfSeveralKinds) {
  const int port = free_port();
  const TemporaryFolder folder;
  const std::string clip = (folder.path() / "clip.mkv").string();
  Program ffmpeg(
      {"sh", "-c",
       "ffmpeg -v error -f lavfi -i testsrc2=size=320x240:rate=10:duration=60 -c:v libx264 -preset ultrafast "
       "-g 10 -bf 0 -b:v 500k '" +
           clip + "'"});
  ASSERT_EQ(ffmpeg.wait(), 0);
  RigRun rig("http_address: \"127.0.0.1:" + std::to_string(port) +
             "\"\nrtsp_address: off\nworkers: {count: 2}\ndefaults:\n  gpu: cpu\n"
             "  source: \"test://pattern?width=160&height=120&rate=10\"\n"
             "cameras:\n"
             "  stages: {filters: [{color: {contrast: 1.1}}], placement: {filter: [\"cpu:0\"], encode: \"cpu:1\"}}\n"
             "  tiles: {filters: [sharpen], placement: {tiles: [\"cpu:0\", \"cpu:1\"]}}\n"
             "  copied: {source: \"" +
             clip +
             "\", encode: {codec: copy}}\n"
             "  away: {source: \"rtsp://127.0.0.1:" +
             std::to_string(free_port()) + "/a\"}\n  off: {enabled: false}\n");
  const auto answer_of = [&](const std::string& camera, unsigned worker) {
    return ask({"move", camera, std::to_string(worker), "--url", "http://127.0.0.1:" + std::to_string(port),
                "--token-file", rig.file("state/token-" + std::to_string(port)).string()});
  };
  const auto refuses = [&](const std::string& camera, const std::string& why) {
    std::string all;
    const bool so = eventually([&] {
      const Answer answer = answer_of(camera, 1);
      EXPECT_EQ(answer.status, 1) << camera;
      all = answer.errors;
      return all.find(why) != std::string::npos;
    });
    EXPECT_TRUE(so) << camera << ": " << all << rig.log();
  };
  refuses("stages", "it is processed by stage or by tile, in the workers 0, 1: say whose part of it is to go over");
  refuses("tiles", "by stage or by tile");
  refuses("copied", "it is passed on as it comes");
  refuses("away", "it cannot be moved while no frames of it come: ");
  refuses("off", "it is disabled");
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
