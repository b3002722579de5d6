// What `campipe top` and `campipe status` make of a rig's status: figures by the second, tables, keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/commands/api_client.h"
#include "app/commands/rig_sample.h"
#include "app/commands/rig_table.h"
#include "app/commands/top_view.h"
#include "app/control/json_fields.h"
#include "core/error.h"
#include "core/printable.h"
#include "core/text_columns.h"
#include "tests/unit/some_cluster.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr auto plain = StyledLine::Form::plain;

nlohmann::json camera(std::uint64_t encoded, std::uint64_t dropped) {
  return {{"state", "running"},
          {"frames",
           {{"decoded", encoded},
            {"encoded", encoded},
            {"dropped", {{"queue_full", dropped}, {"rate", 7}, {"unwatched", 9}}}}},
          {"bytes", encoded * 10'000},
          {"latency_ms", {{"p50", 1.5}, {"p95", 2.5}}},
          {"recording_on", true}};
}

nlohmann::json status(double uptime_s, const nlohmann::json& cameras) {
  return {{"uptime_s", uptime_s},
          {"version", "0.1.0"},
          {"state", "running"},
          {"config", "rig.yaml"},
          {"cameras", cameras},
          {"processes", {{{"role", "worker 0"}, {"pid", 7}, {"cpu_s", uptime_s / 2}, {"memory_mib", 10}}}}};
}

RigSample sample(double uptime_s, const nlohmann::json& cameras) {
  return parse_status(status(uptime_s, cameras).dump());
}

std::vector<std::string> names(const std::vector<StreamSample>& streams) {
  std::vector<std::string> result;
  for (const StreamSample& stream : streams) result.push_back(stream.name);
  return result;
}

std::string text(const std::vector<StyledLine>& lines, std::size_t width = 200) {
  std::string result;
  for (const StyledLine& line : lines) result += line.render(width, plain) + "\n";
  return result;
}

TEST(RigTable, ShowsHowMuchMoves) {
  auto dock = camera(10, 2);
  dock["motion"] = {{"score_percent", 0.3125}, {"threshold_percent", 0.0093}, {"largest_percent", 4.5}};
  auto gate = camera(10, 2);
  gate["motion"] = {{"threshold_percent", 0.0093}, {"largest_percent", 4.5}};  // it is away
  const std::string table = text(stream_table(sample(1, {{"dock", dock}, {"gate", gate}}).streams, 200));
  EXPECT_THAT(table, HasSubstr("motion 0.3125 % (from 0.0093 %)\n"));
  EXPECT_EQ(table.find("motion"), table.rfind("motion"));
}

TEST(RigTable, ShowsHowFarAStreamIsBehind) {
  auto dock = camera(10, 2);
  dock["behind_s"] = 51.4;
  auto gate = camera(10, 2);
  gate["behind_s"] = 2.9;
  const std::string table = text(stream_table(sample(1, {{"dock", dock}, {"gate", gate}}).streams, 200));
  EXPECT_THAT(table, HasSubstr("51 s behind"));
  EXPECT_EQ(table.find("behind"), table.rfind("behind"));
}

TEST(RigTable, ShowsNoLatencyThatIsLessThanItWas) {
  const auto latency_of = [](double ms) {
    auto dock = camera(10, 0);
    dock["latency_ms"] = {{"p50", ms}, {"p95", 7.25}};
    return text(stream_table(sample(1, {{"dock", dock}}).streams, 200));
  };
  EXPECT_THAT(latency_of(0.012), HasSubstr(" <0.1 "));
  EXPECT_THAT(latency_of(0.06), HasSubstr(" 0.1 "));
  EXPECT_THAT(latency_of(3.14159), HasSubstr(" 3.1 "));
  EXPECT_THAT(latency_of(0), HasSubstr(" -     7.2 "));
}

// It has no id and takes nothing: what there is to say of it is when it comes.
TEST(ProcessTable, ShowsWhoWaitsForARestart) {
  auto rig = status(1, {{"dock", camera(10, 0)}});
  rig["processes"].push_back({{"role", "master 1"}, {"restarts", 3}, {"restarts_in_s", 4.2}, {"gpu", "1"}});
  const std::string table = text(process_table(parse_status(rig.dump()).processes));
  EXPECT_THAT(table, testing::ContainsRegex("master 1 +- .* 3  next in 4 s\n"));
  EXPECT_THAT(table, testing::ContainsRegex("worker 0 +7 .* 0\n"));
}

TEST(ClusterLine, SaysWhatIsWrongWithIt) {
  auto rig = status(1, {{"dock", camera(10, 0)}});
  EXPECT_FALSE(parse_status(rig.dump()).cluster);
  rig["cluster"] = write_json(test::some_cluster());
  EXPECT_EQ(text({cluster_line(*parse_status(rig.dump()).cluster)}),
            "node east of cluster hall: 2 of 3 nodes here, 4 cameras, 1 without a node, east plans\n");
  rig["cluster"]["nodes"]["west"]["clock"] = {{"offset_s", 3}, {"problem", "the clock of node 'west' is 3 s ahead"}};
  EXPECT_THAT(text({cluster_line(*parse_status(rig.dump()).cluster)}),
              HasSubstr(", east plans; the clock of node 'west' is 3 s ahead\n"));
  rig["cluster"]["links"] = test::some_links();
  EXPECT_EQ(text({link_line(parse_status(rig.dump()).cluster->links.at(0))}),
            "link from node west: gate -> lane, by zeromq, encrypted: connected, 103 frames, 1 lost\n");
  rig["cluster"]["planner"] = "";
  rig["cluster"]["etcd"]["problem"] = "https://10.0.0.1:2379 does not answer";
  EXPECT_THAT(text({cluster_line(*parse_status(rig.dump()).cluster)}),
              HasSubstr(", nobody plans; https://10.0.0.1:2379 does not answer\n"));
  rig["cluster"] = {{"nodes", {1, 2}}, {"cameras", "none"}};  // another version's
  EXPECT_THAT(text({cluster_line(*parse_status(rig.dump()).cluster)}), HasSubstr("0 of 0 nodes here"));
}

TEST(RigSample, HasEveryOutputBehindItsCamera) {
  auto dock = camera(10, 2);
  dock["outputs"]["small"] = camera(5, 0);
  const RigSample rig = sample(1, {{"dock", dock}, {"gate", camera(1, 0)}});
  EXPECT_THAT(names(rig.streams), ElementsAre("dock", "dock/small", "gate"));
  EXPECT_EQ(rig.streams[0].frames.encoded, 10U);
  EXPECT_EQ(rig.streams[0].frames.dropped_total, 2U) << "what was left out as wanted is no drop";
  EXPECT_EQ(rig.streams[1].frames.encoded, 5U);
}

TEST(RigSample, ToleratesWhatIsNotKnown) {
  const RigSample rig = parse_status(R"({"uptime_s": 1, "cameras": {"dock": {"state": null, "latency_ms": null,
      "frames": {"dropped": {"queue_full": null}}, "worker": null}}, "gpus": [{"name": "A", "utilization": null}]})");
  EXPECT_EQ(rig.streams.at(0).frames.dropped_total, 0U);
  EXPECT_EQ(rig.gpus.at(0).utilization, std::nullopt);
  EXPECT_EQ(text({gpu_line(rig.gpus.at(0))}), "GPU A: ? % busy, decoder ? %, memory ? of ? MiB\n");
}

