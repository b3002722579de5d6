#include "app/publisher/server/api/metrics.h"

#include <algorithm>

#include "app/publisher/server/api/request.h"
#include "app/publisher/server/api/shown_status.h"
#include "app/publisher/server/http/rules.h"
#include "ipc/rig_page.h"
#include "ipc/shared_block.h"

namespace campipe {
namespace {

constexpr auto oldest_status = std::chrono::seconds(5);

HttpAnswer plain(int status, const std::string& text) {
  HttpAnswer answer;
  answer.status = status;
  answer.type = "text/plain; charset=utf-8";
  answer.body = text + "\n";
  answer.headers = {{"Cache-Control", "no-store"}};
  return answer;
}

// Who may see the numbers need not see the pictures.
bool may_measure(const Identity& identity, const std::string& stream) {
  return identity.may(Permission::metrics, stream.substr(0, stream.find('/')));
}

}  // namespace

void Metrics::add(OutputId output, const std::string& name) {
  const std::lock_guard lock(mutex_);
  cameras_[output] = name;
}

void Metrics::remove(OutputId output) {
  const std::lock_guard lock(mutex_);
  cameras_.erase(output);
}

std::vector<HttpServer::Route> Metrics::routes() {
  const auto read_only = [](auto answer) {
    return [answer](const HttpRequest& request) {
      return request.method == "GET" ? answer(request.identity) : method_not_allowed();
    };
  };
  return {{"/metrics", false, read_only([this](const Identity& identity) { return metrics(identity); })},
          {"/healthz", true, read_only([this](const Identity&) { return health(); })},
          {"/readyz", true, read_only([this](const Identity&) { return readiness(); })}};
}

std::vector<StreamMetrics> Metrics::streams(const Identity& identity) const {
  const std::lock_guard lock(mutex_);
  std::vector<StreamMetrics> all;
  for (const auto& [output, name] : cameras_) {
    if (!may_measure(identity, name)) continue;
    const auto stream = rig_.stream(name);
    all.push_back({name, latencies_of(page_.shared(output)), stream ? stream->counts() : LiveCounts{}});
  }
  return all;
}

HttpAnswer Metrics::metrics(const Identity& identity) {
  // The same labels for every user.
  MetricsInput input{status_for_viewers(without_secrets(seen_by(identity, *rig_.status(), Permission::metrics))),
                     nlohmann::json::array(), streams(identity), gpus_.read()};
  for (auto& viewer : viewers_()) {
    if (may_measure(identity, viewer.value("camera", ""))) input.viewers.push_back(std::move(viewer));
  }
  HttpAnswer answer = plain(200, "");
  answer.type = "text/plain; version=0.0.4; charset=utf-8";
  answer.body = metrics_text(input);
  return answer;
}

HttpAnswer Metrics::health() const {
  const auto age = rig_.status_age();
  if (age && *age < oldest_status) return plain(200, "ok");
  return plain(503, "the supervisor has sent no status for 5 s");
}

HttpAnswer Metrics::readiness() const {
  const HttpAnswer alive = health();
  if (alive.status != 200) return alive;
  const auto status = rig_.status();
  if (const std::string state = status->value("state", ""); state != "running")
    return plain(503, "the rig is " + state);
  const nlohmann::json cameras = status->value("cameras", nlohmann::json::object());
  const auto starting =
      std::ranges::count_if(cameras, [](const auto& camera) { return camera.value("state", "") == "starting"; });
  if (starting > 0)
    return plain(503, std::to_string(starting) + (starting == 1 ? " camera is" : " cameras are") + " starting");
  return plain(200, "ready");
}

}  // namespace campipe
