// Capture times and time stamps, as a camera's stream has them, 16 bytes for each packet: whatever they are, the time
// that is told is UTC after 1970 or none.
#include "stages/sources/capture_clock.h"

#include <cstring>

#include "stages/sources/source.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

// libavformat counts 64 bits of NTP, of which 32 are seconds, from 1970.
constexpr std::int64_t ntp_to_unix = 2'208'988'800;
constexpr std::int64_t longest = std::int64_t{1} << 32;

std::int64_t wall_clock(std::int64_t random) {
  const auto micros = static_cast<std::uint64_t>(random) % static_cast<std::uint64_t>(longest * 1'000'000);
  return static_cast<std::int64_t>(micros) - ntp_to_unix * 1'000'000;
}

void check(const std::uint8_t* data, std::size_t size) {
  RtpCaptureClock clock;
  for (std::size_t at = 0; at + 16 <= size; at += 16) {
    std::int64_t utc = 0;
    const AvPacket packet = make_av_packet();
    std::memcpy(&utc, data + at, 8);
    std::memcpy(&packet->pts, data + at + 8, 8);
    auto* reference = static_cast<AVProducerReferenceTime*>(
        static_cast<void*>(av_packet_new_side_data(packet.get(), AV_PKT_DATA_PRFT, sizeof(AVProducerReferenceTime))));
    require(reference != nullptr, "there is memory");
    reference->wallclock = wall_clock(utc);
    reference->flags = 0;
    clock.mend(*packet, {1, 90'000});
    const auto time = capture_time(*packet);
    require(!time || *time > 0, "a capture time is after 1970");
  }
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(data, size);
  return 0;
}
