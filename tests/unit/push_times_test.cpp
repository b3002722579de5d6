// When frames were taken, as a receiver of RTSP reads it from the sender reports of a push target.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <thread>

#include "core/ffmpeg.h"
#include "core/libav_options.h"
#include "tests/unit/push_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

// What each of the first packets says of when a frame was taken, us. Of H.264 libavformat's parser attaches to each
// packet what the next one says. Those from before the first report say nothing.
std::vector<std::int64_t> taken_by(const AVFormatContext& input, std::size_t count) {
  std::vector<std::int64_t> taken;
  const AvPacket packet = make_av_packet();
  while (taken.size() < count && av_read_frame(const_cast<AVFormatContext*>(&input), packet.get()) == 0) {
    std::size_t size = 0;
    const auto* data = av_packet_get_side_data(packet.get(), AV_PKT_DATA_PRFT, &size);
    if (data != nullptr) taken.push_back(reinterpret_cast<const AVProducerReferenceTime*>(data)->wallclock);
    av_packet_unref(packet.get());
  }
  return taken;
}

class PushTimes : public testing::TestWithParam<std::int64_t> {};

TEST_P(PushTimes, AreCaptureTimes) {
  install_libav_log();
  const int port = free_port();
  const std::int64_t delay = GetParam();  // of the frames, until they are pushed
  const Clip clip = make_clip(100);
  States states;
  Pusher pusher({"rtsp://127.0.0.1:" + std::to_string(port) + "/dock"}, states.handler(),
                {.call = std::chrono::seconds(20)});
  const std::int64_t begun = utc_now_ns() - delay;
  std::jthread camera([&](const std::stop_token& over) {
    auto next = Clock::now();
    for (std::int64_t number = 0; !over.stop_requested(); ++number) {
      Packet packet = clip.packets[static_cast<std::size_t>(number) % clip.packets.size()];
      packet.dts = packet.times.pts = number * 40 * ms;
      packet.times.capture_utc = begun + number * 40 * ms;
      pusher.offer(packet.view(), clip.stream);
      std::this_thread::sleep_until(next += std::chrono::milliseconds(40));
    }
  });
  AVFormatContext* raw = nullptr;
  LibavOptions options;
  options.set("rtsp_flags", "listen");
  const std::string url = "rtsp://127.0.0.1:" + std::to_string(port) + "/dock";
  av_check(avformat_open_input(&raw, url.c_str(), nullptr, options.get()), url);
  const AvInput input(raw);
  const auto taken = taken_by(*input, 25);
  const std::int64_t now = utc_now_ns() / 1000;
  ASSERT_EQ(taken.size(), 25U) << (states.told().empty() ? "" : states.told().back().reason);
  for (const std::int64_t time : taken) {
    const double frames = static_cast<double>(time - begun / 1000) / 40'000;
    EXPECT_NEAR(frames, std::round(frames), 0.025) << "to a millisecond";
  }
  for (std::size_t i = 1; i < taken.size(); ++i) EXPECT_NEAR(static_cast<double>(taken[i] - taken[i - 1]), 40'000, 100);
  EXPECT_LE(taken.back(), now - delay / 1000 + 1000)
      << "the newest was taken so long ago, and what is under way longer";
}

INSTANTIATE_TEST_SUITE_P(Delays, PushTimes, testing::Values(0, 1500 * ms));

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
