// Copies that browsers do not play: H.264 is made of them while somebody watches, and only then; what is copied is the
// camera's own all the while.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>

#include "core/error.h"
#include "tests/integration/clips.h"
#include "tests/integration/frame_hashes.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/test_camera.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::IsEmpty;

constexpr int clip_frames = 60;
constexpr std::size_t chunk = 30'000;  // bytes of a stream: some frames

class WatchedCopies : public testing::Test {
 protected:
  // `keys`: of `dock`, in lines. Its queue is long, since it does not wait for a worker that gets no CPU for a moment.
  void begin(const std::string& source, const std::string& keys = "", const RigOptions& options = {}) {
    rig_ = std::make_unique<RigRun>("http_address: 127.0.0.1:" + std::to_string(port_) + "\nrtsp_address: off\n" +
                                        "cameras:\n  dock:\n    source: \"" + source +
                                        "\"\n    queue_size: 32\n    encode: {codec: copy}\n" + keys,
                                    options);
  }
  [[nodiscard]] std::string clip(const ClipSpec& spec) const {
    make_clip(folder_.path(), spec);
    return (folder_.path() / spec.name).string();
  }

  // Of `dock`; null: there is none yet.
  [[nodiscard]] json camera() const {
    const Answer answer = ask({"status", "--json", "--url", "http://127.0.0.1:" + std::to_string(port_)});
    return answer.status == 0 ? json::parse(answer.output).at("cameras").value("dock", json()) : json();
  }
  [[nodiscard]] json browser() const {
    const json seen = camera();
    return seen.is_null() ? json::object() : seen.value("/outputs/browser"_json_pointer, json::object());
  }
  [[nodiscard]] std::uint64_t decoded() const {
    return browser().value("/frames/decoded"_json_pointer, std::uint64_t{0});
  }
  [[nodiscard]] std::uint64_t copied() const {
    const json seen = camera();
    return seen.is_null() ? 0 : seen.at("frames").at("encoded").get<std::uint64_t>();
  }
  void wait_for_copies(std::uint64_t more) const {
    const std::uint64_t before = copied();
    ASSERT_TRUE(eventually([&] { return copied() >= before + more; })) << rig_->log();
  }
  // For the time of some frames nothing is decoded.
  [[nodiscard]] bool rests() const {
    const std::uint64_t before = decoded();
    wait_for_copies(20);
    return decoded() == before;
  }

  [[nodiscard]] std::unique_ptr<TcpClient> watch(const std::string& form = "ts") const {
    auto viewer = std::make_unique<TcpClient>(port_);
    viewer->send(request_text("GET /cameras/dock/stream." + form + "?output=browser"));
    EXPECT_EQ(read_head(*viewer).status, 200) << rig_->log();
    return viewer;
  }
  // What a viewer gets: a second of it or more. It is looked at now and then only: who does not read meanwhile loses
  // frames.
  [[nodiscard]] VideoFile see(TcpClient& viewer, std::size_t more_than = 25) const {
    const fs::path file = folder_.path() / "seen.ts";
    for (std::size_t look_at = 0;;) {
      if (!viewer.read_up_to(viewer.text().size() + chunk)) throw Error("the stream has ended");
      if (viewer.text().size() < look_at) continue;
      look_at = viewer.text().size() * 3 / 2;
      std::ofstream(file, std::ios::binary) << viewer.text();
      VideoFile seen = read_video(file);
      if (seen.pictures.size() <= more_than) continue;
      seen.pictures.pop_back();  // of which something may be still to come
      return seen;
    }
  }
  // They are of the clip, one after another.
  static void expect_in_turn(const VideoFile& seen) {
    const auto numbers = numbers_of(seen);
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      ASSERT_EQ(numbers[i], (numbers[i - 1] + 1) % clip_frames) << "frame " << i << "\n" << seen.text;
    }
  }

  json end() {
    rig_->signal(SIGTERM);
    EXPECT_EQ(rig_->wait(), 0) << rig_->log();
    const json report = rig_->report();
    EXPECT_EQ(check_accounting(report), "");
    const json found = report.at("cameras").at("dock");
    EXPECT_EQ(check_accounting({{"cameras", found.value("outputs", json::object())}}), "");
    return found;
  }
  // Every packet of the clip, turn after turn.
  void expect_own_packets(const std::string& clip, const std::string& recorded) const {
    const auto own = video_hashes(clip);
    const auto copies = video_hashes(rig_->file(recorded));
    ASSERT_EQ(own.size(), static_cast<std::size_t>(clip_frames));
    for (std::size_t i = 0; i < copies.size(); ++i) ASSERT_EQ(copies[i], own[i % own.size()]) << "packet " << i;
  }

  TemporaryFolder folder_;
  std::uint16_t port_ = static_cast<std::uint16_t>(free_port());
  std::unique_ptr<RigRun> rig_;
};

