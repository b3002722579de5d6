// A server with the live stream of a camera, which sends a clip again and again.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "app/publisher/server/http/server.h"
#include "core/clock.h"
#include "tests/unit/audio_clip.h"
#include "tests/unit/encoded_clip.h"
#include "tests/unit/http_client.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {

inline const Clip& clip() {
  static const Clip all = encode(Latency::low, steady(40));  // key frames 0, 10, 20, 30
  return all;
}

// Two seconds of video, and of sound that browsers do not play.
inline Sent spoken_clip() {
  const TemporaryFolder folder;
  return make(folder.path() / "a.mkv",
              "-f lavfi -i testsrc2=size=160x128:rate=25:duration=2 -f lavfi -i sine=sample_rate=8000:duration=2 "
              "-c:v libx264 -g 25 -bf 0 -c:a pcm_alaw");
}
inline void offer(LiveStream& stream, const Sent& sent) {
  std::size_t next = 0;
  for (const Packet& video : sent.video.packets) {
    stream.offer(video.view(), sent.video.parameters);
    for (; next < sent.audio.size() && sent.audio[next].times.pts < video.dts; ++next)
      stream.offer_audio(sent.audio[next].view());
  }
}

class HttpLiveTest : public testing::Test {
 protected:
  HttpLiveTest() : access_(config()), server_(config(), rig_, access_, {}) {
    rig_.set_status({{"cameras", {{"dock", camera_state("running")}}}});
    rig_.add_stream("dock", stream_);
  }
  ~HttpLiveTest() override { rig_.close(); }

  static ServerConfig config() {
    ServerConfig config;
    config.http_address = "127.0.0.1:0";
    return config;
  }
  static nlohmann::json camera_state(const std::string& state) {
    return {{"state", state},
            {"reason", "why"},
            {"since_utc", "2026-01-02T03:04:05Z"},
            {"outputs", {{"small", nlohmann::json::object()}}}};
  }

  // The clip again and again, without a break in its times. `padding`: bytes more in each packet.
  void send(int pictures, std::size_t padding = 0) {
    for (int i = 0; i < pictures; ++i, ++sent_) {
      Packet packet = clip().packets.at(static_cast<std::size_t>(sent_) % 40);
      packet.dts = sent_ * 40 * ms;
      packet.times.pts = packet.dts;
      packet.data.resize(packet.data.size() + padding);  // zeros between frames mean nothing
      stream_->offer(packet.view(), clip().parameters);
    }
  }
  void wait_for_viewers(std::uint64_t count) {
    const Deadline deadline = Clock::now() + patience;
    while (stream_->counts().viewers != count && Clock::now() < deadline) std::this_thread::yield();
    ASSERT_EQ(stream_->counts().viewers, count);
  }
  [[nodiscard]] std::uint16_t port() const { return server_.port(); }
  [[nodiscard]] std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(port()) + path;
  }

  // Skips messages until one of the type; none: the connection is over.
  static nlohmann::json next_of(WebSocketClient& client, const std::string& type) {
    for (;;) {
      const auto message = client.next();
      if (message.opcode == 8) return nullptr;
      if (message.opcode != 1) continue;
      nlohmann::json parsed = nlohmann::json::parse(message.bytes);
      if (parsed["type"] == type) return parsed;
    }
  }
  static std::string next_binary(WebSocketClient& client) {
    for (;;) {
      auto message = client.next();
      if (message.opcode == 2 || message.opcode == 8) return message.bytes;
    }
  }

  RigView rig_{[](const messages::Request&) {}};
  Access access_;
  std::shared_ptr<LiveStream> stream_ = std::make_shared<LiveStream>();
  HttpServer server_;
  std::int64_t sent_ = 0;
};

}  // namespace campipe::test
