// How far a recording is, in the rig page: written by the publisher's camera thread, read by its successor and by
// the supervisor. Of two copies the one that is not valid is filled in, and then made the valid one by one store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ipc/rig_page.h"
#include "stages/sinks/recorder.h"

namespace campipe {

struct RecordProgress {
  RecordPosition position;
  std::uint64_t number = 0;    // of the newest packet in the file
  std::uint64_t recorded = 0;  // packets in all files of the camera
};

// A new file begins. Only a stream with the same parameters can go on in it.
void store_record_file(RecordState& state, const std::string& path, const StreamParameters& stream,
                       const RecordProgress& progress);
bool is_stream_of_file(const RecordState& state, const StreamParameters& stream);
void store_record_progress(RecordState& state, const RecordProgress& progress);
std::optional<RecordProgress> load_record_progress(const RecordState& state);
std::string record_path(const RecordState& state);

}  // namespace campipe
