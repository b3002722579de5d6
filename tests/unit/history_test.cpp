// Ten minutes of a camera's numbers.
#include "app/publisher/server/api/history.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace campipe {
namespace CAMPIPE_FILE {

using nlohmann::json;

json status(double uptime, int encoded, int dropped, int bytes) {
  const json drops = {{"queue_full", dropped}, {"worker_lost", 1}, {"unwatched", 9 * encoded}};
  return {{"uptime_s", uptime},
          {"cameras",
           {{"dock",
             {{"frames", {{"encoded", encoded}, {"dropped", drops}}},
              {"bytes", bytes},
              {"latency_ms", {{"p50", 20.0}, {"p95", 30.0}}},
              {"stages_ms", {{"transit", {{"p50", 12.0}}}, {"decode", {{"p50", 5.0}}}}}}}}}};
}

TEST(History, TellsWhatHappenedBetweenTwoSamples) {
  History history;
  history.sample(status(1, 0, 0, 0));
  history.sample(status(3, 50, 4, 1'000'000));
  history.sample(status(7, 150, 4, 3'000'000));
  const json dock = history.of("dock");
  EXPECT_EQ(dock["fps"], (json{nullptr, 25, 25}));
  EXPECT_EQ(dock["dropped"], (json{nullptr, 4, 0}));
  EXPECT_EQ(dock["bitrate"], (json{nullptr, 4'000'000, 4'000'000}));
  EXPECT_EQ(dock["latency_p50_ms"], (json{20, 20, 20}));
  EXPECT_EQ(dock["latency_p95_ms"], (json{30, 30, 30}));
  EXPECT_EQ(dock["decode_ms"], (json{5, 5, 5}));
  EXPECT_EQ(dock["encode_ms"], (json{nullptr, nullptr, nullptr}));
  EXPECT_EQ(dock["transit_ms"], (json{12, 12, 12}));
  EXPECT_EQ(dock["t"].size(), 3U);
}

TEST(History, AStatusThatIsHardlyNewerIsNoSample) {
  History history;
  for (const double uptime : {1.0, 1.0, 2.0, 2.9, 3.0, 3.5, 5.1}) history.sample(status(uptime, 0, 0, 0));
  EXPECT_EQ(history.of("dock")["t"].size(), 3U);
}

TEST(History, ACameraThatWasMadeAnewBeginsAnew) {
  History history;
  history.sample(status(1, 1000, 9, 1000));
  history.sample(status(3, 10, 0, 10));
  const json dock = history.of("dock");
  for (const char* column : {"fps", "dropped", "bitrate"}) EXPECT_EQ(dock[column], (json{nullptr, nullptr})) << column;
}

TEST(History, ACameraThatDoesNotRunHasNoNumbers) {
  History history;
  history.sample(status(1, 50, 0, 1000));
  json dead = status(3, 50, 0, 1000);
  dead["cameras"]["dock"]["state"] = "waiting";
  history.sample(dead);
  json silent = status(5, 50, 0, 1000);  // it runs, but sent nothing
  silent["cameras"]["dock"]["latency_ms"] = {{"p50", 0.0}, {"p95", 0.0}};
  silent["cameras"]["dock"]["state"] = "running";
  history.sample(silent);
  const json dock = history.of("dock");
  EXPECT_EQ(dock["fps"], (json{nullptr, nullptr, 0}));
  EXPECT_EQ(dock["latency_p50_ms"], (json{20, nullptr, nullptr}));
  EXPECT_EQ(dock["latency_p95_ms"], (json{30, nullptr, nullptr}));
  EXPECT_EQ(dock["decode_ms"], (json{5, nullptr, nullptr}));
}

TEST(History, KeepsTenMinutes) {
  History history;
  for (int i = 0; i < 400; ++i) history.sample(status(2.0 * i, 50 * i, 0, 0));
  const json dock = history.of("dock");
  for (const auto& [name, column] : dock.items()) EXPECT_EQ(column.size(), 300U) << name;
  // What is gone is forgotten after that time, too.
  for (int i = 400; i < 699; ++i) history.sample({{"uptime_s", 2.0 * i}, {"cameras", json::object()}});
  EXPECT_EQ(history.of("dock")["t"].size(), 1U);
  history.sample({{"uptime_s", 2.0 * 699}, {"cameras", json::object()}});
  EXPECT_EQ(history.of("dock")["t"].size(), 0U);
}

TEST(History, WhatIsNotKnownIsEmpty) {
  History history;
  history.sample(json::object());
  const json nobody = history.of("nobody");
  EXPECT_EQ(nobody["t"], json::array());
  EXPECT_EQ(nobody["fps"], json::array());
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe
