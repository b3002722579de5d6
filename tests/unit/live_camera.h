// A camera for tests of servers: an encoded clip that goes on for ever, offered to a LiveStream in real time. Every
// H.264 packet has a number in it, by which a frame that comes out somewhere is known again.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/publisher/server/live/stream.h"
#include "tests/unit/encoded_clip.h"

namespace campipe::test {

inline constexpr std::string_view number_mark = "campipe picture ";  // 16 bytes, as is an SEI message's UUID
inline constexpr std::string_view sound_mark = "campipe sound ";

// A message to nobody, which decoders leave alone; `padding` bytes make the packet larger.
std::vector<std::uint8_t> numbered(std::uint32_t number, const std::vector<std::uint8_t>& data, std::size_t padding);

std::optional<std::uint32_t> number_in(std::string_view data, std::string_view mark = number_mark);

// As telephones have it: 8000 bytes a second.
AudioParameters sound_parameters();

class LiveCamera {
 public:
  // `clip`: 25 frames a second, none of them in another order. `key_on_demand`: as our encoders do, it goes on with a
  // key frame when somebody comes.
  explicit LiveCamera(Clip clip, bool key_on_demand = true);
  ~LiveCamera();
  LiveCamera(const LiveCamera&) = delete;
  LiveCamera& operator=(const LiveCamera&) = delete;

  [[nodiscard]] const std::shared_ptr<LiveStream>& stream() const { return stream_; }
  // So many bytes more in each packet.
  void pad(std::size_t bytes) { padding_ = bytes; }
  // Goes on with another clip.
  void change(Clip clip);
  void pause() { thread_ = {}; }
  // From the next key frame on there is sound: a packet beside each frame, with the frame's number in it.
  void speak(const AudioParameters& as = sound_parameters());
  // When the frame with that number was taken.
  [[nodiscard]] std::int64_t capture_utc(std::uint32_t number) const;
  [[nodiscard]] std::uint32_t newest() const { return number_; }
  // By which the camera's clock is behind ours.
  static constexpr std::int64_t delay = 250 * ms;

 private:
  void start();

  void run(const std::stop_token& stopping);

  void offer(const Packet& packet, std::int64_t taken);

  void offer_sound(std::uint32_t number, FrameTimes times);

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
