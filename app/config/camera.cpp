// A camera (and `defaults`, which has the same keys): reading it, merging it, and what becomes of it.
#include <fmt/format.h>
#include <algorithm>

#include <set>

#include "app/config/key_table.h"
#include "app/config/reader.h"
#include "app/config/values.h"
#include "ipc/frame_ring.h"
#include "ipc/ring_slots.h"
#include "stages/decoders/decoder.h"
#include "stages/sources/source.h"

namespace campipe {
namespace {

bool is_automatic(const Origin& key) { return !key.good || key.node->text == "auto"; }

ConfigPlace place_of(const YamlNode& node, const Mark& mark) {
  return {mark.line, mark.column, node.path, shown(node), mark.document};
}

ConfigPlace place_of(const Origin& key) {
  return key.node != nullptr ? place_of(*key.node, key.node->mark) : ConfigPlace();
}

// `- blur` or `- blur: {sigma: 1.5}`
std::vector<ConfigPlace> places_of_filters(const Origin& filters) {
  std::vector<ConfigPlace> places;
  if (filters.node == nullptr || !filters.good) return places;
  for (const YamlNode& node : filters.node->children) {
    const YamlNode& named = node.kind == YamlNode::Kind::map ? node.children.front() : node;
    places.push_back(place_of(named, named.key_mark));
  }
  return places;
}

}  // namespace

std::optional<DropPolicy> read_drop_policy(const YamlNode& node, Report& report) {
  const auto policy = read_choice_or_auto<DropPolicy>(node, report);
  return policy ? std::optional(policy->value_or(DropPolicy::block)) : std::nullopt;
}

bool read_camera(const YamlNode& node, GivenCamera& camera, Report& report) {
  // So that a missing source is not reported as well.
  if (node.kind != YamlNode::Kind::map || !node.problem.empty()) camera.at("source").node = &node;
  return read_keys(node, camera, report);
}

GivenCamera merge(const GivenCamera& own, const GivenCamera& defaults) {
  GivenCamera merged = own;
  inherit(merged, merged.value, defaults, defaults.value,
          [](const KeyInfo& key) { return key.path != "encode" && key.section() != "encode"; });
  inherit_encode(merged, merged.value, defaults, defaults.value);
  if (own["outputs"].node == nullptr) merged.outputs = defaults.outputs;
  std::string& codec = merged.value.encode.codec;
  const bool automatic = is_auto(merged, merged.value.encode);
  if (automatic) codec = EncoderConfig().codec;
  for (GivenOutput& output : merged.outputs) inherit_encode(output, output.value, merged, merged.value);
  if (automatic && is_plain(merged)) codec = "auto";
  return merged;
}

CameraConfig to_config(const GivenCamera& camera) {
  CameraConfig config = camera.value;
  config.name = camera.node->key;
  settle_source(camera, config);
  settle_stream(camera, config);
  for (const GivenOutput& output : camera.outputs) settle_stream(output, config.outputs.emplace_back(output.value));
  if (is_automatic(camera["drop_policy"]))
    config.drop_policy = config.mosaic || is_live(config.source.url) ? DropPolicy::drop : DropPolicy::block;
  return config;
}

GpuPlaces gpu_places(const GivenCamera& camera) {
  GpuPlaces places{place_of(camera["gpu"]),
                   place_of(camera["decode.gpu"]),
                   place_of(camera["ipc_memory"]),
                   place_of(camera["encode.encoder"]),
                   {},
                   place_of(camera["placement.decode"]),
                   place_of(camera["placement.filter"]),
                   place_of(camera["placement.encode"]),
                   place_of(camera["placement.tiles"]),
                   place_of(camera["source"]),
                   places_of_filters(camera["filters"])};
  for (const GivenOutput& output : camera.outputs) {
    places.output_encoders.push_back(place_of(output["encode.encoder"]));
    places.output_filters.push_back(places_of_filters(output["filters"]));
  }
  return places;
}

// What a GPU decodes, only a GPU's worker can read in time: the CPU never waits for a GPU.
void check_decode_gpus(const std::vector<GivenCamera>& cameras, Report& report) {
  std::set<const YamlNode*> reported;
  for (const GivenCamera& camera : cameras) {
    const std::string& decode_gpu = camera.value.decode_gpu;
    const bool elsewhere = decode_gpu != "auto" && decode_gpu != "cpu";
    const YamlNode* node = camera["decode.gpu"].node;
    if (camera.value.gpu != "cpu" || !elsewhere || !reported.insert(node).second) continue;
    report.at(*node, "expected auto or cpu, since the camera runs on the CPU (gpu: cpu), got " + shown(*node));
  }
}

// A stream that needs fewer slots would run; but it shows only at run time what it needs.
void check_rings(const std::vector<GivenCamera>& cameras, Report& report) {
  std::set<const YamlNode*> reported;
  for (const GivenCamera& camera : cameras) {
    const CameraConfig& config = camera.value;
    const std::size_t tiles = config.placement ? config.placement->tiles.size() : 0;
    const auto readers = static_cast<unsigned>(std::max<std::size_t>(tiles, 1));
    const unsigned slots =
        ring_slots(most_slots_kept(config.decode_threads), static_cast<unsigned>(config.queue_size), readers);
    const Origin& queue = camera["queue_size"];
    const YamlNode* node = queue.node != nullptr ? queue.node : camera["decode.threads"].node;
    if (slots <= max_ring_slots || node == nullptr || !reported.insert(node).second) continue;
    report.at(*node,
              fmt::format("the frames of camera '{}' would take a ring of up to {} slots, and a ring has at most "
                          "{}: lower queue_size (now {}) or decode.threads (now {})",
                          camera.node->key, slots, max_ring_slots, config.queue_size, config.decode_threads));
  }
}

}  // namespace campipe
