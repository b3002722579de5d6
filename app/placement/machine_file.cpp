#include "app/placement/machine_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "app/config/memory_names.h"
#include "core/cut_text.h"
#include "core/gpu.h"
#include "core/printable.h"
#include "core/shallow_json.h"

namespace campipe {
namespace {

using nlohmann::json;

constexpr std::size_t largest_file = 4 << 20;
constexpr std::size_t most_mistakes = 20;
constexpr std::size_t most_gpus = 64;
constexpr std::size_t most_cpus = 8192;
constexpr std::size_t most_codecs = 64;  // of each GPU
constexpr std::size_t longest_text = 1024;
constexpr std::size_t longest_shown = 60;
constexpr double most_memory = 1e18;  // bytes
constexpr double highest_index = 999;

std::string shown(const json& value) {
  const std::string text = printable(value.dump(-1, ' ', false, json::error_handler_t::replace));
  return text.size() > longest_shown ? text.substr(0, cut_at(text, longest_shown)) + "…" : text;
}

// An object of the file, and the way to it.
struct Part {
  const json* object = nullptr;
  std::string path;
  [[nodiscard]] std::string at(const std::string& key) const { return path.empty() ? key : path + "." + key; }
};

class MachineReader {
 public:
  Machine read(const json& root) {
    Machine machine;
    if (!root.is_object()) {
      refuse("the file", "what campipe --devices --json prints", root);
      return machine;
    }
    const Part whole{&root, ""};
    if (const auto cpu = object_at(whole, "cpu", true)) machine.cpus = numbers_at(*cpu, "cpus", true);
    if (const auto limits = object_at(whole, "limits", false)) read_limits(*limits, machine.limits);
    Devices& devices = machine.devices;
    devices.problem = text_at(whole, "problem", false);
    for (const Part& gpu : objects_at(whole, "gpus", most_gpus, true)) read_gpu(gpu, devices);
    for (const Part& pair : objects_at(whole, "pairs", most_gpus * most_gpus, false)) read_pair(pair, devices);
    devices.driver = !devices.gpus.empty();
    if (devices.gpus.empty() && devices.problem.empty()) devices.problem = "that machine has none";
    return machine;
  }

  std::vector<std::string> take_mistakes() {
    if (more_ > 0) mistakes_.push_back(fmt::format("and {} more mistakes", more_));
    return std::move(mistakes_);
  }

 private:
  void add(std::string mistake) {
    mistakes_.size() < most_mistakes ? mistakes_.push_back(std::move(mistake)) : void(++more_);
  }
  void refuse(const std::string& path, const std::string& expected, const json& got) {
    add(fmt::format("{}: expected {}, got {}", path, expected, shown(got)));
  }

  // Null: it is left out, which is a mistake where it is `needed`. What is null in JSON is left out.
  const json* find(const Part& part, const std::string& key, bool needed) {
    const auto found = part.object->find(key);
    if (found != part.object->end() && !found->is_null()) return &*found;
    if (needed) add(part.at(key) + ": it is missing");
    return nullptr;
  }

  std::optional<Part> object_at(const Part& part, const std::string& key, bool needed) {
    const json* const value = find(part, key, needed);
    if (value == nullptr) return std::nullopt;
    if (value->is_object()) return Part{value, part.at(key)};
    refuse(part.at(key), "an object", *value);
    return std::nullopt;
  }

  std::vector<Part> objects_at(const Part& part, const std::string& key, std::size_t most, bool needed) {
    std::vector<Part> objects;
    const json* const list = find(part, key, needed);
    if (list == nullptr) return objects;
    if (!list->is_array() || list->size() > most) {
      refuse(part.at(key), fmt::format("a list of at most {}", most), *list);
      return objects;
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string path = fmt::format("{}[{}]", part.at(key), i);
      const json& value = (*list)[i];
      value.is_object() ? objects.push_back({&value, path}) : refuse(path, "an object", value);
    }
    return objects;
  }

