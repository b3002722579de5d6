#include "app/master/packet_intake.h"

#include <algorithm>
#include <utility>

namespace campipe {

PacketIntake::PacketIntake(std::shared_ptr<PacketRingMemory> ring, Decoding& decoding)
    : reader_(std::move(ring)), decoding_(decoding) {
  decoding_.on_shown([this](std::int64_t packet) { shown(packet); });
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
  return next;
}

void PacketIntake::take(const PacketRecord& record, std::uint64_t number) {
  switch (record.kind) {
    case RecordKind::packet:
      break;
    case RecordKind::lost:
      decoding_.disconnect();
      return empty();
    case RecordKind::empty:
      decoding_.empty();
      return empty();
    case RecordKind::end:
      return end();
  }
  if (record.connection != connection_) {
    if (!record.stream) {
      ++lost_;
      return;
    }
    // The stream before goes when nothing refers to it any more.
    const auto before = std::exchange(stream_, record.stream);
    connection_ = record.connection;
    decoding_.begin(*stream_);
  }
  if (record.stream) keys_.push_back({record.note.packet, number});
  decoding_.take(*record.packet, record.note);
  if (decoding_.is_off()) return empty();  // nothing of it is decoded: whoever comes begins at a key frame
  if (!decoding_.decodes()) shown(record.note.packet);
}

void PacketIntake::shown(std::int64_t packet) {
  const auto key = std::ranges::find(keys_, packet, &Key::packet);
  if (key == keys_.end()) return;
  reader_.shown(key->number);
  keys_.erase(keys_.begin(), key + 1);
}

// The decoder is.
void PacketIntake::empty() {
  keys_.clear();
  reader_.all_shown();
}

void PacketIntake::end() {
  if (std::exchange(ended_, true)) return;
  decoding_.drain();
  empty();
}

}  // namespace campipe
