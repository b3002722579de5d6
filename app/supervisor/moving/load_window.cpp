#include "app/supervisor/moving/load_window.h"

#include <fmt/format.h>

#include <algorithm>

namespace campipe {
namespace {

constexpr auto window_length = std::chrono::seconds(2);
constexpr std::uint64_t few_frames = 5;   // a time for a frame from fewer says little
constexpr std::uint64_t late_share = 50;  // late with more than one in so many
constexpr double full_below = 0.15;       // of its cores idle

// Without its name: users see the reason who may not see that camera.
std::string reason_of(const MeasuredLoad::Camera& camera) {
  if (camera.of.source_waits) return "a camera's source waits for it";
  return fmt::format("a camera loses {:.0f} % of its frames", 100 * camera.late_part);
}

}  // namespace

bool MeasuredLoad::Worker::is_full() const { return idle < full_below * static_cast<double>(of.cores.size()); }

std::optional<MeasuredLoad> LoadWindow::look_at(const RigLoad& load, Clock::time_point now) {
  if (!begun_) begin(load, now);
  for (const RigLoad::Camera& camera : load.cameras) {
    const auto found = counted_.find(camera.node);
    if (found != counted_.end()) found->second.always_waits = found->second.always_waits && camera.source_waits;
  }
  if (now - *begun_ < window_length) return std::nullopt;
  MeasuredLoad measured = measure(load, std::chrono::duration<double>(now - *begun_).count());
  begin(load, now);
  return measured;
}

MeasuredLoad LoadWindow::measure(const RigLoad& load, double seconds) {
  MeasuredLoad measured;
  for (const RigLoad::Worker& worker : load.workers) {
    const auto before = idle_.find(worker.number);
    if (before == idle_.end()) continue;  // it has just begun
    MeasuredLoad::Worker& its = measured.workers.emplace_back();
    its.of = worker;
    const auto cores = static_cast<double>(worker.cores.size());
    its.idle = std::clamp((worker.idle_s - before->second) / seconds, 0.0, cores);
  }
  for (const RigLoad::Camera& camera : load.cameras) {
    const MeasuredLoad::Camera& its = measured.cameras.emplace_back(measure(camera, seconds));
    const auto worker =
        std::ranges::find(measured.workers, camera.worker, [](const auto& one) { return one.of.number; });
    if (worker == measured.workers.end()) continue;
    worker->needs += its.needs;
    worker->gpu += camera.gpu;
    if (its.late && !worker->late) worker->reason = reason_of(its);
    worker->late = worker->late || its.late;
  }
  if (load.most_cores) measured.spare = *load.most_cores - (load.used_s - used_s_) / seconds;
  return measured;
}

// A node that came meanwhile, or another one under its id, has no window yet.
MeasuredLoad::Camera LoadWindow::measure(const RigLoad::Camera& camera, double seconds) {
  MeasuredLoad::Camera measured;
  measured.of = camera;
  const auto found = counted_.find(camera.node);
  if (found == counted_.end() || found->second.name != camera.name || found->second.worker != camera.worker)
    return measured;
  Counted& then = found->second;
  if (camera.came < then.came || camera.late < then.late || camera.cpu_s < then.cpu_s) return measured;
  const std::uint64_t came = camera.came - then.came;
  const std::uint64_t late = std::min(camera.late - then.late, came);
  const std::uint64_t done = came - late;
  measured.used = (camera.cpu_s - then.cpu_s) / seconds;
  then.since_s += camera.cpu_s - then.cpu_s;
  then.since += done;
  if (then.since >= few_frames) {
    then.per_frame = then.since_s / static_cast<double>(then.since);
    then.since_s = 0;
    then.since = 0;
  }
  const double rate = std::max(static_cast<double>(came) / seconds, camera.rate);
  measured.known = then.per_frame.has_value();
  measured.needs = camera.takes_rest ? measured.used : then.per_frame.value_or(0) * rate;
  if (came > 0) measured.late_part = static_cast<double>(late) / static_cast<double>(came);
  measured.late = !camera.takes_rest && (late * late_share > came || then.always_waits);
  return measured;
}

void LoadWindow::begin(const RigLoad& load, Clock::time_point now) {
  begun_ = now;
  used_s_ = load.used_s;
  idle_.clear();
  for (const RigLoad::Worker& worker : load.workers) idle_[worker.number] = worker.idle_s;
  std::map<NodeId, Counted> before = std::move(counted_);
  counted_.clear();
  for (const RigLoad::Camera& camera : load.cameras) {
    const auto known = before.find(camera.node);
    Counted& now_counted = counted_[camera.node];
    if (known != before.end() && known->second.name == camera.name && known->second.worker == camera.worker)
      now_counted = known->second;
    now_counted.name = camera.name;
    now_counted.worker = camera.worker;
    now_counted.cpu_s = camera.cpu_s;
    now_counted.came = camera.came;
    now_counted.late = camera.late;
    now_counted.always_waits = camera.source_waits;
  }
}

}  // namespace campipe
