#include "app/server/recordings.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/record_index.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Nothing: such lines are left by a power cut, a full disk, or somebody's editor.
std::optional<ListedRecording> parse_line(const json& line, const std::string& event) {
  const auto text = [&line](const char* key) {
    const auto found = line.find(key);
    return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  ListedRecording recording;
  recording.start = utc_of(text("start")).value_or("");
  if (event == "end") recording.end = utc_of(text("end")).value_or("");
  recording.reason = text("reason");
  if (line.contains("duration_s") && line["duration_s"].is_number()) recording.duration_s = line["duration_s"];
  if (line.contains("bytes") && line["bytes"].is_number_unsigned()) recording.bytes = line["bytes"];
  const bool good = !recording.start.empty() && (event == "begin" || !recording.end.empty());
  return good ? std::optional(recording) : std::nullopt;
}

std::vector<ListedRecording> parse_index(const fs::path& index) {
  std::map<std::string, ListedRecording> files;
  std::ifstream in(index);
  for (std::string text; std::getline(in, text);) {
    const json line = json::parse(text, nullptr, false);
    if (!line.is_object() || !line.contains("file") || !line["file"].is_string()) continue;
    const std::string file = line["file"];
    const auto event = line.find("event");
    if (event == line.end() || !event->is_string()) continue;
    if (*event == "deleted") files.erase(file);
    if (*event != "begin" && *event != "end") continue;
    if (auto recording = parse_line(line, *event)) {
      recording->id = file;
      files[file] = *recording;
    }
  }
  std::vector<ListedRecording> all;
  for (auto& [file, recording] : files) all.push_back(std::move(recording));
  return all;
}

// Where the file really lies, links followed; empty: not in the index's folder, or no regular file.
fs::path find_inside(const fs::path& folder, const std::string& name) {
  std::error_code error;
  const fs::path root = fs::canonical(folder.empty() ? fs::path(".") : folder, error);
  if (error) return {};
  const fs::path file = fs::canonical(root / name, error);
  if (error || !fs::is_regular_file(file, error)) return {};
  const auto [in_root, in_file] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  return in_root == root.end() && in_file != file.end() ? file : fs::path();
}

bool between(const ListedRecording& recording, const Recordings::Query& query) {
  const bool too_old = !query.from.empty() && !recording.end.empty() && recording.end < query.from;
  return !too_old && (query.to.empty() || recording.start <= query.to);
}

}  // namespace

std::optional<std::string> utc_of(const std::string& text) {
  const auto utc = utc_from_text(text);
  return utc ? std::optional(utc_text(*utc)) : std::nullopt;
}

void Recordings::add(const CameraConfig& config) {
  const std::lock_guard lock(mutex_);
  streams_.erase(config.name);
  if (!config.record) return;
  const std::string camera = camera_name(config);
  streams_[config.name] = {camera, config.output, record_index_path(config.record->path, camera, config.output)};
}

const std::vector<ListedRecording>& Recordings::read(const fs::path& index) {
  std::error_code error;
  Known& known = known_[index];
  const auto changed = fs::last_write_time(index, error);
  const auto size = error ? 0 : fs::file_size(index, error);
  if (error) {
    known = {};
  } else if (known.changed != changed || known.size != size) {
    known = {changed, size, parse_index(index)};
  }
  return known.recordings;
}

std::vector<ListedRecording> Recordings::list(const Query& query) {
  const std::lock_guard lock(mutex_);
  std::vector<ListedRecording> found;
  for (const auto& [name, stream] : streams_) {
    if (!query.wanted(stream.camera)) continue;
    for (ListedRecording recording : read(stream.index)) {
      if (!between(recording, query)) continue;
      recording.camera = stream.camera;
      recording.output = stream.output;
      found.push_back(std::move(recording));
    }
  }
  std::ranges::stable_sort(found, std::greater<>(), &ListedRecording::start);
  std::vector<ListedRecording> listed;
  for (ListedRecording& recording : found) {
    if (listed.size() == query.limit) break;
    const Stream& stream =
        streams_.at(recording.output == "main" ? recording.camera : recording.camera + "/" + recording.output);
    const fs::path file = find_inside(stream.index.parent_path(), recording.id);
    if (file.empty()) continue;  // somebody deleted it
    if (recording.end.empty()) {
      std::error_code error;
      const auto size = fs::file_size(file, error);
      recording.bytes = error ? 0 : size;
    }
    recording.id = recording.camera + "/" + recording.output + "/" + recording.id;
    listed.push_back(std::move(recording));
  }
  return listed;
}

std::string Recordings::camera_of(const std::string& id) { return id.substr(0, id.find('/')); }

fs::path Recordings::file(const std::string& id) {
  const auto first = id.find('/');
  const auto second_slash = first == std::string::npos ? first : id.find('/', first + 1);
  if (second_slash == std::string::npos) return {};
  const std::string output = id.substr(first + 1, second_slash - first - 1);
  const std::string name = output == "main" ? id.substr(0, first) : id.substr(0, second_slash);
  const std::string file = id.substr(second_slash + 1);
  const std::lock_guard lock(mutex_);
  const auto stream = streams_.find(name);
  if (stream == streams_.end() || stream->second.output != output) return {};
  const auto& recordings = read(stream->second.index);
  if (std::ranges::find(recordings, file, &ListedRecording::id) == recordings.end()) return {};
  return find_inside(stream->second.index.parent_path(), file);
}

}  // namespace campipe
