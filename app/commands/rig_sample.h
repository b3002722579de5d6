// The API's status (docs/api.md), for tables on a terminal, and what two of them a while apart give together: frames,
// bits and processor time a second. Fields that are missing count as 0 or empty.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace campipe {

// One output of a camera. Texts are printable.
struct StreamSample {
  // Where and with what it is made, and what comes of it.
  struct Processing {
    std::string source;
    std::string decoder;
    std::string encoder;
    std::string codec;
    unsigned width = 0;
    unsigned height = 0;
    int worker = -1;
    std::string gpu;
  };
  struct Frames {
    std::uint64_t decoded = 0;
    std::uint64_t encoded = 0;
    std::map<std::string, std::uint64_t> dropped;  // by cause; without intentional drops
    std::uint64_t dropped_total = 0;
    std::uint64_t bytes = 0;  // encoded
  };
  struct Latency {  // ms
    double p50 = 0;
    double p95 = 0;
    std::map<std::string, double> stages;  // p50 of decode, queue, filter, encode
  };
  struct Recording {
    bool on = false;
    std::string file;
    std::string paused;  // why; empty: it is not
  };
  struct Motion {  // percent
    double score = 0;
    double threshold = 0;
  };
  struct Rates {
    double fps = 0;
    double drops_per_s = 0;
    double mbit_per_s = 0;
  };

  std::string name;    // "dock", or "dock/small" of its output `small`
  std::string state;   // starting, running, waiting, ended, failed, disabled, removed
  std::string reason;  // of the state
  std::string since_utc;
  Processing processing;
  Frames frames;
  Latency latency;
  Recording recording;
  std::optional<Motion> motion = {};
  double behind_s = 0;      // how far the newest frame is behind its source
  std::string overloaded;   // what is wrong, and what to do
  std::string shed;         // what it gives up
  std::string pushes_down;  // targets that are not connected, and why
  unsigned reconnects = 0;
  unsigned worker_restarts = 0;
  std::optional<unsigned> viewers = {};
  Rates rates;  // of RigHistory
};

struct ProcessSample {
  std::string role;             // no two have the same
  std::optional<int> pid = {};  // who may not see it gets none
  unsigned restarts = 0;
  double cpu_s = 0;
  double memory_mib = 0;
  std::string gpu;
  std::optional<double> restarts_in_s = {};  // it has died, and waits for that
  double cpu_percent = 0;                    // of RigHistory: 100 is one core
};

struct GpuSample {
  std::string name;
  std::optional<double> utilization = {};  // percent
  std::optional<double> decoder = {};      // percent
  std::optional<double> memory_used_mib = {};
  std::optional<double> memory_mib = {};
};

// By which frames of a camera go from one node of the cluster to another, or come.
struct LinkSample {
  std::string mosaic;  // that shows it; empty: a part of the camera's work is done elsewhere
  std::string part;    // which
  std::string camera;
  std::string peer;  // the other node
  bool sends = false;
  std::string transport;
  bool encrypted = false;
  bool connected = false;
  std::uint64_t frames = 0;
  std::uint64_t lost = 0;
};

// The cluster that the rig is a node of.
struct ClusterSample {
  std::string name;
  std::string node;  // this one
  std::string planner;
  unsigned nodes = 0;
  unsigned here = 0;  // of them
  unsigned cameras = 0;
  unsigned without_node = 0;  // of them
  std::string problem;
  std::vector<LinkSample> links = {};  // of this node
};

struct RigSample {
  double uptime_s = 0;
  std::string version;
  std::string state;
  std::string config;
  std::vector<StreamSample> streams;  // a camera's outputs behind it
  std::vector<ProcessSample> processes;
  std::vector<GpuSample> gpus;
  std::optional<ClusterSample> cluster = {};
};

// Throws Error for what is no status of a campipe.
RigSample parse_status(const std::string& text);
// Enters who watches, from an answer of /api/v1/viewers. Throws Error likewise.
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
