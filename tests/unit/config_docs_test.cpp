// docs/configuration.md says all that the loader knows, and nothing else.
#include "app/config/config.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "app/config/password_hash.h"
#include "app/config/settings.h"
#include "app/config/units.h"
#include "core/media_limits.h"
#include "stages/sources/accepted_media.h"
#include "tests/unit/config_test_support.h"

namespace campipe {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Found before the tests change the folder.
const std::filesystem::path page = std::filesystem::path(CAMPIPE_SOURCE_DIR) / "docs/configuration.md";

std::string page_text() {
  std::ifstream file(page);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// heading → key → its row, from all tables whose first column is a key
std::map<std::string, std::map<std::string, std::string>> documented_keys() {
  std::map<std::string, std::map<std::string, std::string>> sections;
  std::istringstream lines(page_text());
  std::string heading;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("##")) heading = line.substr(line.find(' ') + 1);
    if (line.starts_with("| `")) sections[heading].emplace(line.substr(3, line.find('`', 3) - 3), line);
  }
  return sections;
}

template <typename Names>
std::set<std::string> as_set(const Names& names) {
  std::set<std::string> all;
  for (const auto& name : names) all.emplace(name);
  return all;
}

std::set<std::string> keys_of(const std::map<std::string, std::string>& rows) {
  std::set<std::string> keys;
  for (const auto& [key, row] : rows) keys.insert(key);
  return keys;
}

// "tls of the servers" is called "`tls` of the servers".
std::string heading_of(const std::string& section) {
  if (section.empty()) return "The file";
  const auto end = std::min(section.find(' '), section.size());
  return "`" + section.substr(0, end) + "`" + section.substr(end);
}

// The example that comes behind `place`.
std::string example_behind(const std::string& place) {
  const std::string text = page_text();
  const auto begin = text.find("```yaml\n", text.find(place)) + 8;
  return text.substr(begin, text.find("```", begin) - begin);
}

TEST(ConfigurationPage, HasEveryKeyAndNoOther) {
  auto documented = documented_keys();
  for (const ConfigSection& section : config_sections()) {
    const std::string heading = heading_of(std::string(section.name));
    EXPECT_EQ(keys_of(documented[heading]), as_set(section.keys)) << heading;
    documented.erase(heading);
  }
  for (const FilterInfo& filter : filter_registry()) {
    const std::string heading = "`" + std::string(filter.name) + "`";
    std::set<std::string> names;
    for (const ParameterInfo& parameter : filter.parameters) {
      names.emplace(parameter.name);
      const std::string kind = parameter.multiple > 1 ? "multiple of " + number_text(parameter.multiple)
                               : parameter.whole      ? "whole number"
                                                      : "number";
      const std::string row = "| `" + std::string(parameter.name) + "` | " + kind + " | " +
                              std::string(parameter.unit) + (parameter.unit.empty() ? "| " : " | ") +
                              number_text(parameter.min) + " to " + number_text(parameter.max) + " | " +
                              (parameter.fallback ? number_text(*parameter.fallback) : "required") + " | ";
      EXPECT_THAT(documented[heading][std::string(parameter.name)], StartsWith(row));
    }
    EXPECT_EQ(keys_of(documented[heading]), names) << heading;
    EXPECT_THAT(page_text(), HasSubstr("### " + heading + "\n"));
    documented.erase(heading);
  }
  EXPECT_TRUE(documented.empty()) << documented.begin()->first << " is no section of the file, and no filter";
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

TEST_F(ConfigTest, TheOverlaysExampleLoads) {
  write("rig.api.yaml", example_behind("## Changes through the API"));
  const std::string source = "{source: '" + pattern + "'}";
  const auto all = cameras("cameras: {gate: " + source + ", belt: " + source + ", dock: " + source + "}\n");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_FALSE(all[0].enabled);
  EXPECT_EQ(all[1].source.url, "rtsp://10.0.0.17/stream1");
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

}  // namespace
}  // namespace campipe
