#include "stages/sources/analyzed_units.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>

extern "C" {
#include <libavutil/common.h>
}

#include "stages/sources/capture_clock.h"

namespace campipe {
namespace {

constexpr std::int64_t most_apart = 5000;  // us, by which sender reports correct libavformat's times
constexpr std::int64_t most_off = std::int64_t{1} << 32;

std::int32_t step(std::uint32_t from, std::uint32_t to) { return static_cast<std::int32_t>(to - from); }

bool is_near(std::int64_t a, std::int64_t b, AVRational time_base) {
  return std::abs(av_rescale_q(av_sat_sub64(a, b), time_base, av_get_time_base_q())) <= most_apart;
}

struct Packets {
  std::span<const RtpMark> marks;
  std::uint64_t off = 0;  // by how much their times are, together
};

// The packets of the units whose times these are, and of the one before them, if they may be of this flow. The last
// ones are of the last unit, so they are compared from there on.
std::optional<Packets> packets_of(std::span<const std::int64_t> times, std::span<const RtpMark> flow,
                                  std::int64_t frame, AVRational time_base) {
  if (flow.size() <= times.size()) return std::nullopt;
  Packets packets{flow.last(times.size() + 1)};
  const auto compare = [&](std::int64_t apart, std::size_t i) {
    const std::int64_t by = step(packets.marks[i].timestamp, packets.marks[i + 1].timestamp);
    packets.off += static_cast<std::uint64_t>(std::abs(std::clamp(av_sat_sub64(apart, by), -most_off, most_off)));
    return is_near(apart, by, time_base);
  };
  for (std::size_t i = 1; i < times.size(); ++i)
    if (!compare(av_sat_sub64(times[i], times[i - 1]), i)) return std::nullopt;
  // The first unit has no time; it should be one frame before the second.
  if (times.size() == 1) compare(frame, 0);
  return packets;
}

// The distinct times of all units behind the first one.
std::vector<std::int64_t> times_after_first(std::span<AVPacket* const> units) {
  std::vector<std::int64_t> times;
  for (const AVPacket* unit : units.subspan(1)) {
    if (unit->pts != AV_NOPTS_VALUE && (times.empty() || times.back() != unit->pts)) times.push_back(unit->pts);
  }
  return times;
}

void date_first(std::span<AVPacket* const> units, std::span<const RtpMark> marks, std::int64_t frame) {
  AVPacket& first = *units.front();
  first.pts = AV_NOPTS_VALUE;
  for (std::size_t i = 1; i < units.size(); ++i) {
    if (units[i]->pts == AV_NOPTS_VALUE) continue;
    if (frame > 0) first.pts = av_sat_sub64(units[i]->pts, frame);
    if (!marks.empty()) first.pts = av_sat_sub64(units[i]->pts, step(marks[0].timestamp, marks[i].timestamp));
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
      before = *next - av_rescale_q(av_sat_sub64(units[i + 1]->pts, units[i]->pts), time_base, av_get_time_base_q());
    set_wall_clock(*units[i], before);
    before = next;
  }
}

}  // namespace

std::vector<RtpMark> find_marks(std::span<AVPacket* const> units, std::span<const std::vector<RtpMark>> flows,
                                std::int64_t frame, AVRational time_base) {
  if (units.empty()) return {};
  const std::vector<std::int64_t> times = times_after_first(units);
  std::vector<Packets> possible;
  for (const std::vector<RtpMark>& flow : flows) {
    if (const auto packets = packets_of(times, flow, frame, time_base)) possible.push_back(*packets);
  }
  // Frames may be as far apart as those of sound.
  std::ranges::sort(possible, {}, &Packets::off);
  const bool says_nothing = times.size() < 2 && frame <= 0;
  if (possible.empty() || (possible.size() > 1 && (says_nothing || possible[0].off == possible[1].off))) return {};
  std::vector<RtpMark> marks;
  auto mark = possible.front().marks.begin();
  std::int64_t time = AV_NOPTS_VALUE;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (i > 0 && units[i]->pts != AV_NOPTS_VALUE && units[i]->pts != time) {
      time = units[i]->pts;
      ++mark;
    }
    marks.push_back(*mark);
  }
  return marks;
}

// It may have several frames in a packet, of which the last one lies behind the packet's own time: this then takes them
// for so much older.
std::vector<RtpMark> find_marks_of_sound(std::span<AVPacket* const> packets,
                                         std::span<const std::vector<RtpMark>> flows, std::span<const RtpMark> video,
                                         AVRational time_base) {
  const std::vector<RtpMark>* sound = nullptr;
  for (const std::vector<RtpMark>& flow : flows) {
    if (video.empty() || flow.empty() || flow.front().flow == video.front().flow) continue;
    if (sound != nullptr) return {};
    sound = &flow;
  }
  if (sound == nullptr || packets.empty()) return {};
  std::vector<RtpMark> marks(packets.size(), sound->back());
  auto mark = sound->rbegin();
  const std::int64_t last = packets.back()->pts;
  for (std::size_t i = packets.size(); i-- > 0;) {
    const std::int64_t before_last = av_sat_sub64(last, packets[i]->pts);
    const bool dated = last != AV_NOPTS_VALUE && packets[i]->pts != AV_NOPTS_VALUE;
    while (dated && std::next(mark) != sound->rend() && step(mark->timestamp, sound->back().timestamp) < before_last &&
           !is_near(step(mark->timestamp, sound->back().timestamp), before_last, time_base))
      ++mark;
    marks[i] = *mark;
  }
  return marks;
}

void correct_analyzed(std::span<AVPacket* const> units, std::span<const RtpMark> marks, std::int64_t frame,
                      AVRational time_base) {
  if (units.empty()) return;
  date_first(units, marks, frame);
  shift_capture_times(units, time_base);
}

}  // namespace campipe
