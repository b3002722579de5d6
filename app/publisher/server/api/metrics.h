// What the rig does, for Prometheus: /metrics in its text format, and /healthz and /readyz for what watches services.
// docs/operations.md has names and meanings.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/publisher/server/api/gpu_meter.h"
#include "app/publisher/server/api/rig_view.h"
#include "app/publisher/server/http/server.h"
#include "app/publisher/server/live/stream.h"
#include "ipc/ids.h"
#include "ipc/latencies.h"

namespace campipe {

class RigPage;

// One output of a camera.
struct StreamMetrics {
  std::string name;  // "dock" or "dock/small"
  Latencies latencies;
  LiveCounts viewers;
};

struct MetricsInput {
  nlohmann::json status;   // as RigView::status(), with the cameras that are to be listed
  nlohmann::json viewers;  // as HttpServer::viewers() and RtspServer::viewers(), together
  std::vector<StreamMetrics> streams;
  std::vector<GpuUse> gpus;
};
std::string metrics_text(const MetricsInput& input);

class Metrics {
 public:
  using Viewers = std::function<nlohmann::json()>;
  // What is named by reference outlives it, and it its routes.
  Metrics(const RigView& rig, const RigPage& page, GpuMeter& gpus, Viewers viewers)
      : rig_(rig), page_(page), gpus_(gpus), viewers_(std::move(viewers)) {}

  // `name`: "dock" or "dock/small". Any thread.
  void add(OutputId output, const std::string& name);
  void remove(OutputId output);

  // /metrics is for users, and lists the cameras that they may see. The others need no login and have no names in
  // them: /healthz is 200 while the supervisor sends the status to this process; /readyz is 200 once no camera is
  // starting any more. A camera that is away or failed does not make the rig unready, which serves the others:
  // campipe_camera_up shows it.
  [[nodiscard]] std::vector<HttpServer::Route> routes();

 private:
  HttpAnswer metrics(const Identity& identity);
  [[nodiscard]] HttpAnswer health() const;
  [[nodiscard]] HttpAnswer readiness() const;
  [[nodiscard]] std::vector<StreamMetrics> streams(const Identity& identity) const;

  const RigView& rig_;
  const RigPage& page_;
  GpuMeter& gpus_;
  Viewers viewers_;
  mutable std::mutex mutex_;
  std::map<OutputId, std::string> cameras_;
};

}  // namespace campipe
