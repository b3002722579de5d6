#include "stages/sources/analyzed_units.h"

#include <cstdlib>
#include <optional>

extern "C" {
#include <libavutil/common.h>
}

#include "stages/sources/capture_clock.h"

namespace campipe {
namespace {

constexpr AVRational microseconds{1, 1'000'000};
constexpr std::int64_t most_apart = 5000;  // us, by which sender reports correct libavformat's times

std::int32_t step(std::uint32_t from, std::uint32_t to) { return static_cast<std::int32_t>(to - from); }

bool is_near(std::int64_t a, std::int64_t b, AVRational time_base) {
  return std::abs(av_rescale_q(av_sat_sub64(a, b), time_base, microseconds)) <= most_apart;
}

// How long before the second unit the first one is, if these are the timestamps of the units' packets. The last ones
// are of the last unit, so they are compared from there on.
std::optional<std::int64_t> first_step(std::span<const std::int64_t> times, std::span<const std::uint32_t> timestamps,
                                       AVRational time_base) {
  if (timestamps.size() <= times.size()) return std::nullopt;
  const auto last = timestamps.last(times.size() + 1);
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (!is_near(times[i] - times[i - 1], step(last[i], last[i + 1]), time_base)) return std::nullopt;
  }
  return step(last[0], last[1]);
}

// The distinct times of all units behind the first one.
std::vector<std::int64_t> times_after_first(std::span<AVPacket* const> units) {
  std::vector<std::int64_t> times;
  for (const AVPacket* unit : units.subspan(1)) {
    if (unit->pts != AV_NOPTS_VALUE && (times.empty() || times.back() != unit->pts)) times.push_back(unit->pts);
  }
  return times;
}

void date_first(std::span<AVPacket* const> units, std::span<const std::vector<std::uint32_t>> timestamps,
                std::int64_t frame, AVRational time_base) {
  AVPacket& first = *units.front();
  first.pts = AV_NOPTS_VALUE;
  const std::vector<std::int64_t> times = times_after_first(units);
  if (times.empty()) return;
  if (frame > 0) first.pts = av_sat_sub64(times.front(), frame);
  for (const std::vector<std::uint32_t>& flow : timestamps) {
    const auto known = first_step(times, flow, time_base);
    if (!known) continue;
    first.pts = av_sat_sub64(times.front(), *known);
    return;
  }
}

void shift_capture_times(std::span<AVPacket* const> units, AVRational time_base) {
  std::optional<std::int64_t> before;  // us; of the unit that the loop is at
  for (std::size_t i = 0; i < units.size(); ++i) {
    const std::optional<std::int64_t> next = wall_clock(*units[i]);
    // What the first report was sent behind has one as well.
    const bool known = i + 1 < units.size() && units[i]->pts != AV_NOPTS_VALUE && units[i + 1]->pts != AV_NOPTS_VALUE;
    if (!before && next && known)
      before = *next - av_rescale_q(av_sat_sub64(units[i + 1]->pts, units[i]->pts), time_base, microseconds);
    set_wall_clock(*units[i], before);
    before = next;
  }
}

}  // namespace

void correct_analyzed(std::span<AVPacket* const> units, std::span<const std::vector<std::uint32_t>> timestamps,
                      std::int64_t frame, AVRational time_base) {
  if (units.empty()) return;
  date_first(units, timestamps, frame, time_base);
  shift_capture_times(units, time_base);
}

}  // namespace campipe
