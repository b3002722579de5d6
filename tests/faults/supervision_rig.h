// Rigs with a server, asked and ended by tests of what goes wrong in their processes.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "tests/faults/fault_rig.h"
#include "tests/unit/http_client.h"
#include "tests/unit/peers.h"

namespace campipe::test {

inline std::string server(int port, const std::string& more = "workers: {count: 1}\n") {
  return "http_address: 127.0.0.1:" + std::to_string(port) + "\nrtsp_address: off\n" + more +
         "defaults: {encode: {gop: 10, bitrate: 1M}}\n";
}

inline std::string camera(const std::string& name, const std::string& more = "", int frames = 0) {
  return "  " + name + ": {source: \"test://pattern?width=160&height=120&rate=25&frames=" + std::to_string(frames) +
         "\", record: {path: " + name + ".mp4}" + more + "}\n";
}

// Status 0: the other side closed instead of an answer, or is not there.
inline Reply try_request(int port, const std::string& line) {
  try {
    const bool post = line.starts_with("POST");
    return ask(static_cast<std::uint16_t>(port), line, post ? "Content-Type: application/json\r\n" : "",
               post ? "{}" : "");
  } catch (const Error&) {
    return {};
  }
}

inline bool wait_for_state(int port, const std::string& name, const std::string& state) {
  return eventually([&] {
    const Reply reply = try_request(port, "GET /api/v1/cameras/" + name);
    return reply.status == 200 && nlohmann::json::parse(reply.body).value("state", "") == state;
  });
}

inline int restarts(const nlohmann::json& report) {
  int sum = report.at("source_restarts").get<int>() + report.at("master_restarts").get<int>() +
            report.at("publisher_restarts").get<int>();
  for (const auto& worker : report.at("workers")) sum += worker.at("restarts").get<int>();
  return sum;
}

// The rig goes on until it is asked to end, and then has lost nothing of `name`.
inline void expect_goes_on(RigRun& rig, const std::string& name) {
  EXPECT_TRUE(rig.wait_for_growth(name + ".mp4", rig.size(name + ".mp4"))) << rig.log();
  rig.signal(SIGTERM);
  EXPECT_EQ(rig.wait(), 0) << rig.log();
  const auto camera = rig.camera(name);
  EXPECT_EQ(camera.at("state"), "ended");
  EXPECT_EQ(camera.at("frames").at("recorded"), camera.at("frames").at("encoded"));
  EXPECT_EQ(check_accounting(rig.report()), "");
}

}  // namespace campipe::test
