// A camera for tests of servers: an encoded clip that goes on for ever, offered to a LiveStream in real time. Every
// H.264 packet has a number in it, by which a frame that comes out somewhere is known again.
#pragma once

#include <array>
#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "app/publisher/server/live/stream.h"
#include "tests/unit/encoded_clip.h"

namespace campipe::test {

inline constexpr std::string_view number_mark = "campipe picture ";  // 16 bytes, as is an SEI message's UUID
inline constexpr std::string_view sound_mark = "campipe sound ";

// A message to nobody, which decoders leave alone; `padding` bytes make the packet larger.
inline std::vector<std::uint8_t> numbered(std::uint32_t number, const std::vector<std::uint8_t>& data,
                                          std::size_t padding) {
  std::array<char, 9> digits{};
  std::snprintf(digits.data(), digits.size(), "%08u", number % 100'000'000U);
  std::vector<std::uint8_t> all{0, 0, 0, 1, 6, 5};
  std::size_t size = number_mark.size() + 8 + padding;
  for (; size >= 255; size -= 255) all.push_back(255);
  all.push_back(static_cast<std::uint8_t>(size));
  all.insert(all.end(), number_mark.begin(), number_mark.end());
  all.insert(all.end(), digits.begin(), digits.begin() + 8);
  all.insert(all.end(), padding, '.');
  all.push_back(0x80);
  all.insert(all.end(), data.begin(), data.end());
  return all;
}

inline std::optional<std::uint32_t> number_in(std::string_view data, std::string_view mark = number_mark) {
  const auto at = data.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<std::uint32_t>(std::stoul(std::string(data.substr(at + mark.size(), 8))));
}

// As telephones have it: 8000 bytes a second.
inline AudioParameters sound_parameters() {
  AudioParameters audio;
  audio.codec = "pcm_mulaw";
  audio.sample_rate = 8000;
  audio.channels = 1;
  return audio;
}

class LiveCamera {
 public:
  // `clip`: 25 frames a second, none of them in another order. `key_on_demand`: as our encoders do, it goes on with a
  // key frame when somebody comes.
  explicit LiveCamera(Clip clip, bool key_on_demand = true)
      : stream_(std::make_shared<LiveStream>([this](bool watched) { wanted_ = wanted_ || watched; })),
        clip_(std::move(clip)),
        key_on_demand_(key_on_demand) {
    start();
  }
  ~LiveCamera() {
    thread_ = {};
    stream_->close();
  }
  LiveCamera(const LiveCamera&) = delete;
  LiveCamera& operator=(const LiveCamera&) = delete;

  [[nodiscard]] const std::shared_ptr<LiveStream>& stream() const { return stream_; }
  // So many bytes more in each packet.
  void pad(std::size_t bytes) { padding_ = bytes; }
  // Goes on with another clip.
  void change(Clip clip) {
    thread_ = {};
    clip_ = std::move(clip);
    start();
  }
  void pause() { thread_ = {}; }
  // From the next key frame on there is sound: a packet beside each frame, with the frame's number in it.
  void speak(const AudioParameters& as = sound_parameters()) {
    stream_->set_audio(as);
    speaks_ = true;
  }
  // When the frame with that number was taken.
  [[nodiscard]] std::int64_t capture_utc(std::uint32_t number) const {
    const std::lock_guard lock(mutex_);
    const auto found = captures_.find(number);
    return found == captures_.end() ? 0 : found->second;
  }
  [[nodiscard]] std::uint32_t newest() const { return number_; }
  // By which the camera's clock is behind ours.
  static constexpr std::int64_t delay = 250 * ms;

 private:
  void start() {
    thread_ = std::jthread([this](const std::stop_token& stopping) { run(stopping); });
  }

  void run(const std::stop_token& stopping) {
    auto next = Clock::now();
    // By a clock of its own, as a camera's: a frame that the machine's load makes late was taken in time.
    std::int64_t taken = utc_now_ns() - delay;
    for (std::size_t at = 0; !stopping.stop_requested(); ++at, taken += 40 * ms) {
      if (at == clip_.packets.size() || (key_on_demand_ && wanted_.exchange(false))) at = 0;
      offer(clip_.packets[at], taken);
      next += std::chrono::milliseconds(40);
      std::this_thread::sleep_until(next);
    }
  }

  void offer(const Packet& packet, std::int64_t taken) {
    const std::uint32_t number = ++number_;
    const bool h264 = clip_.parameters.codec == "h264" && clip_.parameters.extradata.at(0) == 0;
    const std::vector<std::uint8_t> data = h264 ? numbered(number, packet.data, padding_) : packet.data;
    FrameTimes times;
    times.pts = number * 40 * ms;
    times.duration = 40 * ms;
    times.capture_utc = taken;
    {
      const std::lock_guard lock(mutex_);
      captures_[number] = times.capture_utc;
    }
    stream_->offer({data, times.pts, packet.key, times}, clip_.parameters);
    if (speaks_) offer_sound(number, times);
  }

  void offer_sound(std::uint32_t number, FrameTimes times) {
    std::array<char, 9> digits{};
    std::snprintf(digits.data(), digits.size(), "%08u", number % 100'000'000U);
    std::vector<std::uint8_t> data(sound_mark.begin(), sound_mark.end());
    data.insert(data.end(), digits.begin(), digits.begin() + 8);
    data.resize(320, 0xff);
    times.capture_utc = 0;
    stream_->offer_audio({data, times.pts, true, times});
  }

  std::atomic<bool> speaks_{false};
  std::atomic<bool> wanted_{false};
  std::atomic<std::uint32_t> number_{0};
  std::atomic<std::size_t> padding_{0};
  std::shared_ptr<LiveStream> stream_;
  Clip clip_;
  bool key_on_demand_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, std::int64_t> captures_;
  std::jthread thread_;
};

}  // namespace campipe::test