struct Sent {
  std::string encoder;
  std::string ending;
  std::string pixels = "yuv420p";
};
void PrintTo(const Sent& sent, std::ostream* out) { *out << sent.encoder; }

class WatchedFile : public WatchedCopies {
 protected:
  void play(const Sent& sent) {
    recorded_ = "dock." + sent.ending;
    clip_ =
        clip({.name = "clip." + sent.ending, .encoder = sent.encoder, .pixels = sent.pixels, .frames = clip_frames});
    begin(clip_, "    loop: true\n    record: {path: " + recorded_ + "}\n");
    wait_for_copies(30);
  }

  std::string clip_;
  std::string recorded_;
};

const Sent hevc{"libx265", "mp4"};
const Sent pictures{"mjpeg", "mkv", "yuvj420p"};

TEST_F(WatchedFile, IsDecodedOnlyWhileSomebodyWatches) {
  if (!can_encode(hevc.encoder)) GTEST_SKIP();
  play(hevc);
  EXPECT_EQ(browser().value("state", ""), "running");
  EXPECT_EQ(decoded(), 0U);
  auto viewer = watch();
  const VideoFile seen = see(*viewer);
  EXPECT_EQ(seen.width, 320);
  expect_in_turn(seen);
  EXPECT_TRUE(eventually([&] { return decoded() >= seen.pictures.size(); })) << rig_->log();
  EXPECT_EQ(browser().at("codec"), "h264");
  EXPECT_EQ(ask(port_, "GET /cameras/dock/snapshot.jpg?output=browser").status, 200);
  viewer.reset();
  EXPECT_TRUE(eventually([&] { return rests(); })) << rig_->log();
  const json found = end();
  EXPECT_THAT(found.at("frames").at("dropped"), IsEmpty());
  EXPECT_EQ(found.at("frames").at("recorded"), found.at("frames").at("encoded"));
  const json& frames = found.at("outputs").at("browser").at("frames");
  EXPECT_LT(frames.at("decoded"), found.at("frames").at("encoded"));
  for (const auto& [cause, count] : frames.at("dropped").items()) EXPECT_EQ(cause, "unwatched") << count;
  expect_own_packets(clip_, recorded_);
}

// What is encoded on demand is moved like the rest, while it is watched.
TEST_F(WatchedCopies, GoOnForTheirViewersInAnotherWorker) {
  const std::string encoder = can_encode("libx265") ? "libx265" : "mpeg4";
  begin(clip({.name = "clip.mkv", .encoder = encoder, .pixels = "yuv420p", .frames = clip_frames}),
        "    loop: true\n  other:\n    source: \"test://pattern?width=160&height=120&rate=5\"\nworkers: {count: 2}\n");
  wait_for_copies(30);
  const auto move = [&] {
    return ask({"move", "dock", "1", "--url", "http://127.0.0.1:" + std::to_string(port_), "--token-file",
                rig_->file("state/token-" + std::to_string(port_)).string()});
  };
  EXPECT_THAT(move().errors, testing::HasSubstr("no frames come to its worker just now"));
  auto viewer = watch();
  expect_in_turn(see(*viewer));
  const Answer answer = move();
  EXPECT_EQ(answer.status, 0) << answer.errors << rig_->log();
  VideoFile seen = see(*viewer);
  const std::size_t before = seen.pictures.size();
  seen = see(*viewer, before + 150);
  expect_in_turn(seen);
  viewer.reset();
  EXPECT_TRUE(eventually([&] { return rests(); })) << rig_->log();
  const json found = end();
  EXPECT_THAT(found.at("frames").at("dropped"), IsEmpty());
  for (const auto& [cause, count] : found.at("outputs").at("browser").at("frames").at("dropped").items())
    EXPECT_EQ(cause, "unwatched") << count;
}

