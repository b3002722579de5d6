// The file of events: whoever tells one does not wait for the file's disk.
#include "app/publisher/events_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/unit/cpu_waits.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

std::vector<int> events_in(const std::filesystem::path& file) {
  std::vector<int> events;
  std::ifstream text(file);
  for (std::string line; std::getline(text, line);) events.push_back(nlohmann::json::parse(line).at("event"));
  return events;
}

// The first test of this file: that is when the environment is read.
TEST(EventsFile, WaitsForNoDisk) {
  ::setenv("CAMPIPE_FAILPOINT", "events.writing=wait100", 1);  // NOLINT: no other thread reads it
  const TemporaryFolder folder;
  const Stopwatch watch;
  {
    EventsFile file((folder.path() / "events.jsonl").string(), "");
    for (int i = 0; i < 5000; ++i) file.append({{"event", i}});
    EXPECT_LT(watch.elapsed(), std::chrono::seconds(2));
  }
  EXPECT_LT(watch.elapsed(), std::chrono::seconds(5)) << "what is left is waited for a second";
}

TEST(EventsFile, KeepsAllInTheirOrder) {
  const TemporaryFolder folder;
  std::vector<int> all;
  {
    EventsFile file((folder.path() / "events.jsonl").string(), "");
    for (int i = 0; i < 100; ++i) {
      file.append({{"event", i}});
      all.push_back(i);
    }
  }
  EXPECT_EQ(events_in(folder.path() / "events.jsonl"), all);
}

// So that nodes of a cluster may have one folder.
TEST(EventsFile, IsNamedByItsNode) {
  const TemporaryFolder folder;
  for (const std::string node : {"east", "west"}) {
    EventsFile((folder.path() / "events.jsonl").string(), node).append({{"event", 1}});
    std::ifstream text(folder.path() / ("events@" + node + ".jsonl"));
    EXPECT_EQ(nlohmann::json::parse(text), (nlohmann::json{{"event", 1}, {"node", node}}));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "events.jsonl"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