  std::string text_at(const Part& part, const std::string& key, bool needed) {
    const json* const value = find(part, key, needed);
    if (value == nullptr) return {};
    if (value->is_string() && value->get_ref<const std::string&>().size() <= longest_text)
      return printable(value->get_ref<const std::string&>());
    refuse(part.at(key), fmt::format("a string of at most {} bytes", longest_text), *value);
    return {};
  }

  bool flag_at(const Part& part, const std::string& key, bool otherwise) {
    const json* const value = find(part, key, false);
    if (value == nullptr) return otherwise;
    if (value->is_boolean()) return value->get<bool>();
    refuse(part.at(key), "true or false", *value);
    return otherwise;
  }

  std::optional<double> real_at(const Part& part, const std::string& key, double least, double most, bool needed) {
    const json* const value = find(part, key, needed);
    if (value == nullptr) return std::nullopt;
    const double number = value->is_number() ? value->get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (number >= least && number <= most) return number;
    refuse(part.at(key), fmt::format("a number from {} to {:.0f}", least, most), *value);
    return std::nullopt;
  }

  std::optional<std::int64_t> whole_at(const Part& part, const std::string& key, double least, double most,
                                       bool needed = false) {
    const auto number = real_at(part, key, least, most, needed);
    if (!number) return std::nullopt;
    const auto whole = static_cast<std::int64_t>(*number);
    if (static_cast<double>(whole) == *number) return whole;
    refuse(part.at(key), "an integer", part.object->at(key));
    return std::nullopt;
  }

  // Reads a list of numbers of cores.
  std::vector<unsigned> numbers_at(const Part& part, const std::string& key, bool needed) {
    const json* const list = find(part, key, needed);
    if (list == nullptr) return {};
    const auto is_number = [](const json& value) { return value.is_number_unsigned() && value < most_cpus; };
    const bool is_good = list->is_array() && (!needed || !list->empty()) && list->size() <= most_cpus &&
                         std::all_of(list->begin(), list->end(), is_number);
    std::set<unsigned> numbers;
    if (is_good) numbers = list->get<std::set<unsigned>>();
    if (!is_good || numbers.size() != list->size())
      refuse(part.at(key), fmt::format("a list of numbers of cores, from 0 to {}, each once", most_cpus - 1), *list);
    return {numbers.begin(), numbers.end()};
  }

  std::optional<Device> device_at(const Part& part, const std::string& key) {
    const json* const value = find(part, key, true);
    if (value == nullptr) return std::nullopt;
    const auto device = value->is_string() ? device_from_string(value->get_ref<const std::string&>()) : std::nullopt;
    if (device && on_gpu(*device)) return device;
    refuse(part.at(key), "the UUID of a GPU, such as GPU-5f0c…", *value);
    return std::nullopt;
  }

  void read_limits(const Part& part, MachineLimits& limits) {
    limits.descriptors = bytes_at(part, "descriptors").value_or(0);
    limits.locked_memory = bytes_at(part, "locked_memory");
    limits.memory = bytes_at(part, "memory").value_or(0);
    limits.cores = real_at(part, "cgroup_cores", 0, most_cpus, false);
    limits.cgroup_memory = bytes_at(part, "cgroup_memory");
  }

  std::optional<std::uint64_t> bytes_at(const Part& part, const std::string& key) {
    const auto number = whole_at(part, key, 0, most_memory);
    return number ? std::optional(static_cast<std::uint64_t>(*number)) : std::nullopt;
  }

