// The table of counters: what it says of each, how counts add up, and that the table in docs/operations.md is made of
// it.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "app/config/camera_config.h"
#include "app/publisher/server/api/description.h"
#include "app/supervisor/rig/accounting.h"
#include "app/supervisor/show/report.h"
#include "ipc/counter_table.h"
#include "ipc/decode_blocks.h"
#include "ipc/edge_blocks.h"
#include "ipc/encode_block.h"
#include "ipc/node_block.h"
#include "ipc/publish_block.h"
#include "ipc/rig_page.h"
#include "ipc/source_blocks.h"
#include "tests/paths.h"
#include "tests/unit/camera_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

// Found before the tests change the folder.
const std::filesystem::path page = std::filesystem::path(source_folder) / "docs/operations.md";
constexpr std::string_view heading = "## Counters";

std::string page_text() {
  std::ifstream file(page);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string code(const std::string& text) { return "`" + text + "`"; }

// "/a/b" of a camera is ".a.b" in the table of the report.
std::string key_of(const CounterInfo& info) {
  std::string key = info.path;
  std::ranges::replace(key, '/', '.');
  return key;
}

std::string row_of(const CounterInfo& info) {
  std::string labels = code("camera");
  if (info.shown_for == ShownFor::output) labels += ", " + code("output");
  if (*info.label != 0) labels += ", " + code(info.label) + ": " + info.value;
  return "| " + code(key_of(info)) + " | " + code(info.metric) + " | " + labels + " | " + info.unit + " | " +
         info.meaning + " |\n";
}

// The page with the table below its heading as ipc/counter_table.h has it.
std::string with_described_table(const std::string& text) {
  std::istringstream lines(text);
  std::string made;
  bool is_below = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) is_below = line == heading;
    if (is_below && line.starts_with("| `")) continue;
    made += line + "\n";
    if (!is_below || !line.starts_with("|---")) continue;
    for (const CounterInfo& info : counter_table) made += row_of(info);
  }
  return made;
}

// tools/config-tables writes it.
TEST(CounterTable, IsThatOfThePage) {
  ASSERT_NE(page_text().find(std::string(heading) + "\n"), std::string::npos);
  const std::string made = with_described_table(page_text());
  if (std::getenv("CAMPIPE_WRITE_TABLES") != nullptr) std::ofstream(page) << made;
  EXPECT_EQ(page_text(), made) << "run tools/config-tables";
}

TEST(CounterTable, NamesEachCounterOnce) {
  std::set<std::string> paths;
  std::set<std::string> metrics;
  for (const CounterInfo& info : counter_table) {
    const std::string metric = info.metric;
    EXPECT_TRUE(paths.insert(info.path).second) << info.path;
    EXPECT_TRUE(metrics.insert(metric + "{" + info.label + "=" + info.value + "}").second) << metric;
    EXPECT_TRUE(metric.starts_with("campipe_") && metric.ends_with("_total")) << metric;
    EXPECT_TRUE(*info.path == '/' && std::string(info.meaning).ends_with(".")) << info.path;
    EXPECT_EQ(*info.label == 0, *info.value == 0) << info.path;
  }
}

TEST(CounterTable, MakesTheApisDescription) {
  const auto camera = nlohmann::json::parse(api_description()).at("components").at("schemas").at("Camera");
  for (const CounterInfo& info : counter_table) {
    const nlohmann::json* property = &camera;
    std::istringstream names(path_in_status(info).substr(1));
    for (std::string name; std::getline(names, name, '/');) property = &property->at("properties").at(name);
    EXPECT_EQ(property->at("type"), "integer") << info.path;
    EXPECT_EQ(property->at("description"), info.meaning) << info.path;
  }
}

// A camera with its own stream, which is encoded, a copy, and predecessors of both.
class CountersOfACamera : public testing::Test {
 protected:
  CountersOfACamera() {
    camera_.id = CameraId(1);
    test::add_node(camera_, NodeId(0), EdgeId(2));
    test::add_node(camera_, NodeId(2), EdgeId(1));
    for (const unsigned id : {1U, 2U}) {
      Output& output = camera_.outputs.emplace_back();
      output.id = OutputId(id);
      output.own = id == 1;
      output.config.name = id == 1 ? "dock" : "dock/copy";
      output.config.output = id == 1 ? "main" : "copy";
    }
    copy().config.encode.codec = "copy";
  }
  Output& copy() { return camera_.outputs[1]; }

