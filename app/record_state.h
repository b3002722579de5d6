// How far a recording is, in the rig page: written by the publisher's camera thread, read by its successor and by
// the supervisor. Of two copies the one that is not valid is filled in, and then made the valid one by one store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ipc/rig_page.h"
#include "stages/sinks/recorder.h"

namespace campipe {

// See RecordState::Copy.
struct RecordProgress {
  RecordPosition position;
  std::uint64_t number = 0;
  std::uint64_t recorded = 0;
  std::uint64_t audio_epoch = 0;
  std::uint64_t audio_number = 0;
  std::int64_t end = 0;
  std::int64_t end_utc = 0;
  std::int64_t last_motion = -1;
  float score = 0;
  bool open = false;
};

// What stays the same as long as a file is open.
struct RecordFile {
  std::string path;
  StreamParameters stream;
  std::optional<AudioParameters> audio;
  std::int64_t begin = 0;
  std::int64_t begun_utc = 0;
};

// A new file begins. Only a stream with the same parameters can go on in it.
void store_record_file(RecordState& state, const RecordFile& file, const RecordProgress& progress);
bool is_stream_of_file(const RecordState& state, const StreamParameters& stream);
bool is_audio_of_file(const RecordState& state, const AudioParameters& audio);
void store_record_progress(RecordState& state, const RecordProgress& progress);
std::optional<RecordProgress> load_record_progress(const RecordState& state);
std::string record_path(const RecordState& state);

}  // namespace campipe
