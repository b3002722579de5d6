// What is written of a camera's own stream, or of an output's: recordings and snapshots.
#include <set>

#include "app/config/settings.h"
#include "app/config/units.h"
#include "stages/sinks/recorder.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr TimeRange ages{1s, 3650 * 24h};
constexpr TimeRange before_motion{0s, 5min};
// Detectors miss a picture now and then: less would cut one motion into many.
constexpr TimeRange after_motion{1s, 1h};
constexpr TimeRange snapshot_rates{100ms, 1h};

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

bool read_record_path(const YamlNode& node, RecordSettings& record, Report& report) {
  return set(record.path, node,
             read_path(node, "a path that ends in .mp4 or .mkv", can_record_to, check_record_path,
                       "{camera}, {output} and time fields such as %Y", report));
}

bool is_jpg(std::string_view path) { return path.ends_with(".jpg"); }

bool read_snapshot_path(const YamlNode& node, SnapshotSettings& snapshot, Report& report) {
  return set(snapshot.path, node,
             read_path(node, "a path that ends in .jpg", is_jpg, check_snapshot_path, "{camera} and {output}", report));
}

bool read_segment_duration(const YamlNode& node, RecordSettings& record, Report& report) {
  const std::string* text = scalar_text(node);
  auto time = text != nullptr && *text == "0" ? std::optional(0ns) : text != nullptr ? parse_time(*text) : std::nullopt;
  if (time && *time != 0ns && (*time < 1s || *time > 24h)) time.reset();
  if (!time) refuse(node, "0 (one file) or a time from 1s to 24h (units ms, s, m, h), such as 10m", report);
  return set(record.segment_duration, node, time);
}

template <Setting<std::int64_t> RecordSettings::*setting>
bool read_bytes(const YamlNode& node, RecordSettings& record, Report& report) {
  constexpr std::int64_t lowest = 1'000'000;
  constexpr std::int64_t highest = 1'000'000'000'000'000;
  const std::string* text = scalar_text(node);
  auto size = text != nullptr ? parse_size(*text) : std::nullopt;
  if (size && (*size < lowest || *size > highest)) size.reset();
  if (!size) refuse(node, "bytes from 1M to 1000T (units k, M, G, T), such as 20G", report);
  return set(record.*setting, node, size);
}

using RecordKey = Key<RecordSettings>;
constexpr std::array<RecordKey, 9> record_keys{{{"path", read_record_path},
                                                {"segment_duration", read_segment_duration},
                                                {"delete_after", time_key<&RecordSettings::delete_after, ages>},
                                                {"max_size", read_bytes<&RecordSettings::max_size>},
                                                {"keep_free", read_bytes<&RecordSettings::keep_free>},
                                                {"overwrite", choice_key<&RecordSettings::overwrite>},
                                                {"when", choice_key<&RecordSettings::when>},
                                                {"before", time_key<&RecordSettings::before, before_motion>},
                                                {"after", time_key<&RecordSettings::after, after_motion>}}};
using SnapshotKey = Key<SnapshotSettings>;
constexpr std::array<SnapshotKey, 2> snapshot_keys{
    {{"path", read_snapshot_path}, {"every", time_key<&SnapshotSettings::every, snapshot_rates>}}};

template <typename Settings>
bool read_with_path(const YamlNode& node, std::span<const Key<Settings>> keys, Settings& settings, Report& report) {
  settings.node = &node;
  const bool good = read_map(node, keys, settings, report);
  // So that the missing path is not told as well.
  if (!good && settings.path.node == nullptr) settings.path.node = &node;
  return good;
}

template <typename Settings>
bool path_is_missing(const Settings& settings, std::set<const YamlNode*>& told) {
  return settings.node != nullptr && settings.path.node == nullptr && told.insert(settings.node).second;
}

void check_motion(const NamedStream& named, std::set<const YamlNode*>& told, Report& report) {
  const auto& when = named.stream->record.when;
  if (when.value != RecordWhen::motion) return;
  const bool copied = is_copy(named.stream->encode);
  // An output's filters come after the camera's where neither is copied; a chain that was refused may have had one.
  const bool after_camera = !copied && !is_copy(named.camera->encode);
  const auto looks = [](const StreamSettings& stream) {
    return !motion_filters(stream).empty() || (stream.filters.node != nullptr && !stream.filters.value);
  };
  if (looks(*named.stream) || (after_camera && looks(*named.camera)) || !told.insert(when.node).second) return;
  const std::string& camera = named.camera->node->key;
  report.at(*when.node, copied && named.output != "main"
                            ? "no filter tells the motion of what is copied; add `motion` to the output's own `filters`"
                            : "no filter tells the motion of camera '" + camera + "'; add `motion` to its `filters`");
}

