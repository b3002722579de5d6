#include "stages/sinks/producer_time.h"

#include <algorithm>
#include <string_view>

#include "core/big_endian.h"
#include "core/ntp_time.h"

namespace campipe {
namespace {

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t version = 1;  // media times of 64 bits
// The time is that of what is seen, and not of when it was encoded or written.
constexpr std::uint64_t of_capture = 24;

// Seconds, and 32 bits of their fraction.
std::uint64_t ntp_of(std::uint64_t utc) {
  return ((utc / second + ntp_seconds_until_1970) << 32U) + ((utc % second) << 32U) / second;
}

}  // namespace

std::array<std::uint8_t, producer_time_size> producer_time_box(std::uint32_t track, std::int64_t utc,
                                                               std::int64_t media_time) {
  std::array<std::uint8_t, producer_time_size> box{};
  std::uint8_t* at = box.data();
  const auto put = [&](std::uint64_t value, int size) {
    put_big_endian(value, size, at);
    at += size;
  };
  put(producer_time_size, 4);
  at = std::ranges::copy(std::string_view("prft"), at).out;
  put(version << 24U | of_capture, 4);
  put(track, 4);
  put(ntp_of(static_cast<std::uint64_t>(utc)), 8);
  put(static_cast<std::uint64_t>(media_time), 8);
  return box;
}

}  // namespace campipe
