#include "app/publisher/recording/audio_feed.h"

#include <utility>

#include "core/clock.h"
#include "stages/sinks/stream_headers.h"

namespace campipe {
namespace {

// Of what is kept: frames that are next to nothing may go on for ever without a key frame. Five minutes of
// uncompressed stereo fit in.
constexpr std::size_t most_bytes = std::size_t{64} << 20;

}  // namespace

void AudioFeed::add(const Ring& ring) {
  const std::lock_guard lock(mutex_);
  rings_.push_back(ring);
}

// False: there is none, or none yet.
bool AudioFeed::next_ring() {
  const std::lock_guard lock(mutex_);
  if (rings_.empty()) return false;
  const Ring ring = std::move(rings_.front());
  rings_.pop_front();
  reader_ = std::make_unique<PacketRingReader>(ring.memory);
  epoch_ = ring.epoch;
  ring_stream_ = std::make_shared<const AudioParameters>(ring.stream);
  stream_ = ring.stream.codec.empty() ? std::nullopt : std::optional(ring.stream);
  return true;
}

// Makes `waiting_` the next packet. False: none is there now.
bool AudioFeed::advance() {
  while (!waiting_) {
    if (!reader_ && !next_ring()) return false;
    Waiting read;
    const auto next = reader_->next(read.packet, read.number, Clock::now());
    if (next == PacketRingReader::Next::timeout) return false;
    if (next == PacketRingReader::Next::packet) {
      const bool known = epoch_ == skipped_.epoch && read.number <= skipped_.number;
      if (known) continue;
      // No other process changes these while they are parsed.
      bytes_.assign(read.packet.data.begin(), read.packet.data.end());
      read.packet.data = bytes_;
      waiting_ = read;
      continue;
    }
    if (next == PacketRingReader::Next::broken) on_broken_();
    give_back();
    reader_.reset();
    on_ring_done_(epoch_);
  }
  return true;
}

const std::optional<AudioParameters>& AudioFeed::stream() {
  if (!reader_) next_ring();
  return stream_;
}

std::optional<AudioParameters> AudioFeed::described() {
  const auto first = peek();
  if (!stream()) return std::nullopt;
  AudioParameters audio = with_headers(*stream_, first ? first->data : std::span<const std::uint8_t>());
  if (lacks_headers(audio)) return std::nullopt;
  return audio;
}

std::optional<PacketView> AudioFeed::peek() {
  if (!kept_.empty()) return kept_.front().packet.view();
  return advance() ? std::optional(waiting_->packet) : std::nullopt;
}

void AudioFeed::take_from_rings(std::int64_t until, const Taker& taker) {
  while (advance() && waiting_->packet.times.pts < until) {
    position_ = {epoch_, waiting_->number};
    const PacketView packet = std::exchange(waiting_, std::nullopt)->packet;
    if (listener_) listener_(packet, *ring_stream_);
    taker(packet, *ring_stream_);
  }
}

void AudioFeed::take(std::int64_t until, const Taker& taker) {
  while (!kept_.empty() && kept_.front().packet.pts() < until) {
    const Kept kept = forget_oldest();
    taker(kept.packet.view(), *kept.stream);
  }
  if (kept_.empty()) take_from_rings(until, taker);
}

void AudioFeed::give_back() {
  if (reader_ && position_.epoch == epoch_) reader_->release_through(position_.number);
}

void AudioFeed::keep(std::int64_t from, std::int64_t until) {
  take_from_rings(until, [this](const PacketView& packet, const AudioParameters&) {
    kept_.push_back({KeptPacket(packet, 0), ring_stream_});
    kept_bytes_ += kept_.back().packet.size();
    while (kept_bytes_ > most_bytes) forget_oldest();
  });
  give_back();
  while (!kept_.empty() && kept_.front().packet.pts() < from) forget_oldest();
}

AudioFeed::Kept AudioFeed::forget_oldest() {
  Kept oldest = std::move(kept_.front());
  kept_.pop_front();
  kept_bytes_ -= oldest.packet.size();
  return oldest;
}

}  // namespace campipe
