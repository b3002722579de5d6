// How far a recording is, in the rig page: which packets are in its files, for good. A process may die between any two
// steps; its successor goes on by what is stored here.
//
// Used by the camera's thread in the publisher.
#pragma once

#include <cstdint>

#include "app/control/record_state.h"
#include "app/publisher/recording/audio_feed.h"
#include "app/publisher/recording/motion_gate.h"
#include "app/publisher/recording/segment.h"

namespace campipe {

class RecordStore {
 public:
  // Goes on where a predecessor has stopped. All outlive it; `motion` may be null.
  RecordStore(RecordState& state, const AudioFeed& audio, const MotionGate* motion);

  [[nodiscard]] const RecordState& state() const { return state_; }
  // Packets up to this number are in a file or will never be: they may be given back.
  [[nodiscard]] std::uint64_t safe() const { return safe_; }

  // The newest packet.
  void take(std::uint64_t number) { number_ = number; }
  // It is kept elsewhere, or wanted in no file.
  void pass(std::uint64_t number) { safe_ = number; }
  // It should be in a file and will never be. A file that a predecessor left stays as it is stored.
  void leave_out(std::uint64_t number);
  // Likewise all that have been taken and are not safe. Returns how many; not stored.
  std::uint64_t lose();
  // It goes into a file. True: for the first time.
  bool write(std::uint64_t number);

  // A file is about to be made.
  void begin(const RecordFile& file);
  // All that was written, as `committed` says, is in the file for good, or left out of it.
  void commit(const Segment& segment, const Segment::Committed& committed);
  // The file as it is.
  void store(const Segment& segment);
  // The file, whose end is stored, is closed, and has its line in the index as soon as that is written.
  void close();
  // No file is open, and the one before came to nothing.
  void store_none();
  // The file that a predecessor left ends for that reason.
  void end_left(FileEnd why);

 private:
  // `segment`: null: none is open.
  [[nodiscard]] RecordProgress progress(const Segment* segment) const;

  RecordState& state_;
  const AudioFeed& audio_;
  const MotionGate* motion_;
  std::uint64_t number_ = 0;  // of the newest packet taken
  std::uint64_t safe_ = 0;
  std::uint64_t written_ = 0;   // of the newest packet that is in a file or its open fragment
  std::uint64_t recorded_ = 0;  // packets in all files
  std::uint64_t unrecorded_ = 0;
};

}  // namespace campipe
