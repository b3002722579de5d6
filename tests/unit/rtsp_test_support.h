// An RTSP server with a camera, for tests of it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "app/config/password_hash.h"
#include "app/publisher/server/rtsp/server.h"
#include "core/clock.h"
#include "stages/encoders/encoder_config.h"
#include "tests/unit/live_camera.h"
#include "tests/unit/peers.h"
#include "tests/unit/rtsp_wire.h"
#include "tests/unit/temporary_folder.h"
#include "tests/unit/tls_peers.h"

namespace campipe::test {

constexpr std::chrono::seconds answer_patience{60};

template <typename Condition>
bool becomes_true(const Condition& condition, std::chrono::nanoseconds within = answer_patience) {
  const auto deadline = Clock::now() + within;
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

class RtspServerTest : public testing::Test {
 protected:
  RtspServerTest() { config_.rtsp_address = "127.0.0.1:" + std::to_string(port_); }

  // Another must be going before it ends.
  void serve(const RtspLimits& limits = {}) {
    access_ = std::make_unique<Access>(config_);
    auto tls = config_.tls ? open_server_tls(*config_.tls) : nullptr;
    server_ = std::make_unique<RtspServer>(config_, rig_, *access_, streams_, limits, std::move(tls));
  }
  void add_stream(const std::string& name, std::shared_ptr<LiveStream> stream) {
    rig_.add_stream(name, std::move(stream));
    streams_.insert(name);
  }
  void add(const std::string& name, LiveCamera& camera) {
    add_stream(name, camera.stream());
    if (server_) server_->add(name);
    ASSERT_TRUE(becomes_true([&] { return camera.stream()->parameters().has_value(); }));
  }
  void serve_dock(const RtspLimits& limits = {}) {
    add("dock", dock());
    serve(limits);
    ASSERT_TRUE(becomes_true([&] { return RtspWire(port_).ask("OPTIONS", "/dock").status > 0; }));
  }
  LiveCamera& dock() {
    if (!dock_) dock_ = std::make_unique<LiveCamera>(encode(Latency::low, steady(50)));
    return *dock_;
  }
  void add_user(const std::string& name, std::vector<std::string> cameras = {}, const std::string& secret = "") {
    config_.users.push_back({name, hash_password("pw-" + name), secret, Permission::view, std::move(cameras)});
  }

  [[nodiscard]] std::string url(const std::string& rest, const std::string& scheme = "rtsp") const {
    return scheme + "://" + rest;
  }
  [[nodiscard]] std::string at_server(const std::string& path = "/dock", const std::string& login = "",
                                      const std::string& scheme = "rtsp") const {
    return scheme + "://" + login + (login.empty() ? "" : "@") + "127.0.0.1:" + std::to_string(port_) + path;
  }
  // FFmpeg's exit status when it wants so many frames.
  static int ffmpeg(const std::string& source, const std::string& transport, int pictures = 20) {
    return Program({"ffmpeg", "-hide_banner", "-nostdin", "-loglevel", "fatal", "-rtsp_transport", transport,
                    "-timeout", "20000000", "-i", source, "-frames:v", std::to_string(pictures), "-f", "null", "-"})
        .wait();
  }

  int port_ = free_port();
  ServerConfig config_;
  std::set<std::string> streams_;
  RigView rig_{[](const messages::Request&) {}};
  std::unique_ptr<LiveCamera> dock_;
  std::unique_ptr<Access> access_;
  std::unique_ptr<RtspServer> server_;
};

}  // namespace campipe::test