TEST(RigSample, TakesNumbersThatDoNotFitAsTheNearestThatDo) {
  const RigSample rig = parse_status(R"({"uptime_s": 1, "cameras": {"dock": {"worker": -1e300, "width": 1e300,
      "reconnects": -5, "bytes": 1e300, "frames": {"dropped": {"queue_full": -1.5}}}}, "processes": [{"pid": 1e300}]})");
  const StreamSample& dock = rig.streams.at(0);
  EXPECT_EQ(dock.processing.worker, std::numeric_limits<int>::min());
  EXPECT_EQ(dock.processing.width, std::numeric_limits<unsigned>::max());
  EXPECT_EQ(dock.reconnects, 0U);
  EXPECT_EQ(dock.frames.bytes, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(dock.frames.dropped_total, 0U);
  EXPECT_EQ(rig.processes.at(0).pid, std::numeric_limits<int>::max());
  EXPECT_THAT(text({rig_line(sample(1e308, {{"dock", camera(0, 0)}}))}), HasSubstr(" d "));
}

TEST(RigSample, IsNotMadeOfAnything) {
  for (const char* text : {"", "<html>", "[]", "{}", "{\"uptime_s\": \"x\", \"cameras\": {}}"}) {
    EXPECT_THROW((void)parse_status(text), Error) << text;
  }
  RigSample rig = sample(1, {{"dock", camera(0, 0)}});
  EXPECT_THROW(count_viewers(rig, "{\"viewers\": [{}]}"), Error);
}