// Where only some frames are key frames: each viewer begins with one.
TEST_F(WatchedFile, ServeViewersWhoComeAndGo) {
  if (!can_encode(hevc.encoder)) GTEST_SKIP();
  play(hevc);
  for (int i = 0; i < 10; ++i) {
    SCOPED_TRACE(i);
    auto viewer = watch(i % 2 == 0 ? "ts" : "mp4");
    ASSERT_TRUE(viewer->read_up_to(chunk)) << rig_->log();
    viewer.reset();
    const bool in_haste = i % 4 != 3;
    ASSERT_TRUE(in_haste || eventually([&] { return rests(); })) << rig_->log();
  }
  expect_in_turn(see(*watch()));
  EXPECT_THAT(end().at("frames").at("dropped"), IsEmpty());
  expect_own_packets(clip_, recorded_);
}

// Its worker has decoded frames, of whatever codec.
TEST_F(WatchedFile, GoOnForTheirViewersAfterTheWorkersDeath) {
  play(pictures);
  auto viewer = watch();
  ASSERT_TRUE(viewer->read_up_to(chunk)) << rig_->log();
  const pid_t before = rig_->pid_of("worker 0");
  ::kill(before, SIGKILL);
  rig_->successor_of("worker 0", before);
  const auto encoded = [&] { return browser().value("/frames/encoded"_json_pointer, std::uint64_t{0}); };
  const std::uint64_t encoded_before = encoded();
  ASSERT_TRUE(eventually([&] { return encoded() > encoded_before + 20; })) << rig_->log();
  viewer.reset();
  EXPECT_TRUE(eventually([&] { return rests(); })) << rig_->log();
  EXPECT_THAT(end().at("frames").at("dropped"), IsEmpty());
  expect_own_packets(clip_, recorded_);
}

// What it costs to have viewers ends with them, whatever it did to its process.
TEST_F(WatchedCopies, AreNotForBrowsersWhereNoneAreServed) {
  RigRun rig("http_address: off\nrtsp_address: off\ncameras: {dock: {source: \"" +
             clip({.name = "clip.mkv", .encoder = "mjpeg", .pixels = "yuvj420p", .frames = clip_frames}) +
             "\", pace: fast, encode: {codec: copy}, record: {path: dock.mkv}}}\n");
  ASSERT_EQ(rig.wait(), 0) << rig.log();
  EXPECT_FALSE(rig.camera("dock").contains("outputs"));
}

// One that ends without ever having been watched has ended well, and whole.
TEST_F(WatchedCopies, EndWithTheirSource) {
  const std::string source =
      clip({.name = "clip.mkv", .encoder = "mjpeg", .pixels = "yuvj420p", .frames = clip_frames});
  begin(source, "    pace: fast\n    record: {path: dock.mkv}\n");
  ASSERT_EQ(rig_->wait(), 0) << rig_->log();
  const json found = rig_->camera("dock");
  EXPECT_EQ(found.at("frames").at("recorded"), clip_frames);
  EXPECT_EQ(found.at("outputs").at("browser").at("state"), "ended");
  EXPECT_EQ(found.at("outputs").at("browser").at("frames").at("decoded"), 0);
  expect_own_packets(source, "dock.mkv");
}

