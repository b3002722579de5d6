#include "app/publisher/recording/record_store.h"

#include <algorithm>
#include <utility>

#include "ipc/record_state.h"

namespace campipe {

RecordStore::RecordStore(RecordState& state, const AudioFeed& audio, const MotionGate* motion)
    : state_(state), audio_(audio), motion_(motion) {
  const auto left = load_record_progress(state_);
  if (!left) return;
  safe_ = number_ = written_ = left->number;
  recorded_ = left->recorded;
  unrecorded_ = left->unrecorded;
}

void RecordStore::leave_out(std::uint64_t number) {
  safe_ = std::max(safe_, number);
  ++unrecorded_;
  RecordProgress stored = load_record_progress(state_).value_or(RecordProgress{});
  stored.number = safe_;
  stored.unrecorded = unrecorded_;
  store_record_progress(state_, stored);
}

std::uint64_t RecordStore::lose() {
  const std::uint64_t lost = number_ - std::min(safe_, number_);
  unrecorded_ += lost;
  safe_ = number_;
  return lost;
}

bool RecordStore::write(std::uint64_t number) {
  const bool is_new = number > written_;
  written_ = std::max(written_, number);
  return is_new;
}

void RecordStore::begin(const RecordFile& file) {
  RecordProgress begun = progress(nullptr);
  begun.open = true;
  begun.end = file.begin;
  begun.end_utc = file.start_utc;
  store_record_file(state_, file, begun);
}

void RecordStore::commit(const Segment& segment, const Segment::Committed& committed) {
  recorded_ += committed.packets;
  unrecorded_ += committed.left_out;
  safe_ = std::max(safe_, written_);
  store(segment);
}

void RecordStore::store(const Segment& segment) { store_record_progress(state_, progress(&segment)); }

void RecordStore::close() { store_record_closed(state_, progress(nullptr)); }

void RecordStore::store_none() { store_record_progress(state_, progress(nullptr)); }

void RecordStore::end_left(FileEnd why) {
  RecordProgress left = *load_record_progress(state_);
  if (std::exchange(left.ended, why) != why) store_record_progress(state_, left);
}

RecordProgress RecordStore::progress(const Segment* segment) const {
  RecordProgress progress;
  if (segment != nullptr) {
    progress.position = segment->committed().position;
    progress.end = segment->committed().end;
    progress.end_utc = segment->committed().end_utc;
    progress.ended = segment->ended();
    progress.open = true;
  }
  progress.number = safe_;
  progress.recorded = recorded_;
  progress.unrecorded = unrecorded_;
  progress.audio_epoch = audio_.position().epoch;
  progress.audio_number = audio_.position().number;
  if (motion_ != nullptr && motion_->moving()) progress.last_motion = motion_->last_motion();
  return progress;
}

}  // namespace campipe
