// The room `show` owns what people and programs are told of a run: the status, the report, the terminal's table, the
// log of the processes, the service manager's notes, and what counts as overload there. It reads the rig and changes
// nothing that another room reads. Only the loop may call it.
//
// The report of a run: one JSON object, as docs/operations.md describes it.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/supervisor/rig/accounting.h"
#include "app/supervisor/rig/cameras.h"
#include "ipc/latencies.h"

namespace campipe {

class RigPage;

struct WorkerReport {
  unsigned index = 0;
  std::string gpu;  // "0", or "cpu"
  unsigned restarts = 0;
  double cpu_s = 0;
};

struct RunReport {
  double duration_s = 0;
  std::string exit;  // ended, duration, stopped, stopped at once
  std::vector<WorkerReport> workers;
  unsigned source_restarts = 0;
  unsigned master_restarts = 0;
  unsigned publisher_restarts = 0;
  double cpu_s = 0;           // of all processes that ever ran
  double max_memory_mib = 0;  // largest sum over the processes, shared pages counted once (PSS)
};

// Of an output, and of which frames, in its report.
using LatencyReader = std::function<Latencies(const Camera& camera, const Output& output)>;

nlohmann::json camera_report(const Camera& camera, const RigPage& page, double duration_s,
                             const LatencyReader& latencies);
nlohmann::json rig_report(const RunReport& run, const Cameras& cameras, const RigPage& page);

// What is wrong, as `key`, and since when, as `key`_since_utc.
void put_with_time(nlohmann::json& json, const std::string& key, const std::string& problem, std::int64_t since_utc);
// To two places.
double rounded(double value);
// Of a part, 0 to 1: to four places.
double percent(float part);

std::string report_text(const nlohmann::json& report);

}  // namespace campipe
