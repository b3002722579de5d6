#include "app/record_state.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "app/stream_json.h"
#include "core/error.h"

namespace campipe {
namespace {

template <typename Parameters>
std::uint64_t hash_of(const Parameters& parameters) {
  return std::max<std::uint64_t>(std::hash<std::string>()(to_json(parameters).dump()), 1);
}

}  // namespace

bool is_stream_of_file(const RecordState& state, const StreamParameters& stream) {
  return state.stream == hash_of(stream);
}

bool is_audio_of_file(const RecordState& state, const AudioParameters& audio) { return state.audio == hash_of(audio); }

void store_record_progress(RecordState& state, const RecordProgress& progress) {
  const std::uint32_t current = state.current.load(std::memory_order_relaxed);
  const std::uint32_t next = current == 1 ? 2 : 1;
  const RecordPosition& at = progress.position;
  state.copy[next - 1] = {at.offset,
                          at.packets,
                          at.fragments,
                          at.last_dts,
                          progress.number,
                          progress.recorded,
                          progress.audio_epoch,
                          progress.audio_number,
                          progress.end,
                          progress.end_utc,
                          progress.last_motion,
                          progress.score,
                          progress.open ? 1U : 0U};
  state.current.store(next, std::memory_order_release);
}

void store_record_file(RecordState& state, const RecordFile& file, const RecordProgress& progress) {
  if (file.path.size() >= state.path.size()) throw Error("the recording's path is too long: " + file.path);
  state.current.store(0, std::memory_order_release);
  std::memcpy(state.path.data(), file.path.c_str(), file.path.size() + 1);
  state.stream = hash_of(file.stream);
  state.audio = file.audio ? hash_of(*file.audio) : 0;
  state.begin = file.begin;
  state.begun_utc = file.begun_utc;
  store_record_progress(state, progress);
}

std::optional<RecordProgress> load_record_progress(const RecordState& state) {
  const std::uint32_t current = state.current.load(std::memory_order_acquire);
  if (current == 0 || current > state.copy.size()) return std::nullopt;
  const RecordState::Copy& copy = state.copy[current - 1];
  RecordProgress progress;
  progress.position = {copy.offset, copy.packets, copy.fragments, copy.last_dts};
  progress.number = copy.number;
  progress.recorded = copy.recorded;
  progress.audio_epoch = copy.audio_epoch;
  progress.audio_number = copy.audio_number;
  progress.end = copy.end;
  progress.end_utc = copy.end_utc;
  progress.last_motion = copy.last_motion;
  progress.score = copy.score;
  progress.open = copy.open != 0;
  return progress;
}

std::string record_path(const RecordState& state) {
  if (!load_record_progress(state)) return {};
  const auto end = std::ranges::find(state.path, '\0');
  return end == state.path.end() ? std::string() : std::string(state.path.begin(), end);
}

}  // namespace campipe
