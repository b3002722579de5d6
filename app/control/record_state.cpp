#include "app/control/record_state.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "app/control/stream_json.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "ipc/record_state.h"

namespace campipe {
namespace {

template <typename Parameters>
std::uint64_t hash_of(const Parameters& parameters) {
  return std::max<std::uint64_t>(
      std::hash<std::string>()(to_json(parameters).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)), 1);
}

std::string path_of(const RecordState::File& file) { return {file.path.begin(), std::ranges::find(file.path, '\0')}; }

// What another process has written may be any number.
FileEnd end_of(std::uint32_t number) {
  const auto last = static_cast<std::uint32_t>(FileEnd::interrupted);
  return number <= last ? static_cast<FileEnd>(number) : FileEnd::interrupted;
}

// The valid one; null: there is none yet.
const RecordState::Copy* current_of(const RecordState& state) {
  const std::uint32_t current = state.current.load(std::memory_order_acquire);
  return current == 0 || current > state.copy.size() ? nullptr : &state.copy[current - 1];
}

// The copy that is not valid takes everything in, and becomes the valid one by one store: whatever moment this process
// dies at, its successor finds the one or the other.
void store(RecordState& state, const RecordState::File& file, const RecordState::Ended& before,
           const RecordProgress& progress) {
  const std::uint32_t next = state.current.load(std::memory_order_relaxed) == 1 ? 2 : 1;
  const RecordPosition& at = progress.position;
  state.copy[next - 1] = {at.offset,
                          at.packets,
                          at.fragments,
                          at.last_dts,
                          progress.number,
                          progress.recorded,
                          progress.unrecorded,
                          progress.audio_epoch,
                          progress.audio_number,
                          progress.end,
                          progress.end_utc,
                          progress.last_motion,
                          progress.open ? 1U : 0U,
                          static_cast<std::uint32_t>(progress.ended),
                          file,
                          before};
  failpoint("publisher.storing");
  state.current.store(next, std::memory_order_release);
}

}  // namespace

const char* name_of(FileEnd end) {
  switch (end) {
    case FileEnd::segment:
      return "segment";
    case FileEnd::stream_changed:
      return "stream changed";
    case FileEnd::motion_over:
      return "motion over";
    case FileEnd::stopped:
      return "stopped";
    case FileEnd::error:
      return "error";
    case FileEnd::none:
    case FileEnd::interrupted:
      break;
  }
  return "interrupted";
}

bool LeftFile::has_stream(const StreamParameters& parameters) const { return stream == hash_of(parameters); }

bool LeftFile::has_audio(const AudioParameters& parameters) const { return audio == hash_of(parameters); }

void store_record_progress(RecordState& state, const RecordProgress& progress) {
  const RecordState::Copy* const current = current_of(state);
  const RecordState::Copy kept = current != nullptr ? *current : RecordState::Copy{};
  store(state, kept.file, kept.before, progress);
}

void store_record_closed(RecordState& state, const RecordProgress& progress) {
  const RecordState::Copy* const current = current_of(state);
  if (current == nullptr) return store_record_progress(state, progress);
  const RecordState::Ended ended{current->offset,  current->packets, current->end,
                                 current->end_utc, current->ended,   current->file};
  store(state, current->file, ended, progress);
}

void store_unrecorded(RecordState& state, std::uint64_t number, std::uint64_t unrecorded) {
  RecordProgress progress = load_record_progress(state).value_or(RecordProgress{});
  if (number <= progress.number) return;
  progress.number = number;
  progress.unrecorded += unrecorded;
  store_record_progress(state, progress);
}

void store_record_file(RecordState& state, const RecordFile& file, const RecordProgress& progress) {
  RecordState::File stored{};
  if (file.path.size() >= stored.path.size()) throw Error("the recording's path is too long: " + file.path);
  std::ranges::copy(file.path, stored.path.begin());
  stored.stream = hash_of(file.stream);
  stored.audio = file.audio ? hash_of(*file.audio) : 0;
  stored.begin = file.begin;
  stored.start_utc = file.start_utc;
  stored.camera_clock = file.camera_clock ? 1 : 0;
  const RecordState::Copy* const current = current_of(state);
  store(state, stored, current != nullptr ? current->before : RecordState::Ended{}, progress);
}

std::optional<RecordProgress> load_record_progress(const RecordState& state) {
  const RecordState::Copy* const current = current_of(state);
  if (current == nullptr) return std::nullopt;
  const RecordState::Copy& copy = *current;
  RecordProgress progress;
  progress.position = {copy.offset, copy.packets, copy.fragments, copy.last_dts};
  progress.number = copy.number;
  progress.recorded = copy.recorded;
  progress.unrecorded = copy.unrecorded;
  progress.audio_epoch = copy.audio_epoch;
  progress.audio_number = copy.audio_number;
  progress.end = copy.end;
  progress.end_utc = copy.end_utc;
  progress.last_motion = copy.last_motion;
  progress.open = copy.open != 0;
  progress.ended = end_of(copy.ended);
  return progress;
}

std::optional<LeftFile> load_record_file(const RecordState& state) {
  const RecordState::Copy* const current = current_of(state);
  if (current == nullptr) return std::nullopt;
  const RecordState::File& file = current->file;
  return LeftFile{path_of(file), file.stream, file.audio, file.begin, file.start_utc, file.camera_clock != 0};
}

std::optional<EndedFile> load_ended_file(const RecordState& state) {
  const RecordState::Copy* const current = current_of(state);
  if (current == nullptr || current->before.ended == 0) return std::nullopt;
  const RecordState::Ended& before = current->before;
  return EndedFile{path_of(before.file),           before.file.start_utc, before.end_utc,
                   before.end - before.file.begin, before.offset,         before.packets,
                   before.file.camera_clock != 0,  end_of(before.ended)};
}

}  // namespace campipe
