// A rig whose camera a is moved from worker 0 to another one and back; b is in worker 1 and must never notice.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <memory>
#include <string>

#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"
#include "tests/integration/rig_waits.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {

// By the command; `port`: of the rig's HTTP.
inline Answer move_in(const RigRun& rig, int port, const std::string& camera, unsigned worker) {
  return ask({"move", camera, std::to_string(worker), "--url", "http://127.0.0.1:" + std::to_string(port),
              "--token-file", rig.file("state/token-" + std::to_string(port)).string()});
}

class MoveRig {
 public:
  static constexpr unsigned target = 2;  // the worker of c

  // `keys`: more of camera a, lines with an indent of four. `rate`: of the patterns.
  explicit MoveRig(const std::string& keys = "", const std::string& policy = "drop", const RigOptions& options = {},
                   int rate = 25)
      : rate_(rate) {
    const auto camera = [](const std::string& name, const std::string& more = "") {
      return "  " + name + ":\n    record: {path: " + name + ".mp4}\n" + more;
    };
    rig_ = std::make_unique<RigRun>(
        "http_address: \"127.0.0.1:" + std::to_string(port_) + "\"\nrtsp_address: \"127.0.0.1:" +
            std::to_string(rtsp_port_) + "\"\nworkers: {count: 3}\ndefaults:\n  gpu: cpu\n  drop_policy: " + policy +
            "\n  queue_size: 32\n  encode: {gop: 1s, bitrate: 1M, options: {sc_threshold: 0}}\n"
            "  source: \"test://pattern?width=320&height=240&rate=" +
            std::to_string(rate) + "\"\ncameras:\n" + camera("a", keys) +
            camera("b", "    placement: {encode: \"cpu:1\"}\n") + camera("c", "    placement: {encode: \"cpu:2\"}\n"),
        options);
    waits_ = std::make_unique<RigWaits>(*rig_);
  }

  [[nodiscard]] RigRun& rig() { return *rig_; }
  [[nodiscard]] std::string log() const { return rig_->log(); }
  [[nodiscard]] int rtsp_port() const { return rtsp_port_; }
  [[nodiscard]] std::uint16_t port() const { return static_cast<std::uint16_t>(port_); }

  // Something more of each is in its file.
  void wait_for_flow() {
    for (const char* name : {"a.mp4", "b.mp4", "c.mp4"}) ASSERT_TRUE(flows(name)) << name << '\n' << log();
  }
  [[nodiscard]] bool flows(const std::string& file) const {
    return rig_->wait_for_growth(file, rig_->size(file) + 2000);
  }
  [[nodiscard]] Answer move(const std::string& camera, unsigned worker) const {
    return move_in(*rig_, port_, camera, worker);
  }
  // Of a camera by stage or by tile.
  [[nodiscard]] Answer move_part(const std::string& camera, unsigned from, unsigned to) const {
    return ask({"move", camera, std::to_string(to), "--from", std::to_string(from), "--url",
                "http://127.0.0.1:" + std::to_string(port_), "--token-file",
                rig_->file("state/token-" + std::to_string(port_)).string()});
  }
  [[nodiscard]] nlohmann::json status_of(const std::string& camera) const {
    return nlohmann::json::parse(ask_http("GET /api/v1/cameras/" + camera).body);
  }
  [[nodiscard]] Reply ask_http(const std::string& line, const std::string& body = "") const {
    const std::string token = read_text(rig_->file("state/token-" + std::to_string(port_)));
    return test::ask(port(), line, "Authorization: Bearer " + token + "\r\n", body);
  }

  // Ends it, once it is not behind; all that must hold of any rig with a move.
  void end_with_losses() {
    for (const char* name : {"a", "b", "c"})
      EXPECT_TRUE(eventually([&] { return frames_in_hands(status_of(name)) <= few_in_hands; }))
          << status_of(name).dump(2) << log();
    rig_->signal(SIGINT);
    ASSERT_EQ(rig_->wait(), 0) << log();
    EXPECT_EQ(check_accounting(rig_->report()), "");
  }
  // Likewise, where nobody has killed b's worker: b loses what that, without a CPU, was late for, and nothing else.
  void end() {
    ASSERT_NO_FATAL_FAILURE(end_with_losses());
    EXPECT_EQ(check_losses("b"), "") << log();
    EXPECT_EQ(check_pattern_recording(read_video(rig_->file("b.mp4")), !was_late(rig_->camera("b"))), "");
  }
  // Once it has ended.
  [[nodiscard]] std::string check_losses(const std::string& camera) {
    return check_late_only(rig_->camera(camera), rate_, *waits_);
  }
  // Each of its frames is in this one file, a frame apart.
  void expect_whole(const std::string& file) const {
    const VideoFile video = read_video(rig_->file(file));
    EXPECT_EQ(check_pattern_recording(video, true), "") << log();
    expect_even(video, 1'000'000'000 / rate_);
  }
  static void expect_even(const VideoFile& video, std::int64_t step) {
    const auto times = times_of(video);
    for (std::size_t i = 1; i < times.size(); ++i)
      ASSERT_NEAR(static_cast<double>(times[i] - times[i - 1]), static_cast<double>(step), 2e6) << "frame " << i;
  }

 private:
  const int rate_;
  int port_ = free_port();
  int rtsp_port_ = free_port();
  std::unique_ptr<RigRun> rig_;
  std::unique_ptr<RigWaits> waits_;
};

}  // namespace campipe::test