TEST(RigSample, CountsViewersOfEachStream) {
  RigSample rig = sample(1, {{"dock", camera(0, 0)}, {"gate", camera(0, 0)}});
  EXPECT_FALSE(rig.streams[0].viewers);
  count_viewers(rig, R"({"viewers": [{"camera": "dock"}, {"camera": "dock"}]})");
  EXPECT_EQ(rig.streams[0].viewers, 2U);
  EXPECT_EQ(rig.streams[1].viewers, 0U);
}

TEST(RigSample, HoldsNothingThatATerminalObeys) {
  EXPECT_EQ(printable("a\x1b[2Jb\nc\x7f\xc2\x9b"
                      "d\xc3\xa9"),
            "a?[2Jb?c??d\xc3\xa9");
  // Letters in the other direction, another paragraph; and signs that are written with the same first bytes.
  EXPECT_EQ(printable("\u202Eevil\u2066\u200F \u2028x \u2014 \u20AC"), "?evil?? ?x \u2014 \u20AC");
  EXPECT_EQ(printable("\xe2\x80"), "\xe2\x80");  // cut off
  auto dock = camera(0, 0);
  dock["reason"] = "\x1b]0;title\a";
  EXPECT_EQ(sample(1, {{"dock", dock}}).streams[0].reason, "?]0;title?");
}

TEST(RigHistory, TellsWhatHappensASecond) {
  RigHistory history;
  history.add(sample(10, {{"dock", camera(100, 0)}}));
  EXPECT_EQ(history.newest().streams[0].rates.fps, 0) << "one sample tells no rate";
  history.add(sample(12, {{"dock", camera(150, 4)}, {"new", camera(9, 0)}}));
  const RigSample rig = history.newest();
  EXPECT_DOUBLE_EQ(rig.streams[0].rates.fps, 25);
  EXPECT_DOUBLE_EQ(rig.streams[0].rates.drops_per_s, 2);
  EXPECT_DOUBLE_EQ(rig.streams[0].rates.mbit_per_s, 2);
  EXPECT_EQ(rig.streams[1].rates.fps, 0) << "a camera that was not there before";
  EXPECT_DOUBLE_EQ(rig.processes[0].cpu_percent, 50);
}

// Process ids are shown to administrators only.
TEST(RigHistory, KnowsProcessesWithoutTheirIds) {
  const auto at = [](double uptime_s, double supervisor_s, double worker_s) {
    auto json = status(uptime_s, {{"dock", camera(0, 0)}});
    json["processes"] = {{{"role", "supervisor"}, {"cpu_s", supervisor_s}},
                         {{"role", "worker 0"}, {"cpu_s", worker_s}}};
    return parse_status(json.dump());
  };
  RigHistory history;
  history.add(at(10, 1, 40));
  history.add(at(12, 1.5, 41));
  const auto processes = history.newest().processes;
  EXPECT_DOUBLE_EQ(processes.at(0).cpu_percent, 25);
  EXPECT_DOUBLE_EQ(processes.at(1).cpu_percent, 50);
  EXPECT_THAT(text(process_table(processes)), testing::ContainsRegex("\nworker 0 +- +50\\.0 "));
}

TEST(RigHistory, LooksAtTheLastSecondsOnly) {
  RigHistory history;
  for (int second = 0; second < 20; ++second) {
    history.add(sample(second, {{"dock", camera(second < 10 ? 0U : 30U * static_cast<unsigned>(second), 0)}}));
  }
  EXPECT_DOUBLE_EQ(history.newest().streams[0].rates.fps, 30);
}

