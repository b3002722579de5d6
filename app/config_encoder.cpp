// Asking the encoder itself about `encode`, and putting its answer to the key that it is about.
#include <algorithm>
#include <set>

#include "app/config_settings.h"

namespace campipe {
namespace {

// Opening an encoder takes a while: once for all cameras that want the same.
class EncoderChecks {
 public:
  std::optional<std::string> check(const EncoderConfig& config) {
    const auto same = std::find_if(known_.begin(), known_.end(), [&](const auto& k) { return k.first == config; });
    if (same != known_.end()) return same->second;
    return known_.emplace_back(config, check_encoder(config)).second;
  }

 private:
  std::vector<std::pair<EncoderConfig, std::optional<std::string>>> known_;
};

struct Reason {
  std::string key;  // "preset", "options.bf"; empty: `encode` as a whole
  std::string text;
};

// Reasons begin with what they are about: "encode.preset: …". The place of the error says that better.
Reason split_reason(const std::string& problem) {
  const auto colon = problem.find(": ");
  if (colon == std::string::npos || !problem.starts_with("encode")) return {"", problem};
  const std::string subject = problem.substr(0, colon);
  if (subject != "encode" && !subject.starts_with("encode.")) return {"", problem};
  return {subject == "encode" ? "" : subject.substr(7), problem.substr(colon + 2)};
}

// What `encode` says about a key, if it does.
const YamlNode* find_key(const YamlNode* encode, std::string_view key) {
  if (encode == nullptr) return nullptr;
  for (const YamlNode& child : encode->children) {
    if (child.key == key) return &child;
    if (key.starts_with(child.key + ".")) return find_key(&child, key.substr(child.key.size() + 1));
  }
  return nullptr;
}

std::string scrub_by(const std::string& text, const YamlNode* node) {
  return node != nullptr ? scrub(text, *node) : text;
}

}  // namespace

void check_encoders(const std::vector<CameraSettings>& cameras, const YamlNode* defaults, Report& report) {
  EncoderChecks checks;
  std::set<const YamlNode*> told;  // places; null: what is wrong was given nowhere
  for (const CameraSettings& camera : cameras) {
    if (!camera.encode.good) continue;
    // A GPU's is tried by the probe, and its options by the worker: this process must not touch a GPU.
    if (is_gpu_encoder(to_config(camera.encode).encoder)) continue;
    const auto problem = checks.check(to_config(camera.encode));
    if (!problem) continue;
    const YamlNode* encode = camera.encode.node;
    const Reason reason = split_reason(*problem);
    const YamlNode* value = find_key(encode, reason.key);
    if (value == nullptr) value = find_key(defaults, reason.key);
    if (!told.insert(value != nullptr ? value : encode).second) continue;
    const std::string text = scrub_by(scrub_by(reason.text, encode), defaults);
    if (value != nullptr) {
      report.at(*value, text);
    } else {
      report.at_key(encode != nullptr ? *encode : *camera.node, text);
    }
  }
}

}  // namespace campipe
