// How far a recording is, in the rig page: written by the publisher's camera thread, read by its successor and by
// the supervisor. Of two copies the one that is not valid is filled in, and then made the valid one by one store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "stages/sinks/recorder.h"

namespace campipe {

struct RecordState;

// Why a file is over.
enum class FileEnd : std::uint32_t { none, segment, stream_changed, motion_over, stopped, error, interrupted };
// As the index calls it.
const char* name_of(FileEnd end);

// See RecordState::Copy.
struct RecordProgress {
  RecordPosition position;
  std::uint64_t number = 0;
  std::uint64_t recorded = 0;
  std::uint64_t unrecorded = 0;
  std::uint64_t audio_epoch = 0;
  std::uint64_t audio_number = 0;
  std::int64_t end = 0;
  std::int64_t end_utc = 0;
  std::int64_t last_motion = -1;
  bool open = false;
  FileEnd ended = FileEnd::none;
};

// What stays the same as long as a file is open.
struct RecordFile {
  std::string path;
  StreamParameters stream;
  std::optional<AudioParameters> audio;
  std::int64_t begin = 0;
  std::int64_t start_utc = 0;
  bool camera_clock = false;
};

// The file that a predecessor left, as RecordState::File.
struct LeftFile {
  std::string path;
  std::uint64_t stream = 0;
  std::uint64_t audio = 0;
  std::int64_t begin = 0;
  std::int64_t start_utc = 0;
  bool camera_clock = false;

  // Only a stream with the same parameters can go on in it.
  [[nodiscard]] bool has_stream(const StreamParameters& parameters) const;
  [[nodiscard]] bool has_audio(const AudioParameters& parameters) const;
};

// The file that a predecessor ended last.
struct EndedFile {
  std::string path;
  std::int64_t start_utc = 0;
  std::int64_t end_utc = 0;
  std::int64_t duration = 0;  // ns
  std::uint64_t bytes = 0;
  std::uint64_t packets = 0;
  bool camera_clock = false;
  FileEnd ended = FileEnd::none;
};

// A new file begins.
void store_record_file(RecordState& state, const RecordFile& file, const RecordProgress& progress);
void store_record_progress(RecordState& state, const RecordProgress& progress);
// The file, whose end is stored, is closed. Until there is a next such one, a successor finds it by load_ended_file():
// the index is written by another thread, and may not have its end when this process dies.
void store_record_closed(RecordState& state, const RecordProgress& progress);
// Packets up to `number` have gone past without a recording; `unrecorded` of them should be in one. Does nothing where
// that is known already.
void store_unrecorded(RecordState& state, std::uint64_t number, std::uint64_t unrecorded);
// Nothing: there was no file yet.
std::optional<RecordProgress> load_record_progress(const RecordState& state);
std::optional<LeftFile> load_record_file(const RecordState& state);
// Nothing: none has ended yet.
std::optional<EndedFile> load_ended_file(const RecordState& state);

}  // namespace campipe