TEST(RigHistory, BeginsAnewWithTheRig) {
  RigHistory history;
  history.add(sample(100, {{"dock", camera(1000, 0)}}));
  history.add(sample(1, {{"dock", camera(20, 0)}}));
  history.add(sample(1, {{"dock", camera(20, 0)}}));  // the rig has not looked since
  EXPECT_EQ(history.newest().streams[0].rates.fps, 0);
  history.add(sample(2, {{"dock", camera(45, 0)}}));
  EXPECT_DOUBLE_EQ(history.newest().streams[0].rates.fps, 25);
}

std::vector<StreamSample> three_streams() {
  std::vector<StreamSample> streams(3);
  const std::array<const char*, 3> stream_names{"b", "c", "a"};
  const std::array<double, 3> fps{30, 10, 20};
  for (std::size_t i = 0; i < 3; ++i) {
    streams[i].name = stream_names.at(i);
    streams[i].state = "running";
    streams[i].rates.fps = fps.at(i);
  }
  return streams;
}

TEST(RigTable, SortsNamesFromAAndNumbersFromTheLargest) {
  auto streams = three_streams();
  sort_streams(streams, Column::name, false);
  EXPECT_THAT(names(streams), ElementsAre("a", "b", "c"));
  sort_streams(streams, Column::name, true);
  EXPECT_THAT(names(streams), ElementsAre("c", "b", "a"));
  sort_streams(streams, Column::fps, false);
  EXPECT_THAT(names(streams), ElementsAre("b", "a", "c"));
  sort_streams(streams, Column::fps, true);
  EXPECT_THAT(names(streams), ElementsAre("c", "a", "b"));
  sort_streams(streams, Column::drops, false);
  EXPECT_THAT(names(streams), ElementsAre("a", "b", "c")) << "the same number of drops";
}

TEST(RigTable, ShowsOutputsBelowTheirCamera) {
  auto streams = three_streams();
  for (const std::size_t i : {0U, 1U, 2U}) streams[i].name = std::array{"a/small", "a-b", "a"}.at(i);
  sort_streams(streams, Column::name, false);
  EXPECT_THAT(names(streams), ElementsAre("a", "a/small", "a-b"));
}

TEST(RigTable, LeavesOutWhatIsMissedLeast) {
  auto streams = three_streams();
  streams[0].frames.dropped = {{"queue_full", 3}, {"worker_lost", 1}};
  streams[0].reason = "no route to host";
  const std::string wide = text(stream_table(streams, 200));
  EXPECT_THAT(wide, HasSubstr("VIEWERS"));
  EXPECT_THAT(wide, HasSubstr(" WORKER "));
  EXPECT_THAT(wide, HasSubstr("no route to host; queue_full 3, worker_lost 1"));
  const std::string narrow = text(stream_table(streams, 40), 40);
  EXPECT_THAT(narrow, HasSubstr("STATE"));
  EXPECT_THAT(narrow, HasSubstr("FPS"));
  EXPECT_THAT(narrow, Not(HasSubstr("VIEWERS")));
  EXPECT_THAT(narrow, Not(HasSubstr("Mb/s")));
  EXPECT_THAT(text(stream_table(streams, 3), 3), HasSubstr("CAM\n"));
}

// Outputs of one camera, and cameras whose names end differently, can be told apart in any width.
TEST(RigTable, KeepsTheEndsOfLongNames) {
  const std::string long_name = "warehouse-north-loading-dock";
  const std::string longest = std::string(60, 'x') + "-left";
  auto dock = camera(1, 0);
  dock["outputs"] = {{"browser", camera(1, 0)}, {"browser-small", camera(1, 0)}};
  const auto streams = sample(1, {{long_name, dock}, {longest, camera(1, 0)}}).streams;
  const std::string narrow = text(stream_table(streams, 80), 80);
  EXPECT_THAT(narrow, HasSubstr("-dock "));
  EXPECT_THAT(narrow, HasSubstr("-dock/browser "));
  EXPECT_THAT(narrow, HasSubstr("-dock/browser-small "));
  EXPECT_THAT(narrow, HasSubstr("-left "));
  EXPECT_THAT(narrow, HasSubstr("warehouse-"));
  const std::string wide = text(stream_table(streams, 200));
  for (const StreamSample& stream : streams) EXPECT_THAT(wide, HasSubstr(stream.name + " "));
  // An output's name may be as long as a camera's.
  auto gate = camera(1, 0);
  gate["outputs"] = {{longest, camera(1, 0)}, {std::string(60, 'x') + "-right", camera(1, 0)}};
  const std::string outputs = text(stream_table(sample(1, {{"gate", gate}}).streams, 80), 80);
  EXPECT_THAT(outputs, HasSubstr("gate/x"));
  EXPECT_THAT(outputs, HasSubstr("x-left "));
  EXPECT_THAT(outputs, HasSubstr("x-right "));
}

