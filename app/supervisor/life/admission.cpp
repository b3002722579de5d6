#include "app/supervisor/life/admission.h"

#include <algorithm>
#include <utility>

#include "app/config/rig_config.h"
#include "app/control/sent_stream.h"
#include "app/placement/stand_ins.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto admission_interval = std::chrono::seconds(1);
constexpr auto longest_interval = std::chrono::seconds(5);  // for cameras that go
constexpr double clearly = 1.001;                           // sums of the same differ by less
constexpr double again = 1.1;                               // so much more of what has been logged is news

const ResourceUse* same_in(const std::vector<ResourceUse>& all, const ResourceUse& use) {
  const auto found = std::ranges::find_if(
      all, [&](const ResourceUse& other) { return other.resource == use.resource && other.where == use.where; });
  return found == all.end() ? nullptr : &*found;
}

// With what is known of each: of test patterns before they are opened.
KnownStreams with_configured(KnownStreams streams, std::span<const CameraConfig> cameras) {
  for (const CameraConfig& camera : cameras) {
    if (const auto stream = configured_stream(camera)) streams[camera.name] = *stream;
  }
  return streams;
}

}  // namespace

std::vector<ResourceUse> new_shortages(const std::vector<ResourceUse>& before, const std::vector<ResourceUse>& after) {
  std::vector<ResourceUse> lacking = shortages(after);
  const std::vector<ResourceUse> lacked = shortages(before);
  std::erase_if(lacking, [&](const ResourceUse& use) {
    const ResourceUse* then = same_in(lacked, use);
    return then != nullptr && use.part() <= clearly * then->part();
  });
  return lacking;
}

std::string start_shortage(const RigConfig& rig, const Machine& machine, const MachineCosts& costs) {
  const KnownStreams streams = with_configured({}, rig.cameras);
  const RigNeeds needs = find_needs(rig, plan(rig, machine), machine.devices, costs, streams);
  return describe(shortages(resource_uses(needs, machine, costs)));
}

// What is to be there when all that goes is gone. A camera that failed takes nothing.
RigConfig AdmissionControl::running() const {
  RigConfig rig = *rig_.config;
  rig.cameras.clear();
  for (const Camera& camera : rig_.cameras.all()) {
    if (camera.is_removed()) continue;
    if (camera.successor) {
      CameraConfig& next = rig.cameras.emplace_back(resolved(**camera.successor, {}));
      if (camera.displaced) prefer_place(next, camera.stands_in);
    } else if (camera.takes_part() && !camera.all_failed()) {
      rig.cameras.push_back(*camera.config);
    }
  }
  return rig;
}

std::vector<ResourceUse> AdmissionControl::uses(const RigConfig& asked, const KnownStreams& streams) const {
  const Machine& machine = rig_.machine;
  const RigConfig rig = with_stand_ins(asked, machine.devices);
  return resource_uses(find_needs(rig, plan(rig, machine), machine.devices, rig_.costs, streams), machine, rig_.costs);
}

void AdmissionControl::require(std::span<const CameraConfig> coming, bool only_these) {
  const RigConfig now = running();
  RigConfig then = now;
  KnownStreams streams = rig_.streams;
  if (only_these) then.cameras.clear();
  for (const CameraConfig& asked : coming) {
    // What it sends now, it may send then: its own configuration stays as the source made it.
    const Camera* const camera = rig_.cameras.find(asked.name);
    const bool stays = camera != nullptr && camera->runs_as(asked);
    if (camera != nullptr && camera->asked->source != asked.source) streams.erase(asked.name);
    std::erase_if(then.cameras, [&](const CameraConfig& other) { return other.name == asked.name; });
    then.cameras.push_back(stays ? *camera->config : resolved(asked, {}));
  }
  const auto before = uses(now, with_configured(rig_.streams, now.cameras));
  const auto after = uses(then, with_configured(streams, then.cameras));
  const std::vector<ResourceUse> lacking = new_shortages(before, after);
  if (lacking.empty()) return;
  if (rig_.config->admission == Admission::refuse) throw Error("admission: " + describe(lacking));
  warn(lacking);
}

bool AdmissionControl::fits(const CameraConfig& coming) const {
  RigConfig rig = running();
  std::erase_if(rig.cameras, [&](const CameraConfig& other) { return other.name == coming.name; });
  const auto before = uses(rig, with_configured(rig_.streams, rig.cameras));
  rig.cameras.push_back(coming);
  return new_shortages(before, uses(rig, with_configured(rig_.streams, rig.cameras))).empty();
}

std::string AdmissionControl::on_stream(const Camera& camera, const KnownStream& stream) {
  if (stream.width == 0 || stream.height == 0) return {};
  const auto known = rig_.streams.find(camera.name());
  if (known != rig_.streams.end() && known->second == stream) return {};  // it was opened again
  // One that runs already, and sends more now, goes on.
  const bool may_refuse = rig_.config->admission == Admission::refuse && known == rig_.streams.end();
  KnownStreams before = rig_.streams;
  rig_.streams[camera.name()] = stream;
  has_news_ = true;
  if (!may_refuse) return {};
  try {
    const RigConfig rig = running();
    const std::vector<ResourceUse> lacking = new_shortages(uses(rig, before), uses(rig, rig_.streams));
    return lacking.empty() ? "" : "not started: " + describe(lacking);
  } catch (const Error& error) {  // which is no fault of the master, whose message this is
    spdlog::warn("{}: started without knowing whether the machine suffices: {}", camera.name(), error.what());
    return {};
  }
}

void AdmissionControl::forget(const std::string& camera) {
  rig_.streams.erase(camera);
  rig_.costs.encode_factors.erase(camera);
}

void AdmissionControl::follow() {
  if (encode_costs_.follow()) has_news_ = true;
  const auto now = Clock::now();
  if (now < (has_news_ ? next_look_ : latest_look_)) return;
  latest_look_ = now + longest_interval;
  taken_ = uses(running(), rig_.streams);
  if (std::exchange(has_news_, false)) {
    next_look_ = now + admission_interval;
    warn(shortages(taken_));
  }
  std::erase_if(taken_, [](const ResourceUse& use) { return use.resource == Resource::thread; });
}

void AdmissionControl::warn(const std::vector<ResourceUse>& lacking) {
  std::vector<ResourceUse> news;
  std::ranges::copy_if(lacking, std::back_inserter(news), [this](const ResourceUse& use) {
    const ResourceUse* before = same_in(warned_, use);
    return before == nullptr || use.part() > again * before->part();
  });
  if (news.empty()) return;
  spdlog::warn("admission: {}", describe(news));
  for (const ResourceUse& use : news) {
    std::erase_if(warned_,
                  [&](const ResourceUse& old) { return old.resource == use.resource && old.where == use.where; });
    warned_.push_back(use);
  }
}

}  // namespace campipe
