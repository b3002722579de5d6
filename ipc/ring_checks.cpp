#include "ipc/ring_checks.h"

#include <array>

namespace campipe {
namespace {

constexpr std::int64_t longest_time = std::int64_t{1} << 60;  // ns: 36 years
constexpr std::int64_t latest_utc = std::int64_t{1} << 62;    // ns since 1970
constexpr std::uint64_t most_sets = std::uint64_t{1} << 42;   // as many a second as there may be, since 1970
constexpr int largest_side = 65535;
// 16384 × 16384: more than FFmpeg decodes. Whoever gets a frame makes others as large.
constexpr std::int64_t most_samples = std::int64_t{1} << 28;
constexpr int most_colours = 32;  // of a kind; FFmpeg knows fewer

}  // namespace

bool is_possible_time(std::int64_t ns) { return ns >= -longest_time && ns <= longest_time; }

bool is_possible(const FrameTimes& times) {
  for (const std::int64_t time : {times.pts, times.duration, times.arrival, times.decode_cost, times.decoded,
                                  times.published, times.leased, times.filter_cost, times.filtered, times.encoded}) {
    if (!is_possible_time(time)) return false;
  }
  for (const std::int64_t utc : {times.media_time, times.capture_utc}) {
    if (utc < -latest_utc || utc > latest_utc) return false;
  }
  return times.capture_clock <= CaptureClock::camera && times.set <= most_sets && times.set_state <= SetState::far;
}

bool is_possible(const FrameFormat& format, bool known) {
  const int least = known ? 1 : 0;
  return format.pixels <= PixelFormat::nv12 && format.width >= least && format.width <= largest_side &&
         format.height >= least && format.height <= largest_side &&
         std::int64_t{format.width} * format.height <= most_samples && format.color_range < most_colours &&
         format.color_space < most_colours && format.color_primaries < most_colours &&
         format.color_transfer < most_colours && format.chroma_location < most_colours &&
         format.sample_aspect_num >= 0 && format.sample_aspect_den >= 1;
}

bool is_possible(const Device& device) {
  return device.kind == Device::Kind::gpu || (device.kind == Device::Kind::mig && device.gpu_uuid != Device().gpu_uuid);
}

bool is_possible(const FrameRecord& record, std::uint64_t slot_bytes) {
  if (!is_possible(record.format) || !is_possible(record.times) || !record.metadata.is_possible()) return false;
  if (record.ready > ReadySignal::timeline) return false;
  for (int plane = 0; plane < plane_count(record.format.pixels); ++plane) {
    const PlaneSize size = plane_size(record.format, plane);
    const std::int32_t stride = record.stride.at(static_cast<std::size_t>(plane));
    if (stride < size.width) return false;
    // No factor has more than 32 bits.
    const std::uint64_t rows = static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(size.height - 1);
    const std::uint64_t end =
        record.offset.at(static_cast<std::size_t>(plane)) + rows + static_cast<unsigned>(size.width);
    if (end > slot_bytes) return false;
  }
  return true;
}

}  // namespace campipe
