// What the API's status says (docs/api.md), for tables on a terminal, and what two of them a while apart say together:
// frames, bits and processor time a second. Fields that are missing count as 0 or empty.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace campipe {

// One output of a camera.
struct StreamSample {
  std::string name;    // "dock", or "dock/small" of its output `small`
  std::string state;   // starting, running, waiting, ended, failed, disabled, removed
  std::string reason;  // printable, as all texts here
  std::string since_utc;
  std::string source;
  std::string decoder;
  std::string encoder;
  std::string codec;
  std::string recording;  // the file
  std::string recording_paused;
  std::string overloaded;   // what is wrong, and what to do
  std::string pushes_down;  // targets that do not take it, and why
  bool recording_on = false;
  unsigned width = 0;
  unsigned height = 0;
  int worker = -1;
  std::string gpu;
  std::uint64_t decoded = 0;
  std::uint64_t encoded = 0;
  std::uint64_t bytes = 0;
  std::map<std::string, std::uint64_t> dropped;  // by cause; without what was left out as wanted (rate)
  std::uint64_t dropped_total = 0;
  double p50_ms = 0;
  double p95_ms = 0;
  std::map<std::string, double> stages_ms;  // p50 of decode, queue, filter, encode
  unsigned reconnects = 0;
  unsigned worker_restarts = 0;
  std::optional<double> motion_score = {};  // percent
  double motion_threshold = 0;              // likewise
  std::optional<unsigned> viewers;
  // Of RigHistory:
  double fps = 0;
  double drops_per_s = 0;
  double mbit_per_s = 0;
};

struct ProcessSample {
  std::string role;
  int pid = 0;
  unsigned restarts = 0;
  double cpu_s = 0;
  double memory_mib = 0;
  std::string gpu;
  double cpu_percent = 0;  // of RigHistory: 100 is one core
};

struct GpuSample {
  std::string name;
  std::optional<double> utilization = {};  // percent
  std::optional<double> decoder = {};      // percent
  std::optional<double> memory_used_mib = {};
  std::optional<double> memory_mib = {};
};

struct RigSample {
  double uptime_s = 0;
  std::string version;
  std::string state;
  std::string config;
  std::vector<StreamSample> streams;  // a camera's outputs behind it
  std::vector<ProcessSample> processes;
  std::vector<GpuSample> gpus;
};

// Throws Error for what is no status of a campipe.
RigSample parse_status(const std::string& text);
// Enters who watches, as /api/v1/viewers tells it. Throws Error likewise.
void count_viewers(RigSample& sample, const std::string& text);

// The samples of the last seconds. Figures of one second jump by a frame; those of three can be read.
class RigHistory {
 public:
  void add(RigSample sample);
  [[nodiscard]] bool empty() const { return samples_.empty(); }
  // The newest, with its figures by the second; only if there is one.
  [[nodiscard]] RigSample newest() const;

 private:
  std::deque<RigSample> samples_;
};

}  // namespace campipe