TEST(RigTable, ShowsThatAnOutputIsOne) {
  const std::string name = "a-camera-with-a-name-that-has-all-of-the-room-for-sixty-four-xyz";
  EXPECT_EQ(shorten_name(name, 26), "a-camera-wit…ixty-four-xyz");
  EXPECT_EQ(shorten_name(name + "/" + name, 26), "a-ca…-xyz/a-camer…four-xyz");
  for (std::size_t width = 0; width < 140; ++width)
    EXPECT_LE(columns_of(shorten_name(name + "/" + name, width)), width);
}

// A reason is worth more than who watches; but a column of one letter holds none.
TEST(RigTable, HasNotesOfSomeWidthOrNone) {
  auto streams = three_streams();
  streams[0].name = std::string(17, 'n');
  const std::string without = text(stream_table(streams, 92), 92);
  EXPECT_THAT(without, HasSubstr("VIEWERS"));
  EXPECT_THAT(without, HasSubstr("REC"));
  EXPECT_THAT(without, Not(HasSubstr(" N")));
  streams[0].reason = "no route to host";
  const std::string with = text(stream_table(streams, 92), 92);
  EXPECT_THAT(with, HasSubstr("NOTES"));
  EXPECT_THAT(with, HasSubstr("no route to "));
  EXPECT_THAT(with, HasSubstr("P95"));
  for (std::size_t width = 1; width < 120; ++width) {
    const std::string head = stream_table(streams, width)[0].render(width, plain);
    const auto notes = head.find(" N");
    if (notes == std::string::npos) continue;
    EXPECT_GE(width - notes - 1, 12U) << head;
  }
}

TEST(StyledLine, CutsCharactersAndNotBytes) {
  StyledLine line;
  line.add("äöü", Look::bad).add("xyz");
  EXPECT_EQ(line.render(4, plain), "äöüx");
  EXPECT_EQ(line.render(2, StyledLine::Form::colours), "\x1b[1;31mäö\x1b[0m");
  EXPECT_EQ(line.render(2, StyledLine::Form::monochrome), "äö");
  line.invert();
  EXPECT_EQ(line.render(8, StyledLine::Form::monochrome), "\x1b[7mäöüxyz  \x1b[0m");
  EXPECT_EQ(fit("äöü", 5, true), "  äöü");
  EXPECT_EQ(shorten("äöü/äöü", 7, 3), "äöü/äöü");
  EXPECT_EQ(shorten("äöü/äöü", 6, 3), "äö…äöü");
  EXPECT_EQ(shorten("äöü/äöü", 3, 3), "…öü");
  EXPECT_EQ(shorten("äöü/äöü", 1, 3), "…");
  EXPECT_EQ(shorten("äöü", 0, 3), "");
}

RigSample many_cameras(int count) {
  nlohmann::json cameras;
  for (int i = 0; i < count; ++i) cameras[std::string("cam") + (i < 10 ? "0" : "") + std::to_string(i)] = camera(0, 0);
  return sample(3723, cameras);
}

std::string screen(TopView& view, const TerminalSize& size) {
  std::string result;
  for (const std::string& line : view.draw(size)) result += line + "\n";
  return result;
}

TEST(TopView, FitsEveryTerminal) {
  for (const int cameras : {0, 1, 5, 60}) {
    TopView view(plain);
    view.show(many_cameras(cameras));
    view.type("\x1b[B");
    for (unsigned rows = 1; rows < 50; rows += 3) {
      for (const unsigned columns : {1U, 20U, 80U, 200U}) {
        const auto lines = view.draw({columns, rows});
        EXPECT_EQ(lines.size(), rows);
        for (const std::string& line : lines) EXPECT_LE(columns_of(line), columns);
      }
    }
  }
}

