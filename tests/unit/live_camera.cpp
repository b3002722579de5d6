#include "tests/unit/live_camera.h"
#include "core/clock.h"

#include <array>
#include <cstdio>
#include <vector>

namespace campipe::test {

std::vector<std::uint8_t> numbered(std::uint32_t number, const std::vector<std::uint8_t>& data, std::size_t padding) {
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

std::optional<std::uint32_t> number_in(std::string_view data, std::string_view mark) {
  const auto at = data.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<std::uint32_t>(std::stoul(std::string(data.substr(at + mark.size(), 8))));
}

AudioParameters sound_parameters() {
  AudioParameters audio;
  audio.codec = "pcm_mulaw";
  audio.sample_rate = 8000;
  audio.channels = 1;
  return audio;
}

LiveCamera::LiveCamera(Clip clip, bool key_on_demand)
    : stream_(std::make_shared<LiveStream>([this](bool watched) { wanted_ = wanted_ || watched; })),
      clip_(std::move(clip)),
      key_on_demand_(key_on_demand) {
  start();
}

LiveCamera::~LiveCamera() {
  thread_ = {};
  stream_->close();
}

void LiveCamera::change(Clip clip) {
  thread_ = {};
  clip_ = std::move(clip);
  start();
}

void LiveCamera::speak(const AudioParameters& as) {
  stream_->set_audio(as);
  speaks_ = true;
}

std::int64_t LiveCamera::capture_utc(std::uint32_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = captures_.find(number);
  return found == captures_.end() ? 0 : found->second;
}

void LiveCamera::start() {
  thread_ = std::jthread([this](const std::stop_token& stopping) { run(stopping); });
}

void LiveCamera::run(const std::stop_token& stopping) {
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

void LiveCamera::offer(const Packet& packet, std::int64_t taken) {
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

void LiveCamera::offer_sound(std::uint32_t number, FrameTimes times) {
  std::array<char, 9> digits{};
  std::snprintf(digits.data(), digits.size(), "%08u", number % 100'000'000U);
  std::vector<std::uint8_t> data(sound_mark.begin(), sound_mark.end());
  data.insert(data.end(), digits.begin(), digits.begin() + 8);
  data.resize(320, 0xff);
  times.capture_utc = 0;
  stream_->offer_audio({data, times.pts, true, times});
}

}  // namespace campipe::test
