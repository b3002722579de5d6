// A camera's configuration as JSON, for the processes that the supervisor starts. Both ends are of one build, so
// every key is always there.
#include <nlohmann/json.hpp>

#include "app/config_names.h"
#include "core/error.h"

namespace campipe {
namespace {

using nlohmann::json;

template <typename T>
json optional_to_json(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

template <typename T>
std::optional<T> optional_from_json(const json& from) {
  return from.is_null() ? std::nullopt : std::optional<T>(from.get<T>());
}

template <typename T>
T choice_from_json(const json& from) {
  const auto value = find_choice<T>(from.get<std::string>());
  if (!value) throw Error("unknown choice '" + from.get<std::string>() + "'");
  return *value;
}

template <typename T>
json optional_choice_to_json(const std::optional<T>& value) {
  return value ? json(choice_name(*value)) : json();
}

template <typename T>
std::optional<T> optional_choice_from_json(const json& from) {
  return from.is_null() ? std::nullopt : std::optional(choice_from_json<T>(from));
}

json source_to_json(const SourceConfig& source) {
  return {{"url", source.url}, {"loop", source.loop}, {"pace", choice_name(source.pace)}};
}

SourceConfig source_from_json(const json& from) {
  return {from.at("url"), from.at("loop"), choice_from_json<Pace>(from.at("pace"))};
}

json encode_to_json(const EncoderConfig& encode) {
  const auto* frames = std::get_if<int>(&encode.gop);
  const auto* time = std::get_if<std::chrono::nanoseconds>(&encode.gop);
  return {{"codec", encode.codec},
          {"encoder", encode.encoder},
          {"preset", encode.preset},
          {"bitrate", optional_to_json(encode.bitrate)},
          {"crf", optional_to_json(encode.crf)},
          {"gop_frames", frames != nullptr ? json(*frames) : json()},
          {"gop_ns", time != nullptr ? json(time->count()) : json()},
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
    encode.gop = std::chrono::nanoseconds(from.at("gop_ns").get<std::int64_t>());
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

}  // namespace

json to_json(const CameraConfig& camera) {
  return {{"name", camera.name},
          {"source", source_to_json(camera.source)},
          {"gpu", camera.gpu},
          {"ipc_memory", optional_choice_to_json(camera.ipc_memory)},
          {"ready_signal", optional_choice_to_json(camera.ready_signal)},
          {"drop_policy", choice_name(camera.drop_policy)},
          {"queue_size", camera.queue_size},
          {"decode_threads", camera.decode_threads},
          {"decode_gpu", camera.decode_gpu},
          {"filters", filters_to_json(camera.filters)},
          {"encode", encode_to_json(camera.encode)},
          {"record_path", camera.record ? json(camera.record->path) : json()}};
}

CameraConfig camera_from_json(const json& from) try {
  CameraConfig camera;
  camera.name = from.at("name");
  camera.source = source_from_json(from.at("source"));
  camera.gpu = from.at("gpu");
  camera.ipc_memory = optional_choice_from_json<MemoryKind>(from.at("ipc_memory"));
  camera.ready_signal = optional_choice_from_json<ReadySignal>(from.at("ready_signal"));
  camera.drop_policy = choice_from_json<DropPolicy>(from.at("drop_policy"));
  camera.queue_size = from.at("queue_size");
  camera.decode_threads = from.at("decode_threads");
  camera.decode_gpu = from.at("decode_gpu");
  camera.filters = filters_from_json(from.at("filters"));
  camera.encode = encode_from_json(from.at("encode"));
  if (auto path = optional_from_json<std::string>(from.at("record_path"))) camera.record = RecordConfig{*path};
  return camera;
} catch (const nlohmann::json::exception& error) {
  throw Error(std::string("a camera's configuration as JSON: ") + error.what());
}

}  // namespace campipe