// Each segment, or each motion, is a file of its own.
void check_names_by_time(const RecordSettings& record, std::set<const YamlNode*>& told, Report& report) {
  const bool segments = record.segment_duration.value.value_or(0ns) > 0ns;
  const bool by_motion = record.when.value == RecordWhen::motion;
  if ((!segments && !by_motion) || !record.path.value || tells_seconds(*record.path.value)) return;
  if (!told.insert(record.path.node).second) return;
  const std::string why = segments ? "`segment_duration`" : "`when: motion`";
  refuse(*record.path.node,
         "a path that tells the second, such as {camera}/%Y-%m-%d_%H-%M-%S.mp4, since with " + why +
             " there is a file for each start",
         report);
}

}  // namespace

bool read_record(const YamlNode& node, StreamSettings& stream, Report& report) {
  return read_with_path(node, std::span<const RecordKey>(record_keys), stream.record, report);
}

bool read_snapshot(const YamlNode& node, StreamSettings& stream, Report& report) {
  return read_with_path(node, std::span<const SnapshotKey>(snapshot_keys), stream.snapshot, report);
}

std::vector<ConfigSection> target_sections() {
  return {{"record", key_names(std::span<const RecordKey>(record_keys))},
          {"snapshot", key_names(std::span<const SnapshotKey>(snapshot_keys))}};
}

RecordSettings merge(const RecordSettings& own, const RecordSettings& defaults) {
  RecordSettings merged;
  merged.node = own.node != nullptr ? own.node : defaults.node;
  merged.path = merge(own.path, defaults.path);
  merged.segment_duration = merge(own.segment_duration, defaults.segment_duration);
  merged.delete_after = merge(own.delete_after, defaults.delete_after);
  merged.max_size = merge(own.max_size, defaults.max_size);
  merged.keep_free = merge(own.keep_free, defaults.keep_free);
  merged.overwrite = merge(own.overwrite, defaults.overwrite);
  merged.when = merge(own.when, defaults.when);
  merged.before = merge(own.before, defaults.before);
  merged.after = merge(own.after, defaults.after);
  return merged;
}

SnapshotSettings merge(const SnapshotSettings& own, const SnapshotSettings& defaults) {
  SnapshotSettings merged;
  merged.node = own.node != nullptr ? own.node : defaults.node;
  merged.path = merge(own.path, defaults.path);
  merged.every = merge(own.every, defaults.every);
  return merged;
}

std::optional<RecordConfig> record_config(const RecordSettings& record) {
  if (!record.path.value) return std::nullopt;
  RecordConfig config;
  config.path = *record.path.value;
  config.segment_duration = record.segment_duration.value.value_or(config.segment_duration);
  config.delete_after = record.delete_after.value;
  config.max_size = record.max_size.value;
  config.keep_free = record.keep_free.value;
  config.overwrite = record.overwrite.value.value_or(config.overwrite);
  config.when = record.when.value.value_or(config.when);
  config.before = record.before.value.value_or(config.before);
  config.after = record.after.value.value_or(config.after);
  return config;
}

std::optional<SnapshotConfig> snapshot_config(const SnapshotSettings& snapshot) {
  if (!snapshot.path.value) return std::nullopt;
  SnapshotConfig config;
  config.path = *snapshot.path.value;
  config.every = snapshot.every.value.value_or(config.every);
  return config;
}

void check_recordings(const std::vector<CameraSettings>& cameras, Report& report) {
  std::vector<FileTarget> targets;
  std::set<const YamlNode*> told;
  for (const NamedStream& named : streams_of(cameras)) {
    const auto& [record, snapshot] = std::tie(named.stream->record, named.stream->snapshot);
    const bool pictures = !is_copy(named.stream->encode);
    const std::string& camera = named.camera->node->key;
    if (path_is_missing(record, told)) report.at_key(*record.node, "missing key 'path'");
    if (path_is_missing(snapshot, told)) report.at_key(*snapshot.node, "missing key 'path'");
    if (record.path.value) targets.push_back({camera, named.output, "records", record.path.node, *record.path.value});
    if (snapshot.path.value && pictures) {
      targets.push_back({camera, named.output, "writes snapshots", snapshot.path.node, *snapshot.path.value});
    }
    check_motion(named, told, report);
    check_names_by_time(record, told, report);
  }
  check_files(targets, report);
}

}  // namespace campipe