  void read_gpu(const Part& part, Devices& devices) {
    const auto index = whole_at(part, "index", 0, highest_index, true);
    const auto device = device_at(part, "uuid");
    Gpu gpu;
    gpu.name = text_at(part, "name", false);
    gpu.problem = text_at(part, "reason", false);
    gpu.pci = text_at(part, "pci", false);
    gpu.memory_mib = bytes_at(part, "memory_mib").value_or(0);
    gpu.numa_node = static_cast<int>(whole_at(part, "numa_node", -1, highest_index).value_or(-1));
    gpu.cpus = numbers_at(part, "cpus", false);
    gpu.copy_engines = static_cast<int>(whole_at(part, "copy_engines", 0, highest_index).value_or(0));
    gpu.unified_addressing = flag_at(part, "unified_addressing", false);
    gpu.integrated = flag_at(part, "integrated", false);
    for (const Part& decoder : objects_at(part, "decoders", most_codecs, false)) {
      gpu.decoders.push_back({text_at(decoder, "codec", true), size_at(decoder, "max_width"),
                              size_at(decoder, "max_height"), problem_at(decoder)});
    }
    for (const Part& encoder : objects_at(part, "encoders", most_codecs, false))
      gpu.encoders.push_back({text_at(encoder, "name", true), text_at(encoder, "codec", true), problem_at(encoder)});
    if (!index || !device) return;
    gpu.index = static_cast<unsigned>(*index);
    gpu.device = *device;
    for (const Gpu& other : devices.gpus) {
      if (other.index == gpu.index) add(fmt::format("{}: {} is another GPU's", part.at("index"), gpu.index));
      if (other.device == gpu.device) add(fmt::format("{}: {} is another GPU's", part.at("uuid"), to_string(*device)));
    }
    devices.gpus.push_back(std::move(gpu));
  }

  unsigned size_at(const Part& part, const std::string& key) {
    constexpr double largest = 65536;
    return static_cast<unsigned>(whole_at(part, key, 0, largest).value_or(0));
  }

  // Why it does not work; empty: it does.
  std::string problem_at(const Part& part) {
    const std::string reason = text_at(part, "reason", false);
    return reason.empty() && !flag_at(part, "works", true) ? "it does not work there" : reason;
  }

  void read_pair(const Part& part, Devices& devices) {
    const auto from = device_at(part, "from");
    const auto to = device_at(part, "to");
    if (!from || !to) return;
    GpuPair pair{*from, *to, flag_at(part, "peer_access", false), text_at(part, "link", false), {}, {}};
    for (const auto& [key, device] : {std::pair("from", *from), std::pair("to", *to)}) {
      if (find_gpu(devices, device) == nullptr)
        add(fmt::format("{}: there is no GPU {} in the file", part.at(key), to_string(device)));
    }
    if (const auto sharing = object_at(part, "sharing", false)) read_sharing(*sharing, pair);
    devices.pairs.push_back(std::move(pair));
  }

  void read_sharing(const Part& part, GpuPair& pair) {
    constexpr double fastest = 1e6;  // GB/s
    for (const auto& [name, unused] : part.object->items()) {
      const auto kind = find_choice<MemoryKind>(name);
      if (!kind) continue;  // of a newer version
      const auto way = object_at(part, name, false);
      if (!way) continue;
      pair.sharing[*kind] = problem_at(*way);
      const auto copied = real_at(*way, "copied_gb_s", 0, fastest, false);
      if (copied) pair.rates[*kind] = {real_at(*way, "in_place_gb_s", 0, fastest, false).value_or(0), *copied};
    }
  }

  std::vector<std::string> mistakes_;
  std::size_t more_ = 0;
};

}  // namespace

MachineRead parse_machine(std::string_view text) {
  const json root = parse_shallow(text);
  if (root.is_discarded()) return {{}, {"it is no JSON, or is nested too deeply"}};
  MachineReader reader;
  Machine machine = reader.read(root);
  return {std::move(machine), reader.take_mistakes()};
}

MachineRead read_machine_file(const std::filesystem::path& file) {
  std::ifstream input(file, std::ios::binary);
  if (!input) return {{}, {std::string("it cannot be opened: ") + std::strerror(errno)}};
  std::string text(largest_file + 1, '\0');
  input.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (input.bad() || (!input && !input.eof())) return {{}, {"it cannot be read"}};
  text.resize(static_cast<std::size_t>(input.gcount()));
  if (text.size() > largest_file) return {{}, {"it is larger than 4 MiB"}};
  return parse_machine(text);
}

}  // namespace campipe
