#include "app/record_state.h"

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "app/stream_json.h"
#include "core/error.h"

namespace campipe {
namespace {

std::uint64_t hash_of(const StreamParameters& stream) { return std::hash<std::string>()(to_json(stream).dump()); }

}  // namespace

bool is_stream_of_file(const RecordState& state, const StreamParameters& stream) {
  return state.stream == hash_of(stream);
}

void store_record_progress(RecordState& state, const RecordProgress& progress) {
  const std::uint32_t current = state.current.load(std::memory_order_relaxed);
  const std::uint32_t next = current == 1 ? 2 : 1;
  const RecordPosition& at = progress.position;
  state.copy[next - 1] = {at.offset, at.packets, at.fragments, at.last_dts, progress.number, progress.recorded};
  state.current.store(next, std::memory_order_release);
}

void store_record_file(RecordState& state, const std::string& path, const StreamParameters& stream,
                       const RecordProgress& progress) {
  if (path.size() >= state.path.size()) throw Error("the recording's path is too long: " + path);
  state.current.store(0, std::memory_order_release);
  std::memcpy(state.path.data(), path.c_str(), path.size() + 1);
  state.stream = hash_of(stream);
  store_record_progress(state, progress);
}

std::optional<RecordProgress> load_record_progress(const RecordState& state) {
  const std::uint32_t current = state.current.load(std::memory_order_acquire);
  if (current == 0) return std::nullopt;
  const RecordState::Copy& copy = state.copy[current - 1];
  return RecordProgress{{copy.offset, copy.packets, copy.fragments, copy.last_dts}, copy.number, copy.recorded};
}

std::string record_path(const RecordState& state) {
  return state.current.load(std::memory_order_acquire) == 0 ? std::string() : std::string(state.path.data());
}

}  // namespace campipe
