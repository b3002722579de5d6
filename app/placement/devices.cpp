#include "app/placement/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "app/config/memory_names.h"
#include "core/error.h"
#include "core/gpu.h"

namespace campipe {
namespace {

using nlohmann::json;

Device device_of(const json& text) {
  const auto device = device_from_string(text.get<std::string>());
  if (!device) throw Error("no device: " + text.dump());
  return *device;
}

json to_json(const HardwareDecoder& decoder) {
  return {{"codec", decoder.codec},
          {"works", decoder.problem.empty()},
          {"reason", decoder.problem},
          {"max_width", decoder.max_width},
          {"max_height", decoder.max_height}};
}

HardwareDecoder decoder_from_json(const json& from) {
  return {from.at("codec"), from.at("max_width"), from.at("max_height"), from.at("reason")};
}

json to_json(const HardwareEncoder& encoder) {
  return {{"name", encoder.name},
          {"codec", encoder.codec},
          {"works", encoder.problem.empty()},
          {"reason", encoder.problem}};
}

HardwareEncoder encoder_from_json(const json& from) { return {from.at("name"), from.at("codec"), from.at("reason")}; }

json to_json(const Gpu& gpu) {
  json all{{"index", gpu.index},
           {"uuid", to_string(gpu.device)},
           {"name", gpu.name},
           {"reason", gpu.problem},
           {"pci", gpu.pci},
           {"memory_mib", gpu.memory_mib},
           {"numa_node", gpu.numa_node},
           {"cpus", gpu.cpus},
           {"copy_engines", gpu.copy_engines},
           {"unified_addressing", gpu.unified_addressing},
           {"integrated", gpu.integrated},
           {"decoders", json::array()},
           {"encoders", json::array()}};
  for (const HardwareDecoder& decoder : gpu.decoders) all["decoders"].push_back(to_json(decoder));
  for (const HardwareEncoder& encoder : gpu.encoders) all["encoders"].push_back(to_json(encoder));
  return all;
}

Gpu gpu_from_json(const json& from) {
  Gpu gpu;
  gpu.index = from.at("index");
  gpu.device = device_of(from.at("uuid"));
  gpu.name = from.at("name");
  gpu.problem = from.at("reason");
  gpu.pci = from.at("pci");
  gpu.memory_mib = from.at("memory_mib");
  gpu.numa_node = from.at("numa_node");
  gpu.cpus = from.at("cpus").get<std::vector<unsigned>>();
  gpu.copy_engines = from.at("copy_engines");
  gpu.unified_addressing = from.at("unified_addressing");
  gpu.integrated = from.value("integrated", false);  // nodes of older versions do not say it
  for (const json& decoder : from.at("decoders")) gpu.decoders.push_back(decoder_from_json(decoder));
  for (const json& encoder : from.at("encoders")) gpu.encoders.push_back(encoder_from_json(encoder));
  return gpu;
}

json to_json(const GpuPair& pair) {
  json sharing = json::object();
  for (const auto& [kind, problem] : pair.sharing) {
    json& of_kind = sharing[std::string(choice_name(kind))];
    of_kind = {{"works", problem.empty()}, {"reason", problem}};
    const auto rates = pair.rates.find(kind);
    if (rates == pair.rates.end()) continue;
    of_kind["in_place_gb_s"] = rates->second.in_place;
    of_kind["copied_gb_s"] = rates->second.copied;
  }
  return {{"from", to_string(pair.from)},
          {"to", to_string(pair.to)},
          {"peer_access", pair.peer_access},
          {"link", pair.link},
          {"sharing", sharing}};
}

GpuPair pair_from_json(const json& from) {
  GpuPair pair{device_of(from.at("from")), device_of(from.at("to")), from.at("peer_access"), from.at("link"), {}, {}};
  for (const auto& [name, result] : from.at("sharing").items()) {
    const auto kind = find_choice<MemoryKind>(name);
    if (!kind) throw Error("no kind of memory: " + name);
    pair.sharing[*kind] = result.at("reason");
    if (result.contains("copied_gb_s")) pair.rates[*kind] = {result.at("in_place_gb_s"), result.at("copied_gb_s")};
  }
  return pair;
}

}  // namespace

json to_json(const Devices& devices) {
  json all{{"driver", devices.driver}, {"problem", devices.problem}, {"gpus", json::array()}, {"pairs", json::array()}};
  for (const Gpu& gpu : devices.gpus) all["gpus"].push_back(to_json(gpu));
  for (const GpuPair& pair : devices.pairs) all["pairs"].push_back(to_json(pair));
  return all;
}

Devices devices_from_json(const json& from) {
  Devices devices;
  devices.driver = from.at("driver");
  devices.problem = from.at("problem");
  for (const json& gpu : from.at("gpus")) devices.gpus.push_back(gpu_from_json(gpu));
  for (const json& pair : from.at("pairs")) devices.pairs.push_back(pair_from_json(pair));
  return devices;
}

const Gpu* find_gpu(const Devices& devices, const Device& device) {
  const auto found = std::ranges::find(devices.gpus, device, &Gpu::device);
  return found == devices.gpus.end() ? nullptr : &*found;
}

std::optional<unsigned> gpu_index(const std::string& name) {
  unsigned index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool is_whole = error == std::errc() && end == name.data() + name.size();
  return is_whole && index != no_gpu_index ? std::optional(index) : std::nullopt;
}

const Gpu* find_gpu(const Devices& devices, const std::string& name) {
  if (const auto device = device_from_string(name)) return find_gpu(devices, *device);
  const auto index = gpu_index(name);
  if (!index) return nullptr;
  const auto found = std::ranges::find(devices.gpus, *index, &Gpu::index);
  return found == devices.gpus.end() ? nullptr : &*found;
}

const GpuPair* find_pair(const Devices& devices, const Device& from, const Device& to) {
  const auto found =
      std::ranges::find_if(devices.pairs, [&](const GpuPair& p) { return p.from == from && p.to == to; });
  return found == devices.pairs.end() ? nullptr : &*found;
}

std::string list_gpus(const Devices& devices) {
  std::string text;
  for (const Gpu& gpu : devices.gpus) {
    if (gpu.awaited) continue;
    text += fmt::format("{}{} ({}, {})", text.empty() ? "" : ", ", gpu.index, gpu.name, to_string(gpu.device));
  }
  return text;
}

std::string sharing_problem(const Devices& devices, const Device& from, const Device& to, MemoryKind kind) {
  const GpuPair* pair = find_pair(devices, from, to);
  const auto tried = pair != nullptr ? pair->sharing.find(kind) : std::map<MemoryKind, std::string>::const_iterator();
  return pair == nullptr || tried == pair->sharing.end() ? "it was not tried" : tried->second;
}

std::optional<double> read_rate(const Devices& devices, const Device& from, const Device& to, MemoryKind kind) {
  const GpuPair* pair = find_pair(devices, from, to);
  if (pair == nullptr) return std::nullopt;
  const auto rates = pair->rates.find(kind);
  if (rates == pair->rates.end()) return std::nullopt;
  return kind == MemoryKind::host ? rates->second.copied : rates->second.in_place;
}

std::string excluded_sharing(const Gpu& gpu, MemoryKind kind) {
  return gpu.integrated && kind == MemoryKind::cuda_legacy ? "an integrated GPU shares no memory by legacy IPC" : "";
}

MemoryKind best_sharing(const Devices& devices, const Device& from, const Device& to) {
  constexpr double clearly = 1.2;  // measurements of the same differ by less
  std::optional<MemoryKind> best;
  double best_rate = 0;
  for (const MemoryKind kind : {MemoryKind::cuda_vmm, MemoryKind::cuda_legacy, MemoryKind::host}) {
    if (!sharing_problem(devices, from, to, kind).empty()) continue;
    const double rate = read_rate(devices, from, to, kind).value_or(0);
    if (best && rate <= clearly * best_rate) continue;
    best = kind;
    best_rate = rate;
  }
  return best.value_or(MemoryKind::host);
}

}  // namespace campipe
