#include "app/source/packet_outlet.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "app/rings/source_times.h"
#include "core/log.h"
#include "ipc/drop_causes.h"
#include "ipc/packet_ring_capacity.h"
#include "ipc/source_blocks.h"

namespace campipe {
namespace {

constexpr std::size_t beside_packet = 64 << 10;  // of a record
constexpr auto publisher_start = std::chrono::seconds(30);
constexpr auto found_deadline = std::chrono::seconds(5);

std::size_t capacity_for(const SourceStream& stream) {
  if (stream.codec == nullptr) return least_packet_ring;
  return packet_ring_capacity(static_cast<std::uint64_t>(std::max(stream.codec->width, 0)) *
                              static_cast<std::uint64_t>(std::max(stream.codec->height, 0)));
}

// When its frame is shown, as far as the packet says so.
ShownTime shown(const SourceStream& stream, const AVPacket& packet, const PacketNote& note) {
  const std::int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (time == AV_NOPTS_VALUE) return {};
  std::int64_t duration = av_rescale_q(packet.duration, stream.time_base, nanoseconds);
  if (duration <= 0) duration = usual_duration(stream);
  return {source_ns(stream, time) + note.offset, duration};
}

bool looks_at_copies(const IngestStart& start) {
  return std::ranges::any_of(start.copies, [](const CopyTarget& copy) { return !copy.filters.empty(); });
}

}  // namespace

PacketOutlet::PacketOutlet(CameraContext& camera, IngestEvents::OnFeed on_ring)
    : camera_(camera),
      on_ring_(std::move(on_ring)),
      looks_(looks_at_copies(camera.start)),
      epoch_(camera.start.epoch) {}

bool PacketOutlet::is_needed() const {
  if (camera_.decoding_end.is_set()) return false;
  return camera_.start.decode || looks_ || camera_.start.on_demand || camera_.shown;
}

void PacketOutlet::open(std::size_t capacity, std::int64_t packet) {
  // What is decoded for viewers, mosaics or filters of copies must not hold up the copies.
  const bool waits = !camera_.live || camera_.start.config.drop_policy == DropPolicy::block;
  const bool block = camera_.start.decode && waits;
  auto ring = PacketRingMemory::create(capacity, epoch_, 0, "source ring");
  const bool again = epoch_ == camera_.start.epoch && epoch_ > 1;
  on_ring_({epoch_++, packet, again}, *ring);
  feed_.emplace(
      std::move(ring),
      PacketFeed::Rules{block, [this] { return camera_.stop.beat_or_give_up() || camera_.decoding_end.is_set(); }});
  feed_->on_faulty_reader([this] { accuse(camera_.source.accusation, Accused::other_end); });
  feed_->begin(*stream_);
}

void PacketOutlet::begin(const SourceStream& stream) {
  stream_ = &stream;
  if (feed_) feed_->begin(stream);
}

void PacketOutlet::change_headers() {
  if (feed_) feed_->change_headers();
}

void PacketOutlet::change_stream() {
  if (!feed_) return;
  feed_->mark(RecordKind::empty);
  feed_->begin(*stream_);
}

// The ring before is read to its end first, and the decoder emptied: at a key frame. What is too large before that is
// left out, with all up to there.
void PacketOutlet::make_room(const AVPacket& packet) {
  largest_ = std::max(largest_, static_cast<std::size_t>(std::max(packet.size, 0)) + beside_packet);
  const std::size_t bytes = std::min(largest_, most_packet_bytes / 4);
  if (2 * bytes <= feed_->memory().capacity() || (packet.flags & AV_PKT_FLAG_KEY) == 0) return;
  feed_->mark(RecordKind::empty);
  feed_->close();
  open(std::bit_ceil(4 * bytes), packet.pos);
}

void PacketOutlet::video(const AVPacket& packet, const PacketNote& note) {
  if (!is_needed()) return leave();
  if (!feed_) open(capacity_for(*stream_), packet.pos);
  make_room(packet);
  bool taken = false;
  try {
    taken = feed_->packet(packet, note, shown(*stream_, packet, note));
  } catch (const Error& error) {
    spdlog::debug("{}: a packet of {} bytes is left out: {}", camera_.name(), packet.size, error.what());
  }
  if (!taken && camera_.start.decode) counter(camera_.source.unpublished, DropCause::decoder_slow).fetch_add(1);
  if (taken && !camera_.live) wait_for_decoder();
}

// A file's first packet is decoded before its time counts: to open a decoder takes tenths of a second, more where many
// cameras start at once, and what is made of frames has to be there, too. Where something is looked for in frames, and
// goes with what is copied, each packet is.
void PacketOutlet::wait_for_decoder() {
  if (camera_.start.decode && !std::exchange(started_, true)) {
    feed_->wait_until_taken(Clock::now() + publisher_start);
  } else if (looks_) {
    is_away_ = !feed_->wait_until_taken(is_away_ ? Clock::now() : Clock::now() + found_deadline);
  }
}

void PacketOutlet::mark(RecordKind kind) {
  if (feed_) feed_->mark(kind);
}

void PacketOutlet::close() {
  if (feed_) feed_->close();
}

// Nobody needs frames, just now or any more.
void PacketOutlet::leave() {
  close();
  feed_.reset();
}

FrameMetadata PacketOutlet::metadata(OutputId output) const {
  const auto copy = std::ranges::find(camera_.start.copies, output, &CopyTarget::output);
  if (!feed_ || !looks_ || copy == camera_.start.copies.end() || copy->filters.empty()) return {};
  return feed_->metadata(static_cast<unsigned>(copy - camera_.start.copies.begin()));
}

}  // namespace campipe
