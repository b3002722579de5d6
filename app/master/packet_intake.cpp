#include "app/master/packet_intake.h"

#include <algorithm>
#include <utility>

#include "app/master/sized_stream.h"
#include "core/gradual_refresh.h"

namespace campipe {

PacketIntake::PacketIntake(std::shared_ptr<PacketRingMemory> ring, Decoding& decoding, OnBegun on_begun)
    : reader_(std::move(ring)), decoding_(decoding), on_begun_(std::move(on_begun)) {
  decoding_.on_shown([this](std::int64_t packet) { shown(packet); });
}

PacketIntake::~PacketIntake() {
  decoding_.on_shown([](std::int64_t) {});
}

PacketIntake::Next PacketIntake::next(Deadline deadline) {
  PacketView view;
  std::uint64_t number = 0;
  const Next next = reader_.next(view, number, deadline);
  if (next == Next::ended) end();
  if (next != Next::packet) return next;
  PacketRecord record;
  if (!read_record(view.data, record)) return Next::broken;
  take(record, number);
  decoding_.each_found([this, &record](unsigned place, const FrameMetadata& found) {
    if (record.packet) reader_.set_note(place, {record.note.packet, found});
  });
  reader_.set_taken(number);
  return next;
}

void PacketIntake::take(PacketRecord& record, std::uint64_t number) {
  switch (record.kind) {
    case RecordKind::packet:
      return take_packet(record, number);
    case RecordKind::lost:
      decoding_.disconnect();
      return empty();
    case RecordKind::empty:
      decoding_.empty();
      return empty();
    case RecordKind::round:
      if (!decoding_.goes_on_in_next_round()) empty();
      return;
    case RecordKind::end:
      return end();
  }
}

// Nothing that comes later needs it.
void PacketIntake::lose(std::int64_t packet) {
  ++lost_;
  decoding_.count_lost(packet);
  empty();
}

void PacketIntake::take_packet(PacketRecord& record, std::uint64_t number) {
  if (number <= skipped_through_) return lose(record.note.packet);
  if (record.connection != connection_) {
    if (!record.stream) return begin_again_at_ || !decoding_.resumes() ? empty() : lose(record.note.packet);
    if (begin_again_at_ && Clock::now() < *begin_again_at_) return empty();
    decoding_.begin(with_size(record.stream, *record.packet));
    connection_ = record.connection;
    begin_again_at_.reset();
    on_begun_(*record.packet, record.note);
  }
  if (record.stream) {
    const std::int64_t packet = record.note.packet;
    const int frames = record.stream->codec != nullptr ? frames_until_right(*record.stream->codec, *record.packet) : 0;
    keys_.push_back({packet, number, packet + frames});
  }
  decoding_.take(*record.packet, record.note);
  if (decoding_.is_off()) return empty();  // nothing of it is decoded: whoever comes begins at a key frame
  if (!decoding_.decodes()) shown(record.note.packet);
}

void PacketIntake::begin_anew(Clock::time_point then) {
  begin_again_at_ = then;
  connection_ = 0;
  empty();
}

void PacketIntake::shown(std::int64_t packet) {
  if (const auto key = std::ranges::find(keys_, packet, &Key::packet); key != keys_.end()) {
    shown_keys_.push_back(*key);
    keys_.erase(keys_.begin(), key + 1);
  }
  while (!shown_keys_.empty() && shown_keys_.front().right <= packet) {
    reader_.shown(shown_keys_.front().number);
    shown_keys_.pop_front();
  }
}

// The decoder is.
void PacketIntake::empty() {
  keys_.clear();
  shown_keys_.clear();
  reader_.all_shown();
}

void PacketIntake::end() {
  if (std::exchange(ended_, true)) return;
  decoding_.drain();
  empty();
}

}  // namespace campipe
