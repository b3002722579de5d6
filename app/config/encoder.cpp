// Asking the encoder itself about `encode`, and putting its answer to the key that it is about.
#include <algorithm>
#include <set>

#include "app/config/given.h"
#include "stages/encoders/encoder.h"

namespace campipe {
namespace {

// Opening an encoder takes a while: once for all cameras that want the same.
class EncoderChecks {
 public:
  std::optional<std::string> check(const EncoderConfig& config, const YamlNode& key, const Report& report) {
    const auto same = std::find_if(known_.begin(), known_.end(), [&](const auto& k) { return k.first == config; });
    if (same != known_.end()) return same->second;
    const std::string encoder = config.encoder == "auto" ? "an encoder of " + config.codec : in_quotes(config.encoder);
    report.step(&key, "opening " + encoder, "choose another encoder, or other options");
    return known_.emplace_back(config, check_encoder(config)).second;
  }

 private:
  std::vector<std::pair<EncoderConfig, std::optional<std::string>>> known_;
};

struct Reason {
  std::string key;  // "preset", "options.bf"; empty: `encode` as a whole
  std::string text;
};

// Reasons begin with what they are about: "encode.preset: …". The place of the error shows that better.
Reason split_reason(const std::string& problem) {
  const auto colon = problem.find(": ");
  if (colon == std::string::npos || !problem.starts_with("encode")) return {"", problem};
  const std::string subject = problem.substr(0, colon);
  if (subject != "encode" && !subject.starts_with("encode.")) return {"", problem};
  return {subject == "encode" ? "" : subject.substr(7), problem.substr(colon + 2)};
}

// A map's value of a key, if it has one.
const YamlNode* find_key(const YamlNode& encode, std::string_view key) {
  for (const YamlNode& child : encode.children) {
    if (child.key == key) return &child;
    if (key.starts_with(child.key + ".")) return find_key(child, key.substr(child.key.size() + 1));
  }
  return nullptr;
}

// The maps that it comes from, the nearest first.
std::vector<const YamlNode*> maps_of(const Origin& encode) {
  std::vector<const YamlNode*> maps;
  if (encode.node != nullptr) maps.push_back(encode.node);
  maps.insert(maps.end(), encode.outer.begin(), encode.outer.end());
  return maps;
}

const YamlNode* find_key(const std::vector<const YamlNode*>& maps, std::string_view key) {
  for (const YamlNode* map : maps) {
    if (const YamlNode* found = find_key(*map, key)) return found;
  }
  return nullptr;
}

std::string scrubbed(std::string text, const std::vector<const YamlNode*>& maps) {
  for (const YamlNode* map : maps) text = scrub(text, *map);
  return text;
}

// A GPU's encoder is tried by the probe, and its options by the worker: this process must not touch a GPU.
std::optional<std::string> check_gpu_encoder(const EncoderConfig& config) {
  if (config.encoder == config.codec + "_nvenc") return std::nullopt;
  return "encode.encoder: '" + config.encoder + "' is not an encoder of " + config.codec;
}

}  // namespace

void check_encoders(const std::vector<GivenCamera>& cameras, Report& report) {
  EncoderChecks checks;
  std::set<const YamlNode*> reported;  // places; null: what is wrong was given nowhere
  for (const NamedStream& stream : streams_of(cameras)) {
    const Origin& encode = stream["encode"];
    EncoderConfig config = stream.value->encode;
    config.codec = encoded_codec(*stream.given, config);  // it may come to that
    if ((encode.node != nullptr && !encode.good) || is_copy(config)) continue;
    const std::vector<const YamlNode*> maps = maps_of(encode);
    const YamlNode* map = encode.node;
    const YamlNode& whole = map != nullptr ? *map : *stream.given->node;
    const auto problem =
        is_gpu_encoder(config.encoder) ? check_gpu_encoder(config) : checks.check(config, whole, report);
    if (!problem) continue;
    const Reason reason = split_reason(*problem);
    const YamlNode* value = find_key(maps, reason.key);
    if (!reported.insert(value != nullptr ? value : map).second) continue;
    const std::string text = scrubbed(reason.text, maps);
    if (value != nullptr) {
      report.at(*value, text);
    } else {
      report.at_key(whole, text);
    }
  }
}

}  // namespace campipe
