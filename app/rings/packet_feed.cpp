#include "app/rings/packet_feed.h"

#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "ipc/packet_ring_layout.h"
#include "ipc/ring_checks.h"

namespace campipe {
namespace {

constexpr auto moment = std::chrono::milliseconds(200);  // longer than a reader works on a packet
constexpr std::int64_t most_behind = 64;  // packets, of who decodes: then what it has found is out of date

}  // namespace

void PacketFeed::begin(const SourceStream& stream) {
  stream_ = &stream;
  ++connection_;
  says_stream_ = true;
  left_out_ = false;
}

bool PacketFeed::packet(const AVPacket& packet, const PacketNote& note, const ShownTime& shown) {
  const bool key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
  const bool tells_headers = std::exchange(tells_headers_, false);
  if (left_out_ && !key) {
    headers_lost_ = headers_lost_ || tells_headers;
    return false;
  }
  if (headers_lost_) {
    if (!mark_) mark_ = RecordKind::empty;
    begin(*stream_);
  }
  headers_lost_ = tells_headers;  // unless it finds room
  if (!push_mark()) {
    left_out_ = true;
    return false;
  }
  const bool begins = key || says_stream_;
  left_out_ = true;  // where that throws, too
  write_packet(bytes_, connection_, packet, note, begins ? stream_ : nullptr);
  packet_ = note.packet;
  arrival_ = note.arrival;
  if (is_possible_time(shown.at) && is_possible_time(shown.duration)) shown_ = shown;
  left_out_ = !push(begins);
  if (!left_out_) says_stream_ = headers_lost_ = false;
  return !left_out_;
}

void PacketFeed::mark(RecordKind kind) {
  mark_ = kind;
  push_mark();
}

bool PacketFeed::push_mark() {
  if (!mark_) return true;
  write_mark(bytes_, connection_, *mark_);
  if (!push(false)) return false;
  mark_.reset();
  return true;
}

bool PacketFeed::push(bool begins) {
  PacketView view;
  view.data = bytes_;
  view.key = begins;
  view.dts = packet_;
  view.times.arrival = arrival_;
  view.times.pts = shown_.at;
  view.times.duration = shown_.duration;
  try {
    return push_in_time(view);
  } catch (const Error& error) {
    spdlog::debug("a packet is left out: {}", error.what());
    return false;
  }
}

// Room comes late: a reader works on most of the ring before it makes any.
bool PacketFeed::push_in_time(const PacketView& packet) {
  if (!rules_.block) return ring_.push(packet, Clock::now() + moment, rules_.interrupted);
  const std::atomic<std::uint64_t>& taken = ring_.memory().header().taken;
  for (;;) {
    const std::uint64_t before = taken.load();
    if (ring_.push(packet, Clock::now() + rules_.longest_block, rules_.interrupted)) return true;
    if (taken.load() <= before) return false;
  }
}

FrameMetadata PacketFeed::metadata(unsigned place) const {
  const auto note = ring_.note(place);
  const bool is_new = note && note->packet <= packet_ && note->packet >= packet_ - most_behind;
  return is_new ? note->metadata : FrameMetadata{};
}

void PacketFeed::close() {
  push_mark();
  ring_.close();
}

}  // namespace campipe
