// What is written of a camera's own stream, or of an output's: recordings and snapshots.
#include <set>

#include "app/config/given.h"
#include "app/config/paths.h"
#include "app/config/reader.h"
#include "app/config/units.h"
#include "app/config/values.h"
#include "stages/sinks/recorder.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

// Paths with fields, of which `check` knows what is wrong. `fields`: those that there are.
std::optional<std::string> read_path(const YamlNode& node, std::string_view expected, bool (*fits)(std::string_view),
                                     std::optional<std::string> (*check)(const std::string&), std::string_view fields,
                                     Report& report) {
  auto path = read_text(node, expected, report);
  if (!path) return path;
  const auto problem = check(*path);
  if (fits(*path) && !problem) return path;
  if (!fits(*path)) {
    refuse(node, expected, report);
  } else {
    // What is wrong may be a piece of a variable's value, which nothing would recognise as such.
    const std::string vague = "expected a path with no fields but " + std::string(fields) + ", got " + shown(node);
    report.at(node, node.variables.empty() ? *problem : vague);
  }
  return std::nullopt;
}

bool is_jpg(std::string_view path) { return path.ends_with(".jpg"); }

// Whoever has mistyped it is reported that.
bool path_is_missing(const Origin& map, const Origin& path, std::set<const YamlNode*>& reported) {
  return map.good && path.node == nullptr && reported.insert(map.node).second;
}

void check_motion(const NamedStream& stream, std::set<const YamlNode*>& reported, Report& report) {
  const auto& record = stream.value->record;
  if (!record || record->when != RecordWhen::motion) return;
  const bool copied = is_copy(stream.value->encode);
  // An output's filters come after the camera's where neither is copied; a chain that was refused may have had one.
  const bool after_camera = !copied && !is_copy(stream.camera->value.encode);
  const auto looks = [](const Origins& given, const StreamConfig& value) {
    const Origin& filters = given["filters"];
    const bool motion = std::ranges::find(value.filters, "motion", &FilterConfig::name) != value.filters.end();
    return motion || (filters.node != nullptr && !filters.good);
  };
  if (looks(*stream.given, *stream.value) || (after_camera && looks(*stream.camera, stream.camera->value))) return;
  const YamlNode& when = *stream["record.when"].node;
  if (!reported.insert(&when).second) return;
  report.at(when, copied && stream.output != "main"
                      ? "no filter looks for motion in what is copied; add `motion` to the output's own `filters`"
                      : "no filter looks for motion in camera '" + stream.camera->node->key +
                            "'; add `motion` to its `filters`");
}

// Each segment, or each motion, is a file of its own.
void check_names_by_time(const NamedStream& stream, std::set<const YamlNode*>& reported, Report& report) {
  const Origin& path = stream["record.path"];
  if (!path.good) return;
  const RecordConfig& record = *stream.value->record;
  const bool segments = record.segment_duration > 0ns;
  if ((!segments && record.when != RecordWhen::motion) || tells_seconds(record.path)) return;
  if (!reported.insert(path.node).second) return;
  const std::string why = segments ? "`segment_duration`" : "`when: motion`";
  refuse(*path.node,
         "a path with the time to the second, such as {camera}/%Y-%m-%d_%H-%M-%S.mp4, since with " + why +
             " there is a file for each start",
         report);
}

}  // namespace

std::optional<std::string> read_record_path(const YamlNode& node, Report& report) {
  return read_path(node, "a path that ends in .mp4 or .mkv", can_record_to, check_record_path,
                   "{camera}, {output} and time fields such as %Y", report);
}

std::optional<std::string> read_snapshot_path(const YamlNode& node, Report& report) {
  return read_path(node, "a path that ends in .jpg", is_jpg, check_snapshot_path, "{camera} and {output}", report);
}

std::optional<std::int64_t> read_bytes(const YamlNode& node, Report& report) {
  constexpr std::int64_t lowest = 1'000'000;
  constexpr std::int64_t highest = 1'000'000'000'000'000;
  const std::string* text = scalar_text(node);
  const auto size = text != nullptr ? parse_size(*text) : std::nullopt;
  if (size && *size >= lowest && *size <= highest) return size;
  refuse(node, "bytes from 1M to 1000T (units k, M, G, T), such as 20G", report);
  return std::nullopt;
}

void check_recordings(const std::vector<GivenCamera>& cameras, Report& report) {
  std::vector<FileTarget> targets;
  std::set<const YamlNode*> reported;
  for (const NamedStream& stream : streams_of(cameras)) {
    const Origin& record = stream["record.path"];
    const Origin& snapshot = stream["snapshot.path"];
    const std::string& camera = stream.camera->node->key;
    if (path_is_missing(stream["record"], record, reported))
      report.at_key(*stream["record"].node, "missing key 'path'");
    if (path_is_missing(stream["snapshot"], snapshot, reported))
      report.at_key(*stream["snapshot"].node, "missing key 'path'");
    if (record.good) targets.push_back({camera, stream.output, "records", record.node, stream.value->record->path});
    if (snapshot.good && !is_copy(stream.value->encode)) {
      targets.push_back({camera, stream.output, "writes snapshots", snapshot.node, stream.value->snapshot->path});
    }
    check_motion(stream, reported, report);
    check_names_by_time(stream, reported, report);
  }
  check_files(targets, report);
}

}  // namespace campipe