TEST_F(WatchedCopies, OutliveADecoderThatCrashesAgainAndAgain) {
  if (!can_encode("libx265")) GTEST_SKIP();
  const std::string source = clip({.name = "clip.mp4", .encoder = "libx265", .frames = clip_frames});
  begin(source, "    loop: true\n    record: {path: dock.mp4}\n", {.failpoints = "decoder.buffer:5=segv"});
  wait_for_copies(10);
  auto viewer = watch();
  ASSERT_TRUE(eventually([&] { return browser().value("state", "") == "failed"; })) << rig_->log();
  wait_for_copies(50);
  EXPECT_EQ(camera().at("state"), "running");
  EXPECT_EQ(decoded(), browser().at("frames").at("decoded"));
  rig_->signal(SIGTERM);
  EXPECT_EQ(rig_->wait(), 3) << rig_->log();
  EXPECT_EQ(rig_->camera("dock").at("state"), "ended");
}

TEST_F(WatchedCopies, GoOnWhereTheirDecoderFails) {
  if (!can_encode("libx265")) GTEST_SKIP();
  const std::string source = clip({.name = "clip.mp4", .encoder = "libx265", .frames = clip_frames});
  begin(source, "    loop: true\n    record: {path: dock.mp4}\n", {.failpoints = "ingest.packet:5=throw"});
  wait_for_copies(10);
  auto viewer = watch();
  const std::string told = "cannot be decoded for who watches";
  ASSERT_TRUE(eventually([&] { return rig_->log().find(told) != std::string::npos; })) << rig_->log();
  ASSERT_TRUE(viewer->read_up_to(viewer->text().size() + 4 * chunk)) << rig_->log();
  EXPECT_THAT(end().at("frames").at("dropped"), IsEmpty());
  expect_own_packets(source, "dock.mp4");
}

TEST_F(WatchedCopies, OfWhatBrowsersPlayHaveNoOutputForThem) {
  begin(clip({.name = "clip.mp4", .frames = clip_frames}), "    loop: true\n");
  wait_for_copies(30);
  EXPECT_FALSE(camera().contains("outputs"));
  EXPECT_EQ(rig_->find("worker 0"), std::nullopt);
  EXPECT_FALSE(end().contains("outputs"));
}

TEST_F(WatchedCopies, HaveTheOutputOfThatNameThatIsConfigured) {
  if (!can_encode("libx265")) GTEST_SKIP();
  begin(clip({.name = "clip.mp4", .encoder = "libx265", .frames = clip_frames}),
        "    loop: true\n    outputs: {browser: {encode: {codec: h264}, filters: [{resize: {width: 160, height: "
        "120}}]}}\n");
  ASSERT_TRUE(eventually([&] { return decoded() > 20; })) << rig_->log();
  const json output = browser();
  EXPECT_FALSE(output.contains("on_demand"));
  EXPECT_EQ(output.at("width"), 160);
  EXPECT_EQ(camera().at("outputs").size(), 1U);
  end();
}

TEST_F(WatchedCopies, OfACameraAreDecodedOnlyWhileSomebodyWatches) {
  if (const std::string reason = TestCamera::missing(); !reason.empty()) GTEST_SKIP() << reason;
  const TestCamera sender({"--codec", "h265"});
  begin(sender.url(), "    rtsp_transport: tcp\n    record: {path: dock.mkv}\n");
  wait_for_copies(30);
  EXPECT_EQ(decoded(), 0U);
  auto viewer = watch();
  EXPECT_GT(see(*viewer).pictures.size(), 10U);
  EXPECT_TRUE(eventually([&] { return decoded() >= 25; })) << rig_->log();
  viewer.reset();
  EXPECT_TRUE(eventually([&] { return rests(); })) << rig_->log();
  const json found = end();
  EXPECT_THAT(found.at("frames").at("dropped"), IsEmpty());
  std::size_t recorded = 0;
  // A starved camera seems to set its clock, which begins a second file.
  for (const fs::directory_entry& each : fs::directory_iterator(rig_->folder())) {
    if (each.path().extension() != ".mkv") continue;
    const VideoFile file = read_video(each.path());
    EXPECT_EQ(file.complaints, 0) << file.text;
    recorded += file.packets;
  }
  EXPECT_EQ(recorded, found.at("frames").at("encoded").get<std::size_t>()) << rig_->log();
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
