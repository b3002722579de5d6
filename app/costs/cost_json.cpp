// The text of the cache file. Whoever wrote it: each value is checked before it is believed, and one that cannot be
// makes all of the file worthless.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/costs/cost_cache.h"
#include "core/error.h"
#include "core/shallow_json.h"

namespace campipe {
namespace {

using nlohmann::json;

constexpr int file_format = 1;
constexpr int deepest = 12;
constexpr std::size_t longest_name = 64;
constexpr std::size_t longest_text = 200;
constexpr std::size_t most_devices = 64;
constexpr std::size_t most_work = 400;
constexpr std::size_t most_curves = 64;
constexpr std::size_t most_points = 64;
constexpr double least_megapixels = 1e-4;
constexpr double most_megapixels = 300;
constexpr double least_us = 1e-3;
constexpr double most_us = 1e9;  // a quarter of an hour for a frame
constexpr double most_parameter = 1e6;

void require(bool holds, const std::string& where, const std::string& what) {
  if (!holds) throw Error(where + ": " + what);
}

const json& member(const json& of, const char* name, const std::string& where) {
  require(of.is_object(), where, "not an object");
  const auto found = of.find(name);
  require(found != of.end(), where, fmt::format("'{}' is missing", name));
  return *found;
}

const json& list_in(const json& of, const char* name, std::size_t most, const std::string& where) {
  const json& list = member(of, name, where);
  require(list.is_array(), where, fmt::format("'{}' is not a list", name));
  require(list.size() <= most, where, fmt::format("'{}' has {} entries, more than {}", name, list.size(), most));
  return list;
}

// Greater than `above`, which excludes what is no number too.
double number_in(const json& of, const char* name, double above, double most, const std::string& where) {
  const json& value = member(of, name, where);
  require(value.is_number(), where, fmt::format("'{}' is not a number", name));
  const double number = value.get<double>();
  require(std::isfinite(number) && number > above && number <= most, where,
          fmt::format("'{}' cannot be {}", name, number));
  return number;
}

std::string text_in(const json& of, const char* name, std::size_t longest, const std::string& where) {
  const json& value = member(of, name, where);
  require(value.is_string(), where, fmt::format("'{}' is not a string", name));
  const auto& text = value.get_ref<const std::string&>();
  const bool plain = std::ranges::all_of(text, [](unsigned char c) { return c >= ' ' && c != 0x7f; });
  require(text.size() <= longest && plain, where, fmt::format("'{}' is too long, or no plain text", name));
  return text;
}

CostCurve curve_of(const json& from, double above, const std::string& where) {
  CostCurve curve;
  curve.parameter = number_in(from, "parameter", above, most_parameter, where);
  for (const json& entry : list_in(from, "points", most_points, where)) {
    const double before = curve.points.empty() ? least_megapixels : curve.points.back().megapixels;
    const double megapixels = number_in(entry, "megapixels", before, most_megapixels, where);
    curve.points.push_back({megapixels, number_in(entry, "us", least_us, most_us, where)});
  }
  require(!curve.points.empty(), where, "'points' is empty");
  return curve;
}

WorkCost work_of(const json& from, const std::string& device) {
  WorkCost cost;
  cost.work = text_in(from, "work", longest_name, device);
  require(!cost.work.empty(), device, "work without a name");
  const std::string where = device + ", " + cost.work;
  const json& merges = member(from, "merges", where);
  require(merges.is_boolean(), where, "'merges' is not a boolean");
  cost.merges = merges.get<bool>();
  for (const json& entry : list_in(from, "curves", most_curves, where)) {
    const double above = cost.curves.empty() ? -1 : cost.curves.back().parameter;
    cost.curves.push_back(curve_of(entry, above, where));
    require(cost.curves.back().parameter >= 0, where, "'parameter' is negative");
  }
  require(!cost.curves.empty(), where, "'curves' is empty");
  return cost;
}

DeviceCosts device_of(const json& from) {
  DeviceCosts costs;
  costs.key.device = text_in(from, "device", longest_name, "a device");
  const std::string where = costs.key.device.empty() ? "a device" : costs.key.device;
  require(!costs.key.device.empty(), where, "'device' is empty");
  costs.key.name = text_in(from, "name", longest_text, where);
  costs.key.driver = text_in(from, "driver", longest_text, where);
  costs.key.version = text_in(from, "version", longest_name, where);
  costs.measured = text_in(from, "measured", longest_name, where);
  require(!costs.measured.empty(), where, "'measured' is empty");
  for (const json& entry : list_in(from, "work", most_work, where)) {
    WorkCost cost = work_of(entry, where);
    require(costs.find(cost.work) == nullptr, where, cost.work + " is there twice");
    costs.work.push_back(std::move(cost));
  }
  require(!costs.work.empty(), where, "'work' is empty");
  return costs;
}

json to_json(const WorkCost& cost) {
  json curves = json::array();
  for (const CostCurve& curve : cost.curves) {
    json points = json::array();
    for (const CostPoint& point : curve.points) points.push_back({{"megapixels", point.megapixels}, {"us", point.us}});
    curves.push_back({{"parameter", curve.parameter}, {"points", points}});
  }
  return {{"work", cost.work}, {"merges", cost.merges}, {"curves", curves}};
}

}  // namespace

CostCache parse_costs(std::string_view text, const std::string& name) {
  CostCache cache;
  try {
    const json all = parse_shallow(text, deepest);
    if (all.is_discarded()) throw Error("it is no JSON as campipe writes it");
    const json& format = member(all, "format", "the file");
    require(format.is_number_integer() && format == file_format, "the file", "it is of another version of campipe");
    for (const json& entry : list_in(all, "devices", most_devices, "the file")) {
      cache.devices.push_back(device_of(entry));
      const CostKey& key = cache.devices.back().key;
      const auto same = std::ranges::count_if(cache.devices, [&](const DeviceCosts& d) { return d.key == key; });
      require(same == 1, key.device, "it is there twice");
    }
  } catch (const std::exception& error) {
    cache = {{}, name + " is not believed: " + error.what()};
  }
  return cache;
}

std::string costs_text(const std::vector<DeviceCosts>& devices) {
  json list = json::array();
  for (const DeviceCosts& costs : devices) {
    json work = json::array();
    for (const WorkCost& cost : costs.work) work.push_back(to_json(cost));
    list.push_back({{"device", costs.key.device},
                    {"name", costs.key.name},
                    {"driver", costs.key.driver},
                    {"version", costs.key.version},
                    {"measured", costs.measured},
                    {"work", work}});
  }
  return json{{"format", file_format}, {"devices", list}}.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace campipe
