// docs/configuration.md says all that the loader knows, and nothing else.
#include "app/config/config.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "app/config/key_table.h"
#include "app/config/password_hash.h"
#include "app/config/units.h"
#include "core/media_limits.h"
#include "stages/filters/filter.h"
#include "stages/sources/accepted_media.h"
#include "tests/paths.h"
#include "tests/unit/config_test_support.h"

namespace campipe {
namespace CAMPIPE_FILE {

using ::testing::HasSubstr;

// Found before the tests change the folder.
const std::filesystem::path page = std::filesystem::path(test::source_folder) / "docs/configuration.md";

std::string page_text() {
  std::ifstream file(page);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// "tls of the servers" is called "`tls` of the servers".
std::string heading_of(const std::string& section) {
  if (section.empty()) return "## The file";
  const auto end = std::min(section.find(' '), section.size());
  return "## `" + section.substr(0, end) + "`" + section.substr(end);
}

std::string row(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += (cell.empty() ? "" : " " + cell) + " |";
  return text + "\n";
}

std::string row_of(const KeyInfo& key) {
  return row({"`" + std::string(key.name()) + "`", key.type, std::string(key.text.unit), key.range, key.fallback,
              documented_meaning(key)});
}

std::string row_of(const ParameterInfo& parameter) {
  const std::string type = parameter.multiple > 1 ? "multiple of " + number_text(parameter.multiple)
                           : parameter.odd        ? "odd number"
                           : parameter.whole      ? "integer"
                                                  : "number";
  return row({"`" + std::string(parameter.name) + "`", type, std::string(parameter.unit),
              number_text(parameter.min) + " to " + number_text(parameter.max),
              parameter.fallback ? number_text(*parameter.fallback) : "required", std::string(parameter.description)});
}

// heading → the table below it
std::map<std::string, std::string> described_tables() {
  std::map<std::string, std::string> tables;
  for (const ConfigSection& section : config_sections()) {
    std::string& table = tables[heading_of(section.name)];
    for (const KeyInfo& key : section.keys) table += row_of(key);
  }
  for (const FilterInfo& filter : filter_registry()) {
    std::string& table = tables["### `" + std::string(filter.name) + "`"];
    for (const ParameterInfo& parameter : filter.parameters) table += row_of(parameter);
  }
  return tables;
}

// The page with each table of keys as it is described.
std::string with_described_tables(const std::string& text) {
  auto tables = described_tables();
  std::istringstream lines(text);
  std::string made;
  std::string heading;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("##")) heading = line;
    if (line.starts_with("| `")) continue;
    made += line + "\n";
    if (!line.starts_with("|---") || tables[heading].empty()) continue;
    made += tables[heading];
    tables.erase(heading);
  }
  for (const auto& [missing, table] : tables) {
    if (!table.empty())
      made +=
          "\n" + missing + "\n\n| Key | Type | Unit | Range | Default | Meaning |\n|---|---|---|---|---|---|\n" + table;
  }
  return made;
}

// The example that comes behind `place`.
std::string example_behind(const std::string& place) {
  const std::string text = page_text();
  const auto begin = text.find("```yaml\n", text.find(place)) + 8;
  return text.substr(begin, text.find("```", begin) - begin);
}

// tools/config-tables writes them.
TEST(ConfigurationPage, HasTheTablesOfTheDescriptions) {
  const std::string made = with_described_tables(page_text());
  if (std::getenv("CAMPIPE_WRITE_TABLES") != nullptr) std::ofstream(page) << made;
  EXPECT_EQ(page_text(), made) << "run tools/config-tables";
}

TEST_F(ConfigTest, TheExampleOfThePageLoads) {
  ::unsetenv("BELT_RATE");
  const auto all = cameras(example_behind("A complete file:"));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].name, "belt");
  EXPECT_THAT(all[1].source.url, HasSubstr("rate=30"));
}

TEST_F(ConfigTest, TheRigOfRealCamerasLoads) {
  ::setenv("DOCK_PASSWORD", "p@ss", 1);
  ::setenv("GATE_PASSWORD", "secret", 1);
  std::filesystem::create_directory("certificates");
  write("certificates/gate.pem", "");
  const auto all = cameras(example_behind("A rig of real cameras:"));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(is_copy(all[0].encode));
  EXPECT_EQ(all[0].outputs.at(0).name, "small");
  EXPECT_EQ(all[1].record->when, RecordWhen::motion);
}

TEST_F(ConfigTest, TheServersExampleLoads) {
  ::setenv("GATEHOUSE_HASH", hash_password("secret").c_str(), 1);
  ::setenv("GATEHOUSE_SECRET", "for-digest", 1);
  std::filesystem::create_directory("certificates");
  make_certificate("certificates/rig.pem", "certificates/rig.key");
  const LoadedConfig loaded = load("cameras: {gate: {source: '" + pattern + "'}}\n" + example_behind("## Servers"));
  EXPECT_EQ(formatted(loaded), std::vector<std::string>());
  EXPECT_EQ(loaded.rig.server.users.at(1).cameras, std::vector<std::string>{"gate"});
}

TEST_F(ConfigTest, TheMosaicsExampleLoads) {
  const auto all = cameras("cameras: {gate: {source: '" + pattern + "'}}\n" + example_behind("## `mosaics`"));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].name, "overview");
  EXPECT_EQ(all[2].mosaic->rate, 10);
}

TEST_F(ConfigTest, TheGroupsExampleLoads) {
  const std::string two = "cameras: {left: {source: '" + pattern + "'}, right: {source: '" + pattern + "'}}\n";
  const auto all = cameras(two + example_behind("## `sync_groups`"));
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].group->rate, 25);
}

TEST_F(ConfigTest, TheOverlaysExampleLoads) {
  write("rig.api.yaml", example_behind("## Changes through the API"));
  const std::string source = "{source: '" + pattern + "'}";
  const auto all = cameras("cameras: {gate: " + source + ", belt: " + source + ", dock: " + source + "}\n");
  ASSERT_EQ(all.size(), 3U);
  EXPECT_FALSE(all[0].enabled);
  EXPECT_EQ(all[1].source.url, "rtsp://10.0.0.17/stream1");
  EXPECT_EQ(all[2].name, "overview");
  EXPECT_EQ(all[2].mosaic->rate, 10);
}

TEST(ConfigDocs, ListWhatIsRead) {
  const std::string text = page_text();
  const auto expect_listed = [&](const std::string& name) { EXPECT_THAT(text, HasSubstr("`" + name + "`")); };
  for (const auto name : formats_of_files()) expect_listed(std::string(name));
  for (const auto name : formats_of_streams()) expect_listed(std::string(name));
  for (const AVCodecID codec : accepted_video()) expect_listed(avcodec_get_name(codec));
  for (const AVCodecID codec : accepted_audio()) expect_listed(avcodec_get_name(codec));
  EXPECT_THAT(text, HasSubstr(std::to_string(most_pixels)));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
