#include "stages/sinks/muxer_tracks.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "stages/sinks/stream_headers.h"

namespace campipe {
namespace {

constexpr std::int64_t longest_step_ns = 10'000'000'000;  // more is a gap, and says nothing of the next frame

std::int64_t ticks(std::int64_t ns, AVRational time_base) { return av_rescale_q(ns, nanoseconds, time_base); }

// A copy, which libav then owns.
void fill(AVPacket& packet, std::span<const std::uint8_t> data) {
  av_check(av_new_packet(&packet, static_cast<int>(data.size())), "no memory for a packet");
  std::ranges::copy(data, packet.data);
}

}  // namespace

VideoTrack::VideoTrack(Container container, std::int64_t start, PacketWriter write)
    : container_(container), start_(start), write_(std::move(write)), held_(make_av_packet()) {}

void VideoTrack::begin(AVRational time_base, double frame_rate, const RecordPosition& position) {
  time_base_ = time_base;
  const bool has_rate = std::isfinite(frame_rate) && frame_rate > 0;
  step_ = ticks(has_rate ? std::llround(1e9 / frame_rate) : 40'000'000, time_base_);
  if (position.packets == 0) return;
  last_dts_ = ticks_of(position.last_dts);
  // Squeezed decode times (see next_decode_time) were one tick apart, so the last one was at least this.
  if (container_ == Container::mp4) last_dts_ = std::max(*last_dts_, static_cast<std::int64_t>(position.packets) - 1);
}

std::int64_t VideoTrack::ticks_of(std::int64_t ns) const { return ticks(ns - start_, time_base_); }

// Decode times below zero, which the first packets have where frames are reordered, do not exist in an MP4
// fragment: they are squeezed in behind zero. Presentation times stay what they are.
std::int64_t VideoTrack::next_decode_time(std::int64_t dts_ns) {
  std::int64_t dts = ticks_of(dts_ns);
  if (container_ == Container::mp4) dts = std::max<std::int64_t>(dts, 0);
  if (last_dts_) {
    dts = std::max(dts, *last_dts_ + 1);
    if (const std::int64_t step = dts - *last_dts_; step < ticks(longest_step_ns, time_base_)) step_ = step;
  }
  last_dts_ = dts;
  return dts;
}

void VideoTrack::write(const PacketView& packet) {
  const std::int64_t dts = next_decode_time(packet.dts);
  write_held(dts);
  fill(*held_, packet.data);
  held_->dts = dts;
  held_->pts = std::max({ticks_of(packet.times.pts), dts, std::int64_t{0}});
  const std::int64_t duration = packet.times.duration > 0 ? ticks(packet.times.duration, time_base_) : step_;
  held_->duration = std::clamp<std::int64_t>(duration, 1, ticks(longest_step_ns, time_base_));
  if (held_->pts >= last_shown_) {
    last_shown_ = held_->pts;
    shown_until_ = held_->pts + held_->duration;
  }
  held_->flags = packet.key ? AV_PKT_FLAG_KEY : 0;
  if (container_ == Container::mkv) write_held(std::nullopt);  // its blocks have no durations, but an order
}

void VideoTrack::write_held(std::optional<std::int64_t> next_dts) {
  if (held_->size == 0) return;
  if (next_dts && *next_dts > held_->dts && *next_dts - held_->dts < ticks(longest_step_ns, time_base_)) {
    held_->duration = *next_dts - held_->dts;
  }
  write_(*held_);
}

// Where it is not known what comes next, the last packet lasts until all frames have been shown. Where they are
// reordered, that is later than its own end.
void VideoTrack::end(std::optional<std::int64_t> next_dts) {
  write_held(next_dts ? ticks_of(*next_dts) : shown_until_);
}

AudioTrack::AudioTrack(Container container, std::int64_t start, AudioParameters parameters, PacketWriter write)
    : container_(container),
      start_(start),
      parameters_(std::move(parameters)),
      write_(std::move(write)),
      held_(make_av_packet()) {}

std::int64_t AudioTrack::ticks_of(std::int64_t ns) const { return ticks(ns - start_, time_base_); }

void AudioTrack::write(const PacketView& packet) {
  end(std::nullopt);
  fill(*held_, without_header(parameters_, packet.data));
  std::int64_t pts = std::max<std::int64_t>(ticks_of(packet.times.pts), 0);
  if (last_) pts = std::max(pts, *last_ + 1);
  last_ = held_->pts = held_->dts = pts;
  held_->stream_index = 1;
  held_->duration = std::max<std::int64_t>(ticks(packet.times.duration, time_base_), 0);
  held_->flags = AV_PKT_FLAG_KEY;
  if (container_ == Container::mkv) end(std::nullopt);
}

// A track that were longer than the file would be a gap in the others where files are joined.
void AudioTrack::end(std::optional<std::int64_t> file_end) {
  if (held_->size == 0) return;
  if (file_end) {
    held_->duration = std::max<std::int64_t>(std::min(held_->duration, ticks_of(*file_end) - held_->pts), 1);
  }
  write_(*held_);
}

}  // namespace campipe
