// What the tables in docs/ promise of metrics, report, events, status and calls, and what a real rig was seen to make.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/integration/described_api.h"
#include "tests/integration/rig_run.h"
#include "tests/paths.h"

namespace campipe::test {

using Row = std::vector<std::string>;  // a table's cells

inline Row cells_of(const std::string& line) {
  Row cells;
  for (std::size_t at = 1; at < line.size();) {
    const std::size_t end = std::min(line.find('|', at), line.size());
    cells.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return cells;
}

// Of the tables behind `begin`, up to the next line that starts with `end`. Without their heads.
inline std::vector<Row> rows_behind(const std::string& page, const std::string& begin, const std::string& end = "#") {
  std::istringstream text(read_text(std::filesystem::path(source_folder) / "docs" / page));
  std::vector<Row> rows;
  std::string line;
  while (std::getline(text, line) && !line.starts_with(begin)) {
  }
  while (std::getline(text, line) && !line.starts_with(end)) {
    if (line.starts_with("|---") && !rows.empty()) rows.pop_back();
    if (line.starts_with("| ")) rows.push_back(cells_of(line));
  }
  if (rows.empty()) throw Error("docs/" + page + " has no table behind '" + begin + "'");
  return rows;
}

// What stands in code font.
inline std::vector<std::string> code_in(const std::string& text) {
  std::vector<std::string> found;
  static const std::regex form("`([^`]+)`");
  for (std::sregex_iterator at(text.begin(), text.end(), form), end; at != end; ++at) found.push_back((*at)[1]);
  return found;
}

inline Names words_in(const std::string& text) {
  Names words;
  for (const std::string& code : code_in(text)) {
    if (code.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == std::string::npos) words.insert(code);
  }
  return words;
}

// --- metrics -----------------------------------------------------------------------------------------------------

// Of one metric: its labels, each with its values, where those are listed or seen.
using Labels = std::map<std::string, Names>;
struct Metric {
  bool is_histogram = false;
  Labels labels = {};
};
using Metrics = std::map<std::string, Metric>;

// "`camera`, `stage`: decoded, encoded"
inline Labels labels_in(const std::string& cell) {
  Labels labels;
  static const std::regex form("`(\\w+)`(?:: ([\\w, ]+))?");
  for (std::sregex_iterator at(cell.begin(), cell.end(), form), end; at != end; ++at) {
    Names& values = labels[(*at)[1]];
    std::istringstream list((*at)[2]);
    for (std::string value; list >> value;) values.insert(value.substr(0, value.find(',')));
  }
  return labels;
}

inline Metrics documented_metrics() {
  Metrics metrics;
  for (const Row& row : rows_behind("operations.md", "| metric |")) {
    const bool is_histogram = row.at(0).find("(histogram)") != std::string::npos;
    for (const std::string& name : code_in(row.at(0))) metrics[name] = {is_histogram, labels_in(row.at(1))};
  }
  for (const Row& row : rows_behind("operations.md", "## Counters")) {
    Labels& labels = metrics[code_in(row.at(1)).at(0)].labels;
    for (auto& [label, values] : labels_in(row.at(2))) labels[label].merge(values);
  }
  return metrics;
}

// Adds what Prometheus gets: names and types from the heads, labels from the lines.
inline void see_metrics(const std::string& text, Metrics& seen) {
  static const std::regex head("# TYPE (\\w+) (\\w+)"), label("(\\w+)=\"([^\"]*)\"");
  std::istringstream lines(text);
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    if (std::smatch found; std::regex_match(line, found, head)) {
      name = found[1];
      seen[name].is_histogram = found[2] == "histogram";
    }
    if (line.starts_with("#")) continue;
    EXPECT_TRUE(line.starts_with(name)) << line << " has no head of its own";
    for (std::sregex_iterator at(line.begin(), line.end(), label), end; at != end; ++at) {
      if (seen[name].is_histogram && (*at)[1] == "le") continue;  // Prometheus's own
      seen[name].labels[(*at)[1]].insert((*at)[2]);
    }
  }
}

// "campipe_viewers{form=rtsp}", for each name, label and value: of labels without listed values, none.
inline Names parts_of(const Metrics& metrics, const Metrics& documented) {
  Names parts;
  for (const auto& [name, metric] : metrics) {
    parts.insert(name + (metric.is_histogram ? " (histogram)" : ""));
    for (const auto& [label, values] : metric.labels) {
      parts.insert(name + "{" + label + "}");
      const auto row = documented.find(name);
      const bool are_listed =
          row != documented.end() && row->second.labels.contains(label) && !row->second.labels.at(label).empty();
      for (const std::string& value : values) {
        if (are_listed) parts.insert(name + "{" + label + "=" + value + "}");
      }
    }
  }
  return parts;
}

// --- the report --------------------------------------------------------------------------------------------------

// What names stand below; the document has words in capitals there.
inline const std::map<std::string, std::string> placeholders{
    {"cameras", "NAME"}, {"outputs", "OUTPUT"}, {"dropped", "CAUSE"}, {"push", "URL"}, {"stages_ms", "STAGE"}};

// Adds the keys of `value`, which is that of `key` and lies at `path`, as the document writes them.
inline void see_report(const nlohmann::json& value, const std::string& key, const std::string& path, Names& keys) {
  if (value.is_array()) {
    for (const nlohmann::json& item : value) see_report(item, key, path + "[]", keys);
    return;
  }
  if (!value.is_object()) {
    keys.insert(path);
    return;
  }
  const auto placeholder = placeholders.find(key);
  for (const auto& [name, child] : value.items()) {
    const std::string below = placeholder == placeholders.end() ? name : placeholder->second;
    const std::string here = path + (path.empty() || path == "." ? "" : ".") + below;
    if (key == "cameras") {
      see_report(child, "", ".", keys);
    } else if (key == "outputs") {
      keys.insert(here);
      see_report(child, "", ".", keys);  // the same keys as those of a camera
    } else {
      see_report(child, name, here, keys);
    }
  }
}

inline Names documented_report() {
  Names keys;
  for (const Row& row : rows_behind("operations.md", "## The report")) {
    for (const std::string& key : code_in(row.at(0))) keys.insert(key);
  }
  for (const Row& row : rows_behind("operations.md", "## Counters")) keys.insert(code_in(row.at(0)).at(0));
  return keys;
}

// --- the events --------------------------------------------------------------------------------------------------

// "motion_begin", and "motion_begin.score" of each key of its lines.
inline void see_events(const std::filesystem::path& file, Names& parts) {
  std::istringstream lines(read_text(file));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
    if (!event.is_object()) continue;  // it is just being written
    const std::string kind = event.at("event");
    parts.insert(kind);
    for (const auto& [key, value] : event.items()) parts.insert(kind + "." + key);
  }
}

