// Devices by their names; and `placement`: on which of them the stages of a camera's own stream run.
#include <algorithm>
#include <set>

#include "app/config/given.h"
#include "app/config/reader.h"
#include "app/config/remote_place.h"
#include "app/config/values.h"
#include "core/gpu.h"
#include "ipc/process_ids.h"
#include "stages/filters/tile_parts.h"

namespace campipe {
namespace {

constexpr unsigned most_cpu_workers = 15;
static_assert(most_cpu_workers == max_workers, "texts name the last one");
constexpr int most_tiles = 8;
constexpr std::string_view expected_gpu =
    "auto, cpu, or a GPU by its index or UUID, such as 0, GPU-5f0c… or MIG-5f0c… (campipe --devices lists them)";
constexpr std::string_view expected_place =
    "cpu, cpu:0 to cpu:14 (a worker on the CPU), or a GPU by its index or UUID (campipe --devices lists them)";
constexpr std::string_view expected_filter_place =
    "cpu, cpu:0 to cpu:14 (a worker on the CPU), a GPU by its index or UUID (campipe --devices lists them), or one of "
    "these on another node of the cluster, such as node-b/0 or node-b/cpu";

bool is_index(const std::string& text) {
  return !text.empty() && text.size() <= 3 && text.find_first_not_of("0123456789") == std::string::npos;
}

bool is_place(const std::string& text) {
  return text == "cpu" || cpu_worker_of(text) || is_index(text) || device_from_string(text);
}

std::optional<std::string> read_place(const YamlNode& node, Report& report) {
  auto text = read_text(node, expected_place, report);
  if (!text || is_place(*text)) return text;
  refuse(node, expected_place, report);
  return std::nullopt;
}

// Of the workers of another node nobody says which.
bool is_remote_place(const std::string& text) {
  const auto remote = remote_place(text);
  return remote && !cpu_worker_of(remote->place) && is_place(remote->place);
}

// Where filters may run.
std::optional<std::string> read_filter_place(const YamlNode& node, Report& report) {
  auto text = read_text(node, expected_filter_place, report);
  if (!text || is_place(*text) || is_remote_place(*text)) return text;
  refuse(node, expected_filter_place, report);
  return std::nullopt;
}

bool is_cpu(const std::string& place) {
  const auto remote = remote_place(place);
  return (remote ? remote->place : place).starts_with("cpu");
}

}  // namespace

std::optional<unsigned> cpu_worker_of(const std::string& place) {
  constexpr std::string_view prefix = "cpu:";
  if (!place.starts_with(prefix)) return std::nullopt;
  const std::string number = place.substr(prefix.size());
  if (!is_index(number)) return std::nullopt;
  const auto worker = static_cast<unsigned>(std::stoul(number));
  return worker < most_cpu_workers ? std::optional(worker) : std::nullopt;
}

std::optional<std::string> read_gpu_name(const YamlNode& node, Report& report) {
  auto text = read_text(node, expected_gpu, report);
  if (!text || *text == "auto" || is_index(*text) || device_from_string(*text)) return text;
  refuse(node, expected_gpu, report);
  return std::nullopt;
}

std::optional<std::string> read_stage_place(const YamlNode& node, Report& report) {
  const std::string* text = scalar_text(node);
  return text != nullptr && *text == "auto" ? std::optional(*text) : read_place(node, report);
}

std::optional<std::vector<std::string>> read_stage_places(const YamlNode& node, Report& report) {
  if (!is_list(node, report)) return std::nullopt;
  std::vector<std::string> places;
  for (const YamlNode& child : node.children) {
    if (auto place = read_filter_place(child, report)) places.push_back(std::move(*place));
  }
  if (node.children.empty()) report.at(node, "expected at least one place; without this key it is where it is encoded");
  if (places.empty() || places.size() != node.children.size()) return std::nullopt;
  return places;
}

std::optional<std::vector<std::string>> read_tiles(const YamlNode& node, Report& report) {
  if (const std::string* text = scalar_text(node)) {
    if (text->find_first_not_of("0123456789") != std::string::npos) {
      refuse(node, "a number of tiles from 1 to 8, or a list of places, such as [0, 1] or [cpu, cpu]", report);
      return std::nullopt;
    }
    const auto number = read_int(node, 1, most_tiles, report);
    return number ? std::optional(std::vector<std::string>(static_cast<std::size_t>(*number), "auto")) : std::nullopt;
  }
  if (!is_list(node, report)) return std::nullopt;
  const auto number = static_cast<int>(node.children.size());
  if (number < 1 || number > most_tiles) {
    report.at(node, "expected 1 to " + std::to_string(most_tiles) + " tiles, got " + std::to_string(number));
    return std::nullopt;
  }
  std::vector<std::string> places;
  for (const YamlNode& child : node.children) {
    const std::string* text = scalar_text(child);
    auto place = text != nullptr && *text == "auto" ? std::optional(*text) : read_filter_place(child, report);
    if (place) places.push_back(std::move(*place));
  }
  if (places.size() != node.children.size()) return std::nullopt;
  const auto is_remote = [](const std::string& place) { return remote_place(place).has_value(); };
  if (std::ranges::any_of(places, is_remote) && std::ranges::find(places, "auto") != places.end()) {
    report.at(node,
              "expected a place for each tile: `auto` cannot be beside places on other nodes, "
              "which have to know how many tiles there are");
    return std::nullopt;
  }
  const auto is_gpu = [&](const std::string& place) { return place != "auto" && !is_cpu(place); };
  if (std::ranges::any_of(places, is_cpu) && std::ranges::any_of(places, is_gpu)) {
    report.at(node, "expected GPUs alone, or places on the CPU alone");
    return std::nullopt;
  }
  return places;
}

namespace {

// They are made of the source's frames by the node that has the first filter, or the first tile.
template <typename RefuseAt>
void refuse_outputs_of_remote(const GivenCamera& camera, const RefuseAt& refuse_at) {
  const StagePlacement& placement = *camera.value.placement;
  const bool is_tiled = !placement.tiles.empty();
  const std::vector<std::string>& places = is_tiled ? placement.tiles : placement.filter;
  const bool encodes = std::ranges::any_of(
      camera.outputs, [](const Given<OutputConfig>& output) { return !is_copy(output.value.encode); });
  if (!encodes || places.empty() || !remote_place(places.front())) return;
  refuse_at(camera[is_tiled ? "placement.tiles" : "placement.filter"],
            "camera '" + camera.node->key + "' has `outputs` that are encoded: they are made where its first " +
                (is_tiled ? "tile" : "filter") + " runs, which therefore has to be on the camera's own node");
}

}  // namespace

// What stands in `defaults` is every camera's, and wrong only once.
void check_placements(const std::vector<GivenCamera>& cameras, Report& report) {
  std::set<const YamlNode*> reported;
  const auto refuse_at = [&](const Origin& key, const std::string& why) {
    if (key.node != nullptr && reported.insert(key.node).second) report.at(*key.node, why);
  };
  for (const GivenCamera& camera : cameras) {
    const auto& placement = camera.value.placement;
    if (!placement) continue;
    if (is_copy(camera.value.encode)) {
      refuse_at(camera["placement"],
                "is for a camera's own stream that is encoded, and camera '" + camera.node->key + "' has codec `copy`");
      continue;
    }
    const Origin& given = camera["filters"];
    if (!placement->tiles.empty() && (given.node == nullptr || given.good) && camera["placement.tiles"].good) {
      const std::string refused = usual_tiles(camera.value.filters).refused;
      if (!refused.empty()) refuse_at(camera["placement.tiles"], "camera '" + camera.node->key + "': " + refused);
    }
    refuse_outputs_of_remote(camera, refuse_at);
    const std::size_t filters = camera.value.filters.size();
    const std::size_t places = placement->filter.size();
    if (!camera["filters"].good || !camera["placement.filter"].good || places <= 1 || places == filters) continue;
    refuse_at(camera["placement.filter"], "expected one place for all filters, or one for each of the " +
                                              std::to_string(filters) + " that camera '" + camera.node->key +
                                              "' has, got " + std::to_string(places));
  }
}

}  // namespace campipe
