#include "stages/sources/access_units.h"

#include <algorithm>
#include <array>
#include <new>
#include <span>
#include <utility>

#include "stages/sources/coded_fragment.h"

namespace campipe {
namespace {

constexpr int enough_confirmed = 3;
constexpr int small = 256;  // bytes of a fragment
constexpr AVRational milliseconds{1, 1000};
// Sender reports correct libavformat's times, also between two fragments of a unit.
constexpr std::int64_t most_corrected = 1;

std::span<const std::uint8_t> data_of(const AVPacket& packet) {
  return {packet.data, static_cast<std::size_t>(packet.size)};
}

constexpr std::array<std::uint8_t, 4> start_code{0, 0, 0, 1};

bool begins_with_two_start_codes(std::span<const std::uint8_t> data) {
  if (data.size() < 2 * start_code.size() || !std::ranges::equal(data.first(start_code.size()), start_code))
    return false;
  const auto second = data.subspan(start_code.size());
  const auto shorter = std::span(start_code).subspan(1);
  return std::ranges::equal(second.first(start_code.size()), start_code) ||
         std::ranges::equal(second.first(shorter.size()), shorter);
}

// Also where it is between others.
bool has_two_start_codes(std::span<const std::uint8_t> data) {
  while (!data.empty()) {
    if (begins_with_two_start_codes(data)) return true;
    data = {std::ranges::search(data.subspan(1), start_code).begin(), data.end()};
  }
  return false;
}

// Some cameras send start codes within RTP, or empty NAL units in aggregation packets, before which libavformat writes
// its own: files would have an empty NAL unit there, which decoders take for a damaged one.
void leave_out_second_start_codes(AVPacket& unit) {
  if (av_packet_make_writable(&unit) < 0) throw std::bad_alloc();
  int kept = 0;
  for (int at = 0; at < unit.size; ++at) {
    while (begins_with_two_start_codes(data_of(unit).subspan(static_cast<std::size_t>(at))))
      at += static_cast<int>(start_code.size());
    unit.data[kept++] = unit.data[at];
  }
  av_shrink_packet(&unit, kept);
}

// A packet takes hundreds of bytes besides its own.
void append(AVPacket& packet, const AVPacket& more) {
  const int before = packet.size;
  if (av_grow_packet(&packet, more.size) < 0) throw std::bad_alloc();
  std::ranges::copy(data_of(more), packet.data + before);
  packet.flags |= more.flags & AV_PKT_FLAG_CORRUPT;
}

// One packet, with all that the one at `first` has besides data.
AvPacket join(std::vector<AvPacket> parts, std::size_t first) {
  if (parts.size() == 1) return std::move(parts.front());
  std::size_t size = 0;
  for (const AvPacket& part : parts) size += data_of(*part).size();
  AvPacket whole = make_av_packet();
  if (av_new_packet(whole.get(), static_cast<int>(size)) < 0) throw std::bad_alloc();
  std::uint8_t* to = whole->data;
  for (const AvPacket& part : parts) {
    to = std::ranges::copy(data_of(*part), to).out;
    whole->flags |= part->flags & AV_PKT_FLAG_CORRUPT;
  }
  const int corrupt = whole->flags & AV_PKT_FLAG_CORRUPT;
  if (av_packet_copy_props(whole.get(), parts.at(first).get()) < 0) throw std::bad_alloc();
  whole->flags |= corrupt;
  whole->stream_index = parts.at(first)->stream_index;
  return whole;
}

}  // namespace

AccessUnits::AccessUnits(AVCodecID codec, AVRational time_base)
    : codec_(codec), tolerance_(av_rescale_q(most_corrected, milliseconds, time_base)) {}

bool AccessUnits::believes_markers() const { return confirmed_ >= enough_confirmed && !distrusted_; }

// As the newest fragment's.
bool AccessUnits::is_now(const Time& time) const {
  if (time.timestamp && now_.timestamp) return *time.timestamp == *now_.timestamp;
  if (time.pts == AV_NOPTS_VALUE || now_.pts == AV_NOPTS_VALUE) return true;
  const auto apart = static_cast<std::uint64_t>(time.pts) - static_cast<std::uint64_t>(now_.pts);
  return std::min(apart, 0 - apart) <= static_cast<std::uint64_t>(tolerance_);
}

void AccessUnits::add(AvPacket fragment, const std::optional<RtpMark>& mark, std::optional<std::int64_t> received) {
  const bool has_nal_units = codec_ == AV_CODEC_ID_H264 || codec_ == AV_CODEC_ID_HEVC;
  doubles_codes_ = doubles_codes_ || (has_nal_units && has_two_start_codes(data_of(*fragment)));
  if (doubles_codes_) leave_out_second_start_codes(*fragment);
  // One that is of another flow than those before it may be of another stream.
  const bool known = mark && (!flow_ || *flow_ == mark->flow);
  if (mark) flow_ = mark->flow;
  Time time{fragment->pts, {}};
  if (known) time.timestamp = mark->timestamp;
  const bool begins = begins_unit(codec_, data_of(*fragment));
  const bool goes_on = is_now(time) && !begins;
  if (has_picture_ && !goes_on) {
    if (marked_) confirmed_ = std::min(confirmed_ + 1, enough_confirmed);
    finish();
  } else if (marked_ && goes_on && known) {
    distrusted_ = true;
  }
  const bool same_time = is_now(time);
  now_ = time;
  marked_ = false;
  // Its beginning was lost.
  if (parts_.empty() && !stands_alone(codec_, data_of(*fragment))) return;
  if (!has_picture_ && !same_time) first_ = parts_.size();
  has_picture_ = has_picture_ || holds_picture(codec_, data_of(*fragment));
  const bool has_units_time = first_ == parts_.size();
  if (!has_units_time && fragment->size < small) {
    append(*parts_.back(), *fragment);
  } else {
    parts_.push_back(std::move(fragment));
  }
  received_ = received;
  marked_ = known && mark->marker && has_picture_;
  if (marked_ && believes_markers()) finish();
}

// Leaves marked_ set: a fragment that continues the unit shows that the marker was wrong.
void AccessUnits::finish() {
  complete_.push_back({join(std::exchange(parts_, {}), first_), received_});
  first_ = 0;
  has_picture_ = false;
}

void AccessUnits::end() {
  if (has_picture_) finish();
  parts_.clear();
  first_ = 0;
  marked_ = false;
}

std::optional<AccessUnits::Unit> AccessUnits::take() {
  if (complete_.empty()) return std::nullopt;
  Unit unit = std::move(complete_.front());
  complete_.pop_front();
  return unit;
}

}  // namespace campipe