inline Names documented_events() {
  Names keys, kinds, parts;
  for (const Row& row : rows_behind("operations.md", "**Events.**", "**")) {
    keys.merge(words_in(row.at(0)));
    if (words_in(row.at(0)).contains("event")) kinds = words_in(row.at(1));
  }
  for (const std::string& kind : kinds) {
    parts.insert(kind);
    for (const std::string& key : keys) parts.insert(kind + "." + key);
  }
  return parts;
}

// --- the status --------------------------------------------------------------------------------------------------

// What may be told of a field in its row: the keys and listed values below it.
inline Names words_below(const DescribedApi& api, const nlohmann::json& given) {
  Names words;
  const nlohmann::json& schema = api.resolve(given);
  for (const auto& value : schema.value("enum", nlohmann::json::array())) words.insert(value.get<std::string>());
  const nlohmann::json properties = schema.value("properties", nlohmann::json::object());
  for (const auto& [key, child] : properties.items()) {
    words.insert(key);
    if (!child.contains("$ref")) words.merge(words_below(api, child));
  }
  const nlohmann::json items = schema.value("items", schema.value("additionalProperties", nlohmann::json()));
  if (items.is_object() && !items.contains("$ref")) words.merge(words_below(api, items));
  return words;
}

// What counters are called, "corrupt_packets" of ".source.corrupt_packets": they have a table for themselves.
inline Names counter_names() {
  Names names;
  for (const Row& row : rows_behind("operations.md", "## Counters")) {
    const std::string key = code_in(row.at(0)).at(0);
    names.insert(key.substr(key.rfind('.') + 1));
  }
  return names;
}

// The page describes the same fields as the schema, and of each the same that lies below it, as far as that is no
// counter.
inline void compare_fields(const DescribedApi& api, const std::string& schema, const std::vector<Row>& rows) {
  const nlohmann::json& properties = api.description().at("components").at("schemas").at(schema).at("properties");
  Names described;
  for (const auto& [key, property] : properties.items()) described.insert(key);
  Names documented;
  const Names counters = counter_names();
  for (const Row& row : rows) {
    const Names fields = words_in(row.at(0));
    documented.insert(fields.begin(), fields.end());
    Names known = fields;
    Names wanted;
    for (const std::string& field : fields) {
      if (properties.contains(field)) wanted.merge(words_below(api, properties.at(field)));
    }
    EXPECT_THAT(without(without(wanted, words_in(row.at(1))), counters), testing::IsEmpty())
        << "docs/api.md lacks these in" << row.at(0);
    known.insert(wanted.begin(), wanted.end());
    EXPECT_THAT(without(words_in(row.at(1)), known), testing::IsEmpty()) << "docs/api.md invents these in" << row.at(0);
  }
  EXPECT_EQ(without(documented, counters), without(described, counters)) << "docs/api.md, and openapi.json";
}

// "GET /cameras/{name}", without what follows "?".
inline Names documented_calls() {
  Names calls;
  for (const Row& row : rows_behind("api.md", "## Calls")) {
    for (const std::string& code : code_in(row.at(0))) {
      const auto space = code.find(' ');
      const std::string path = code.substr(space + 1, code.find('?') - space - 1);
      calls.insert(code.substr(0, space) + " /" + std::regex_replace(path, std::regex("NAME"), "{name}"));
    }
  }
  return calls;
}

inline Names described_calls(const DescribedApi& api) {
  Names calls;
  for (const std::string& part : api.promised()) {
    if (part.find(' ') != std::string::npos) calls.insert(part);
  }
  return calls;
}

}  // namespace campipe::test
