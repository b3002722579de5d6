#include "app/publisher/server/recordings.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/config/cluster_name.h"
#include "app/publisher/recording/record_index.h"
#include "core/line_reader.h"
#include "core/utc_text.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Nothing: such lines are left by a power cut, a full disk, or an editor.
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

// The regular file that an index names, as it is now; nothing: there is none below the index's folder.
std::optional<struct stat> status_of(const PathBelow& file) {
  struct stat status {};
  return status_below(file, status) && S_ISREG(status.st_mode) ? std::optional(status) : std::nullopt;
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

std::optional<Recordings::Stream> Recordings::Stream::of(const std::string& other) const {
  if (!is_cluster_name(other)) return std::nullopt;
  return Stream{camera, output, record_path, record_index_path(record_path, camera, output, other), other};
}

void Recordings::add(const ResolvedOutput& config) {
  const std::lock_guard lock(streams_mutex_);
  streams_.erase(config.name);
  if (!config.record) return;
  const std::string& path = config.record->path;
  streams_[config.name] = {config.camera, config.output, path,
                           record_index_path(path, config.camera, config.output, config.node)};
}

std::map<std::string, Recordings::Stream> Recordings::streams() const {
  const std::lock_guard lock(streams_mutex_);
  return streams_;
}

// Of an index, for as long as it lives.
class Recordings::Hold {
 public:
  Hold(std::shared_ptr<Index> index, std::unique_lock<std::timed_mutex> lock)
      : index_(std::move(index)), lock_(std::move(lock)) {
    index_->held_since = Clock::now();
  }
  ~Hold() { index_->held_since = Clock::time_point::max(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  [[nodiscard]] Known& known() const { return index_->known; }

 private:
  const std::shared_ptr<Index> index_;
  const std::unique_lock<std::timed_mutex> lock_;
};

// Who comes late to a disk that does not answer keeps no thread waiting.
Recordings::Hold Recordings::hold(const Stream& stream, const IsAbout& is_about) {
  if (is_about) is_about(stream.camera);
  std::unique_lock indexes(indexes_mutex_);
  auto& place = indexes_[stream.index];
  if (!place) place = std::make_shared<Index>();
  const auto index = place;
  indexes.unlock();
  const auto now = Clock::now();
  const bool is_late = index->held_since.load() < now - patience_;
  std::unique_lock lock(index->mutex, std::defer_lock);
  if (is_late ? !lock.try_lock() : !lock.try_lock_until(now + patience_)) throw DiskSilent(stream.camera);
  return {index, std::move(lock)};
}

void Recordings::take_line(const std::string& text, Names& recordings) {
  const json line = json::parse(text, nullptr, false);
  if (!line.is_object() || !line.contains("file") || !line["file"].is_string()) return;
  const std::string file = line["file"];
  const auto event = line.find("event");
  if (event == line.end() || !event->is_string()) return;
  if (*event == "deleted") recordings.erase(file);
  if (*event != "begin" && *event != "end") return;
  if (auto recording = parse_line(line, *event)) {
    recording->id = file;
    if (recordings.size() < most_index_files || recordings.contains(file))
      recordings[file] = std::make_shared<const ListedRecording>(std::move(*recording));
  }
}

const Recordings::Names& Recordings::read(const fs::path& path, Known& known) {
  UniqueFd fd = open_below(in_own_folder(path), O_RDONLY);
  struct stat status {};
  const bool there = fd && ::fstat(fd.get(), &status) == 0;
  const auto size = there ? static_cast<std::uint64_t>(status.st_size) : 0;
  const bool is_same = status.st_dev == known.device && status.st_ino == known.inode && size >= known.size;
  if (!is_same) known = {.device = status.st_dev, .inode = status.st_ino, .size = 0, .recordings = {}};
  if (size == known.size) return known.recordings;
  LineReader in(std::move(fd), std::max(known.size, size - std::min(size, most_index_bytes)), size);
  std::string text;
  for (auto next = in.next(text); next != LineReader::Next::end; next = in.next(text)) {
    if (next == LineReader::Next::unended) break;  // it is read the next time
    if (next == LineReader::Next::line) take_line(text, known.recordings);
  }
  known.size = in.position();
  return known.recordings;
}

std::vector<ListedRecording> Recordings::list(const Query& query, const IsAbout& is_about) {
  struct Found {
    std::shared_ptr<const ListedRecording> recording;
    const Stream* stream;
  };
  std::vector<Stream> all;
  for (const auto& [name, stream] : streams()) {
    if (!query.wanted(stream.camera)) continue;
    all.push_back(stream);
    for (const std::string& node : query.nodes) {
      if (auto other = stream.of(node); other && other->index != stream.index) all.push_back(*std::move(other));
    }
  }
  std::vector<Found> found;
  for (const Stream& stream : all) {
    const Hold held = hold(stream, is_about);
    for (const auto& [file, recording] : read(stream.index, held.known())) {
      if (between(*recording, query)) found.push_back({recording, &stream});
    }
  }
  std::ranges::stable_sort(found, std::greater<>(),
                           [](const Found& each) -> const std::string& { return each.recording->start; });
  std::vector<ListedRecording> listed;
  for (const Found& each : found) {
    if (listed.size() == query.limit) break;
    ListedRecording recording = *each.recording;
    recording.camera = each.stream->camera;
    recording.output = each.stream->output;
    recording.node = each.stream->node;
    const Hold held = hold(*each.stream, is_about);
    const auto status = status_of({each.stream->index.parent_path(), recording.id});
    if (!status) continue;  // it was deleted
    if (recording.end.empty()) recording.bytes = static_cast<std::uint64_t>(status->st_size);
    recording.id = recording.camera + "/" + recording.output + "/" + recording.id;
    listed.push_back(std::move(recording));
  }
  return listed;
}

std::string Recordings::camera_of(const std::string& id) { return id.substr(0, id.find('/')); }

PathBelow Recordings::file(const std::string& id, const IsAbout& is_about, const std::string& node) {
  const auto first = id.find('/');
  const auto second_slash = first == std::string::npos ? first : id.find('/', first + 1);
  if (second_slash == std::string::npos) return {};
  const std::string output = id.substr(first + 1, second_slash - first - 1);
  const std::string name = output == "main" ? id.substr(0, first) : id.substr(0, second_slash);
  const std::string file = id.substr(second_slash + 1);
  const auto all = streams();
  const auto own = all.find(name);
  if (own == all.end() || own->second.output != output) return {};
  const std::optional<Stream> stream = node.empty() ? own->second : own->second.of(node);
  if (!stream) return {};
  const Hold held = hold(*stream, is_about);
  if (!read(stream->index, held.known()).contains(file)) return {};
  const PathBelow found{stream->index.parent_path(), file};
  return status_of(found) ? found : PathBelow{};
}

}  // namespace campipe
