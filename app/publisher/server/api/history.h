// How each camera did in the last ten minutes, for plots: a sample of the rig's status every two seconds.
// Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace campipe {

class History {
 public:
  // To be called as often as one likes: a status that is less than two seconds newer than the last one is no sample.
  void sample(const nlohmann::json& status);
  // {"t": [UTC seconds, …], "fps": […], "latency_p50_ms", "latency_p95_ms", "transit_ms", "decode_ms", "queue_ms",
  // "filter_ms", "encode_ms" (medians), "dropped" (frames since the sample before), "bitrate" (bits a second)}, all of
  // one length; null: not known, as of a camera that does not run, or of the latency where there was no frame.
  [[nodiscard]] nlohmann::json of(const std::string& camera) const;

 private:
  using Value = std::optional<double>;
  struct Counters {
    double encoded = 0;
    double dropped = 0;
    double bytes = 0;
  };
  struct Sample {
    double time = 0;    // UTC, seconds
    double uptime = 0;  // of the rig, seconds
    Value fps, latency_p50, latency_p95, transit, decode, queue, filter, encode, dropped, bitrate;
  };
  struct Camera {
    std::deque<Sample> samples;
    Counters counters;  // at the newest sample
  };
  static Counters counters_of(const nlohmann::json& status);
  static void add_latencies(Sample& made, const nlohmann::json& status);
  static Sample make_sample(const nlohmann::json& status, const Counters& now, const Camera& before, double uptime);

  mutable std::mutex mutex_;
  std::map<std::string, Camera> cameras_;
  double uptime_ = -1;  // of the newest sample
};

}  // namespace campipe