TEST(TopView, ShowsTheRigTheCamerasAndTheProcesses) {
  TopView view(plain);
  view.show(many_cameras(2));
  const std::string drawn = screen(view, {100, 30});
  for (const char* part : {"campipe 0.1.0  rig.yaml  running  for 1:02:03", "2 cameras: 2 running", "cam00 ", "cam01 ",
                           "worker 0", "q leave"}) {
    EXPECT_THAT(drawn, HasSubstr(part));
  }
}

TEST(TopView, FollowsTheChosenCamera) {
  TopView view(plain);
  view.show(many_cameras(60));
  const TerminalSize size{100, 24};
  EXPECT_THAT(screen(view, size), Not(HasSubstr("cam59")));
  view.type("\x1b[F");  // End
  EXPECT_THAT(screen(view, size), HasSubstr("cam59  running"));
  view.type("\x1b[A");
  EXPECT_THAT(screen(view, size), HasSubstr("cam58  running"));
  view.type("\x1bOH");  // Home, of a terminal in application mode
  EXPECT_THAT(screen(view, size), HasSubstr("cam00  running"));
  view.type("\x1b");
  EXPECT_THAT(screen(view, size), Not(HasSubstr("cam00  running")));
}

TEST(TopView, ObeysKeysThatComeInParts) {
  TopView view(plain);
  view.show(many_cameras(3));
  EXPECT_TRUE(view.type("\x1b["));
  EXPECT_TRUE(view.type("B"));
  EXPECT_THAT(screen(view, {100, 30}), HasSubstr("cam00  running"));
  EXPECT_TRUE(view.type("\x1b[C\x1b[Cr"));  // sorted by fps, the other way round
  EXPECT_THAT(screen(view, {100, 30}), HasSubstr("▾FPS"));
  EXPECT_TRUE(view.type("\x1b[D"));
  EXPECT_THAT(screen(view, {100, 30}), HasSubstr("STATE▾"));
  EXPECT_TRUE(view.type("\x1b[99~\x01z"));  // keys that mean nothing
  EXPECT_TRUE(view.type("h"));
  EXPECT_THAT(screen(view, {100, 30}), HasSubstr("sort by bit rate"));
  EXPECT_TRUE(view.type("p"));  // ends the help
  EXPECT_FALSE(view.paused());
  EXPECT_TRUE(view.type("p"));
  EXPECT_TRUE(view.paused());
  EXPECT_THAT(screen(view, {100, 30}), HasSubstr("paused"));
  EXPECT_FALSE(view.type("xq"));
}

TEST(TopView, TellsWhyThereIsNothingNew) {
  TopView view(plain);
  view.show(many_cameras(1));
  view.set_trouble("no campipe answers");
  EXPECT_THAT(screen(view, {100, 30}), HasSubstr("no campipe answers"));
  view.set_trouble("");
  EXPECT_THAT(screen(view, {100, 30}), Not(HasSubstr("no campipe answers")));
}

TEST(ApiUrl, IsHttpWithoutUsers) {
  for (const char* url : {"http://127.0.0.1:8080", "https://rig.example", "http://[::1]:80/behind/proxy/"}) {
    EXPECT_EQ(check_api_url(url), "") << url;
  }
  for (const char* url : {"", "x", "rig:8080", "ftp://rig", "file:///etc/passwd", "http://", "http://rig?x=1"}) {
    EXPECT_NE(check_api_url(url), "") << url;
  }
  EXPECT_THAT(check_api_url("http://me:secret@rig"), Not(HasSubstr("secret")));
  EXPECT_THROW(ApiClient({.url = "ftp://rig"}), Error);
}

TEST(ApiClient, KnowsWhereItKeepsSecrets) {
  EXPECT_TRUE(ApiClient({.url = "http://127.0.0.1:1"}).keeps_secrets());
  EXPECT_TRUE(ApiClient({.url = "http://localhost"}).keeps_secrets());
  EXPECT_TRUE(ApiClient({.url = "https://10.0.0.1"}).keeps_secrets());
  EXPECT_FALSE(ApiClient({.url = "http://10.0.0.1"}).keeps_secrets());
  EXPECT_FALSE(ApiClient({.url = "http://127.evil.example"}).keeps_secrets());
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
