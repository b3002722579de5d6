// A camera's configuration as JSON, for the processes that the supervisor starts. Both ends are of one build, so
// every key is always there.
#include <nlohmann/json.hpp>

#include "app/config/json_values.h"
#include "app/config/names.h"
#include "core/error.h"

namespace campipe {
namespace {

using nlohmann::json;

template <typename T>
json optional_choice_to_json(const std::optional<T>& value) {
  return value ? json(choice_name(*value)) : json();
}

template <typename T>
std::optional<T> optional_choice_from_json(const json& from) {
  return from.is_null() ? std::nullopt : std::optional(choice_from_json<T>(from));
}

using std::chrono::nanoseconds;

json time_to_json(nanoseconds time) { return time.count(); }
nanoseconds time_from_json(const json& from) { return nanoseconds(from.get<std::int64_t>()); }

json capture_to_json(const CaptureConfig& capture) {
  return {{"width", capture.width}, {"height", capture.height}, {"rate", capture.rate}, {"format", capture.format}};
}

CaptureConfig capture_from_json(const json& from) {
  return {from.at("width"), from.at("height"), from.at("rate"), from.at("format")};
}

json source_to_json(const SourceConfig& source) {
  return {{"url", source.url},
          {"written", source.written},
          {"loop", source.loop},
          {"pace", choice_name(source.pace)},
          {"stream", optional_to_json(source.stream)},
          {"audio", choice_name(source.audio)},
          {"rtsp_transport", choice_name(source.rtsp_transport)},
          {"read_timeout_ns", time_to_json(source.read_timeout)},
          {"verify_certificate", source.verify_certificate},
          {"ca_file", source.ca_file},
          {"allow_redirects", source.allow_redirects},
          {"capture", capture_to_json(source.capture)}};
}

SourceConfig source_from_json(const json& from) {
  SourceConfig source;
  source.url = from.at("url");
  source.written = from.at("written");
  source.loop = from.at("loop");
  source.pace = choice_from_json<Pace>(from.at("pace"));
  source.stream = optional_from_json<int>(from.at("stream"));
  source.audio = choice_from_json<Audio>(from.at("audio"));
  source.rtsp_transport = choice_from_json<RtspTransport>(from.at("rtsp_transport"));
  source.read_timeout = time_from_json(from.at("read_timeout_ns"));
  source.verify_certificate = from.at("verify_certificate");
  source.ca_file = from.at("ca_file");
  source.allow_redirects = from.at("allow_redirects");
  source.capture = capture_from_json(from.at("capture"));
  return source;
}

json encode_to_json(const EncoderConfig& encode) {
  const auto* frames = std::get_if<int>(&encode.gop);
  const auto* time = std::get_if<nanoseconds>(&encode.gop);
  return {{"codec", encode.codec},
          {"encoder", encode.encoder},
          {"preset", encode.preset},
          {"bitrate", optional_to_json(encode.bitrate)},
          {"crf", optional_to_json(encode.crf)},
          {"gop_frames", frames != nullptr ? json(*frames) : json()},
          {"gop_ns", time != nullptr ? time_to_json(*time) : json()},
          {"latency", choice_name(encode.latency)},
          {"threads", encode.threads},
          {"options", encode.options}};
}

EncoderConfig encode_from_json(const json& from) {
  EncoderConfig encode;
  encode.codec = from.at("codec");
  encode.encoder = from.at("encoder");
  encode.preset = from.at("preset");
  encode.bitrate = optional_from_json<std::int64_t>(from.at("bitrate"));
  encode.crf = optional_from_json<double>(from.at("crf"));
  if (const auto& frames = from.at("gop_frames"); !frames.is_null()) {
    encode.gop = frames.get<int>();
  } else {
    encode.gop = time_from_json(from.at("gop_ns"));
  }
  encode.latency = choice_from_json<Latency>(from.at("latency"));
  encode.threads = from.at("threads");
  encode.options = from.at("options").get<decltype(encode.options)>();
  return encode;
}

json filters_to_json(const std::vector<FilterConfig>& filters) {
  json list = json::array();
  for (const FilterConfig& filter : filters) {
    json parameters = json::object();
    for (const auto& [name, value] : filter.parameters) parameters[name] = value;
    list.push_back({{"name", filter.name}, {"parameters", parameters}});
  }
  return list;
}

std::vector<FilterConfig> filters_from_json(const json& list) {
  std::vector<FilterConfig> filters;
  for (const json& item : list) {
    FilterConfig filter{item.at("name"), {}};
    for (const auto& [name, value] : item.at("parameters").items()) filter.parameters.emplace(name, value);
    filters.push_back(std::move(filter));
  }
  return filters;
}

json record_to_json(const std::optional<RecordConfig>& record) {
  if (!record) return {};
  return {{"path", record->path},
          {"segment_ns", time_to_json(record->segment_duration)},
          {"delete_after_ns", record->delete_after ? time_to_json(*record->delete_after) : json()},
          {"max_size", optional_to_json(record->max_size)},
          {"keep_free", optional_to_json(record->keep_free)},
          {"overwrite", record->overwrite},
          {"when", choice_name(record->when)},
          {"before_ns", time_to_json(record->before)},
          {"after_ns", time_to_json(record->after)}};
}

std::optional<RecordConfig> record_from_json(const json& from) {
  if (from.is_null()) return std::nullopt;
  RecordConfig record;
  record.path = from.at("path");
  record.segment_duration = time_from_json(from.at("segment_ns"));
  if (const auto& age = from.at("delete_after_ns"); !age.is_null()) record.delete_after = time_from_json(age);
  record.max_size = optional_from_json<std::int64_t>(from.at("max_size"));
  record.keep_free = optional_from_json<std::int64_t>(from.at("keep_free"));
  record.overwrite = from.at("overwrite");
  record.when = choice_from_json<RecordWhen>(from.at("when"));
  record.before = time_from_json(from.at("before_ns"));
  record.after = time_from_json(from.at("after_ns"));
  return record;
}

json snapshot_to_json(const std::optional<SnapshotConfig>& snapshot) {
  if (!snapshot) return {};
  return {{"path", snapshot->path}, {"every_ns", time_to_json(snapshot->every)}};
}

std::optional<SnapshotConfig> snapshot_from_json(const json& from) {
  if (from.is_null()) return std::nullopt;
  return SnapshotConfig{from.at("path"), time_from_json(from.at("every_ns"))};
}

json pushes_to_json(const std::vector<PushUrl>& pushes) {
  json list = json::array();
  for (const PushUrl& push : pushes) list.push_back({{"url", push.url}, {"written", push.written}});
  return list;
}

std::vector<PushUrl> pushes_from_json(const json& list) {
  std::vector<PushUrl> pushes;
  for (const json& push : list) pushes.push_back({push.at("url"), push.at("written")});
  return pushes;
}

// What a camera and an output have in common.
template <typename Config>
json stream_to_json(const Config& config) {
  return {{"name", config.name},
          {"filters", filters_to_json(config.filters)},
          {"rate", config.rate},
          {"encode", encode_to_json(config.encode)},
          {"record", record_to_json(config.record)},
          {"push", pushes_to_json(config.push)},
          {"on_demand", config.on_demand},
          {"snapshot", snapshot_to_json(config.snapshot)}};
}

template <typename Config>
Config stream_from_json(const json& from) {
  Config config;
  config.name = from.at("name");
  config.filters = filters_from_json(from.at("filters"));
  config.rate = from.at("rate");
  config.encode = encode_from_json(from.at("encode"));
  config.record = record_from_json(from.at("record"));
  config.push = pushes_from_json(from.at("push"));
  config.on_demand = from.at("on_demand");
  config.snapshot = snapshot_from_json(from.at("snapshot"));
  return config;
}

}  // namespace

json to_json(const CameraConfig& camera) {
  json outputs = json::array();
  for (const OutputConfig& output : camera.outputs) outputs.push_back(stream_to_json(output));
  json object = stream_to_json(camera);
  object.update({{"output", camera.output},
                 {"source", source_to_json(camera.source)},
                 {"gpu", camera.gpu},
                 {"ipc_memory", optional_choice_to_json(camera.ipc_memory)},
                 {"ready_signal", optional_choice_to_json(camera.ready_signal)},
                 {"drop_policy", choice_name(camera.drop_policy)},
                 {"queue_size", camera.queue_size},
                 {"decode_threads", camera.decode_threads},
                 {"decode_gpu", camera.decode_gpu},
                 {"outputs", std::move(outputs)},
                 {"retry_interval_ns", time_to_json(camera.retry_interval)},
                 {"retry_max_ns", time_to_json(camera.retry_max)},
                 {"on_corrupt", choice_name(camera.on_corrupt)},
                 {"use_absolute_timestamp", camera.use_absolute_timestamp},
                 {"for_browsers", camera.for_browsers},
                 {"enabled", camera.enabled}});
  return object;
}

CameraConfig camera_from_json(const json& from) try {
  auto camera = stream_from_json<CameraConfig>(from);
  camera.output = from.at("output");
  camera.source = source_from_json(from.at("source"));
  camera.gpu = from.at("gpu");
  camera.ipc_memory = optional_choice_from_json<MemoryKind>(from.at("ipc_memory"));
  camera.ready_signal = optional_choice_from_json<ReadySignal>(from.at("ready_signal"));
  camera.drop_policy = choice_from_json<DropPolicy>(from.at("drop_policy"));
  camera.queue_size = from.at("queue_size");
  camera.decode_threads = from.at("decode_threads");
  camera.decode_gpu = from.at("decode_gpu");
  for (const json& output : from.at("outputs")) camera.outputs.push_back(stream_from_json<OutputConfig>(output));
  camera.retry_interval = time_from_json(from.at("retry_interval_ns"));
  camera.retry_max = time_from_json(from.at("retry_max_ns"));
  camera.on_corrupt = choice_from_json<OnCorrupt>(from.at("on_corrupt"));
  camera.for_browsers = from.at("for_browsers");
  camera.use_absolute_timestamp = from.at("use_absolute_timestamp");
  camera.enabled = from.at("enabled");
  return camera;
} catch (const nlohmann::json::exception& error) {
  throw Error(std::string("a camera's configuration as JSON: ") + error.what());
}

}  // namespace campipe