  // What counts of one scope: so many times in each of its blocks. Returns how often in all.
  std::uint64_t count(const CounterInfo& info, OutputId output) {
    const ProcessId worker = worker_process(0);
    std::vector<Counters*> blocks;
    switch (info.scope) {
      case Scope::source:
        blocks = {&page_.source(camera_.id).counters, &page_.decode(camera_.id, master_process).counters};
        break;
      case Scope::edge:
        blocks = {&page_.edge_writer(EdgeId(2), master_process).counters,
                  &page_.edge_reader(EdgeId(2), worker).counters, &page_.edge_writer(EdgeId(1), worker).counters,
                  &page_.edge_reader(EdgeId(1), worker).counters};
        break;
      case Scope::node:
        blocks = {&page_.node(NodeId(0), worker).counters, &page_.node(NodeId(2), worker).counters};
        break;
      case Scope::output:
        blocks = {&page_.copy(output).counters, &page_.encode(output, worker).counters,
                  &page_.publish(output).counters};
    }
    std::uint64_t sum = 0;
    for (Counters* block : blocks) block->add(info.counter, ++sum);
    return blocks.size() * (blocks.size() + 1) / 2;
  }
  static std::uint64_t shown_in(const nlohmann::json& report, const CounterInfo& info) {
    const nlohmann::json::json_pointer path(info.path);
    return report.contains(path) ? report.at(path).get<std::uint64_t>() : 0;
  }
  nlohmann::json report() {
    return camera_report(camera_, page_, 1, [](const Camera&, const Output&) { return Latencies(); });
  }

  const RigPage page_ = RigPage::create(3);
  Camera camera_;
};

TEST_F(CountersOfACamera, AreTheSumsOfAllBlocksAndOfPredecessors) {
  OutputTotals before;
  std::map<Counter, std::uint64_t> counted;
  for (const CounterInfo& info : counter_table) {
    counted[info.counter] = count(info, OutputId(1)) + 100;
    before.counters[info.counter] = 100;
  }
  camera_.own().before = std::make_shared<const OutputTotals>(before);
  camera_.counted[Counter::reconnects] = 7;
  counted[Counter::reconnects] += 7;
  const CounterTotals totals = counters_of(camera_, camera_.own(), page_);
  const nlohmann::json json = report();
  for (const CounterInfo& info : counter_table) {
    EXPECT_EQ(totals[info.counter], counted[info.counter]) << info.path;
    if (info.counter == Counter::motions) continue;  // nothing looks for motion
    EXPECT_EQ(shown_in(json, info), counted[info.counter]) << info.path;
  }
}

// Once for each filter, by the stream that has it, and for each recording that waits for it.
TEST_F(CountersOfACamera, MotionIsReportedByWhoLooksForIt) {
  const FilterConfig motion{.name = "motion", .parameters = {}};
  const auto reporting = [this] {
    return std::pair(reports_motion(camera_, camera_.own()), reports_motion(camera_, copy()));
  };
  EXPECT_EQ(reporting(), std::pair(false, false));
  camera_.own().config.filters = copy().config.filters = {motion};  // it takes its frames
  EXPECT_EQ(reporting(), std::pair(true, false));
  copy().config.record = RecordConfig{.path = "dock.mp4", .when = RecordWhen::motion};
  EXPECT_EQ(reporting(), std::pair(true, true));
  copy().config.record.reset();
  CameraConfig config;
  OutputConfig& own_filter = config.outputs.emplace_back();
  own_filter.name = "copy";
  own_filter.filters = {motion};
  camera_.config = config;
  camera_.own().config.filters.clear();
  EXPECT_EQ(reporting(), std::pair(false, true));
}

// As when it is disabled, or has just been changed.
TEST_F(CountersOfACamera, MotionGoesOnAfterAPredecessor) {
  camera_.own().config.filters = {{.name = "motion", .parameters = {}}};
  OutputTotals before;
  before.motion = {.threshold = 0.01F, .largest = 0.5F};
  before.counters[Counter::motions] = 3;
  camera_.own().before = std::make_shared<const OutputTotals>(before);
  EXPECT_EQ(report().at("motion"),
            (nlohmann::json{{"threshold_percent", 1.0}, {"largest_percent", 50.0}, {"events", 3}}));
  MotionBlock& newest = page_.encode(OutputId(1), worker_process(0)).motion;
  newest.threshold = 0.02F;
  newest.largest = 0.25F;
  page_.publish(OutputId(1)).counters.add(Counter::motions);
  EXPECT_EQ(report().at("motion"),
            (nlohmann::json{{"threshold_percent", 2.0}, {"largest_percent", 50.0}, {"events", 4}}));
  EXPECT_EQ(totals_of(camera_, camera_.own(), page_).motion.largest, 0.5F);
  camera_.own().config.filters.clear();
  EXPECT_FALSE(report().contains("motion"));
}

TEST_F(CountersOfACamera, OfACopyAreItsOwn) {
  for (const CounterInfo& info : counter_table) count(info, OutputId(2));
  const CounterTotals totals = counters_of(camera_, copy(), page_);
  for (const CounterInfo& info : counter_table)
    EXPECT_EQ(totals[info.counter], info.scope == Scope::output ? 6U : 0U) << info.path;
  EXPECT_EQ(report().at("outputs").at("copy").at("bytes"), 6);
  EXPECT_EQ(report().at("bytes"), 0) << "another output's";
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
