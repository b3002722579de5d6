#include "tests/sim/checks.h"

#include <fmt/format.h>
#include <spdlog/common.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace campipe::sim {
namespace {

constexpr auto newest_packet = seconds(4);  // status comes each second, or each second one

constexpr auto longest_move = seconds(11);           // 8 s are promised, and status comes each second or two
constexpr auto longest_hindered_move = seconds(40);  // until a process is found that hangs, and it has been ended

struct Frames {
  std::uint64_t came = 0;
  std::uint64_t left = 0;
};

Frames frames_of(const nlohmann::json& counts) {
  Frames frames{counts.at("decoded").get<std::uint64_t>() + counts.value("repeated", std::uint64_t{0}),
                counts.at("encoded").get<std::uint64_t>()};
  for (const auto& [cause, number] : counts.at("dropped").items()) frames.left += number.get<std::uint64_t>();
  return frames;
}

}  // namespace

void Checks::on_status(const nlohmann::json& status) {
  for (const auto& [name, camera] : status.at("cameras").items()) {
    const nlohmann::json& counts = camera.at("frames");
    const Frames frames = frames_of(counts);
    const std::uint64_t decoded = counts.at("decoded");
    const std::uint64_t encoded = counts.at("encoded");
    const std::uint64_t recorded = counts.at("recorded");
    if (frames.came < frames.left) world_.fail(fmt::format("{}: more frames left than came: {}", name, counts.dump()));
    Seen& seen = cameras_[name];
    if (decoded < seen.decoded || encoded < seen.encoded || recorded < seen.recorded)
      world_.fail(fmt::format("{}: a count goes back: {}, and before decoded {}, encoded {}, recorded {}", name,
                              counts.dump(), seen.decoded, seen.encoded, seen.recorded));
    const std::string state = camera.at("state");
    if (state != seen.state) world_.trace(fmt::format("{} is {} {}", name, state, camera.value("reason", "")));
    if (encoded != seen.encoded) seen.encoded_since = world_.now();
    seen.state = state;
    seen.reason = camera.value("reason", "");
    seen.decoded = decoded;
    seen.encoded = encoded;
    seen.recorded = recorded;
    if (is_quarantined(seen) && !may_be_quarantined(name))
      world_.fail(fmt::format("{} is quarantined, and has not crashed three times", name));
    if (is_quarantined(seen))
      world_.reached(status.at("cameras").size() > 1 ? "one of several cameras is quarantined"
                                                     : "a camera is quarantined");
    follow_move(name, seen, camera.contains("moves_to"));
    world_.reached("camera " + state);
    if (camera.contains("shed")) world_.reached("a camera gives way");
    for (const auto& [cause, number] : counts.at("dropped").items()) world_.reached("dropped " + cause);
  }
  for (const nlohmann::json& process : status.at("processes")) {
    if (process.contains("restarts_in_s")) world_.reached("a process waits for its restart");
  }
}

void Checks::follow_move(const std::string& name, Seen& seen, bool moves) {
  if (!moves) return seen.moves_since.reset();
  world_.reached("a move goes on");
  if (!seen.moves_since) seen.moves_since = world_.now();
  const auto longest = hinders_ ? longest_hindered_move : longest_move;
  if (world_.now() - *seen.moves_since > longest)
    world_.fail(fmt::format("{} is being moved for {} s", name, longest.count()));
}

void Checks::on_log(int level, const std::string& line) {
  world_.trace("log: " + line);
  if (line.ends_with("; the rig goes on")) world_.fail("the supervisor threw: " + line);
  if (level >= spdlog::level::critical) world_.fail("a critical line: " + line);
  if (line.find("wrote into a ring of") != std::string::npos || line.find(" accuses ") != std::string::npos)
    world_.fail("a process is accused, and none has damaged a ring: " + line);
  if (line.ends_with("does not answer; it is killed") && !hangs_)
    world_.fail("a process is killed for a hang, and none has hung: " + line);
  const bool goes_over = line.find(": its work is to go over from worker ") != std::string::npos;
  if (goes_over && !line.ends_with(": asked for")) world_.reached("a worker is relieved of a camera");
  const bool late =
      line.find(" in time: ") != std::string::npos || line.find("did not leave in time") != std::string::npos;
  if (late && !hinders_) world_.fail("the end comes late, and only deaths have come before: " + line);
  if (level < spdlog::level::err || line.find(" is ended: ") == std::string::npos) return;
  if (line.find(" is ended: it sent ") == std::string::npos) return world_.fail("a message was not taken: " + line);
  world_.reached("a message was refused");
  if (++refused_ > lies_) world_.fail("a message was refused that is right: " + line);
}

void Checks::on_fault(const Fault& fault, const std::string& process) {
  if (fault.kind == FaultKind::pause) paused_ = true;
  if (fault.kind == FaultKind::silent || fault.kind == FaultKind::stopped) hangs_ = true;
  hinders_ = hinders_ || !is_death(fault.kind);
  if (!process.empty()) uses_.befall(process, fault);
}

bool Checks::may_be_quarantined(const std::string& camera) const {
  return std::ranges::any_of(crashes_, [&](const auto& of) { return of.first.first == camera && of.second >= 3; });
}

bool Checks::any_may_be_quarantined() const {
  return std::ranges::any_of(crashes_, [](const auto& of) { return of.second >= 3; });
}

// Of the processes that the camera has used, and no others. A death of source, master or publisher loses no frame.
bool Checks::explains(const std::string& camera, const std::string& cause, bool settles) const {
  const bool by_worker = uses_.is_befallen(camera, Part::worker) || paused_;
  const bool by_publisher = uses_.is_befallen(camera, Part::publisher) || paused_;
  const bool by_master = uses_.is_befallen(camera, Part::master) || paused_;
  if (may_be_quarantined(camera)) return true;
  if (cause == "worker_lost") return by_worker || !settles;
  // Behind a master that was away for long more comes than a worker takes in time.
  if (cause == "queue_full") return by_worker || by_publisher || uses_.is_hindered(camera, Part::master);
  if (cause == "shed") return hinders_ || by_worker;  // another camera may be late
  if (cause == "publisher_slow") return by_publisher;
  if (cause == "decoder_slow") return by_master || by_worker || by_publisher;
  if (cause == "master_lost") return by_master && !settles;
  return cause == "stopped" && !settles;
}

bool Checks::is_quarantined(const Seen& seen) {
  return seen.state == "failed" && seen.reason.find("quarantined") != std::string::npos;
}

void Checks::require_running() const {
  if (cameras_.empty()) return world_.fail("no status has come");
  for (const auto& [name, seen] : cameras_) {
    if (is_quarantined(seen)) continue;
    if (seen.state != "running")
      world_.fail(fmt::format("{} is {} ({}), long after the last fault", name, seen.state, seen.reason));
    if (world_.now() - seen.encoded_since > newest_packet)
      world_.fail(fmt::format("{} delivers nothing, long after the last fault", name));
  }
}

void Checks::on_report(const std::string& report, bool settles) const {
  const auto json = nlohmann::json::parse(report, nullptr, false);
  if (json.is_discarded()) return world_.fail("there is no report");
  for (const auto& [name, camera] : json.at("cameras").items()) {
    const nlohmann::json& counts = camera.at("frames");
    const Frames frames = frames_of(counts);
    if (frames.came != frames.left)
      world_.fail(fmt::format("{}: {} frames came, and {} left: {}", name, frames.came, frames.left, counts.dump()));
    const std::uint64_t dealt_with =
        counts.at("recorded").get<std::uint64_t>() + counts.at("unrecorded").get<std::uint64_t>();
    if (dealt_with != counts.at("encoded").get<std::uint64_t>())
      world_.fail(fmt::format("{}: of its packets {} are accounted for: {}", name, dealt_with, counts.dump()));
    for (const auto& [cause, number] : counts.at("dropped").items()) {
      if (!explains(name, cause, settles))
        world_.fail(fmt::format("{}: {} frames are lost by {}, which no fault explains", name, number.dump(), cause));
    }
    world_.trace(fmt::format("report: {} {} {}", name, camera.at("state").get<std::string>(), counts.dump()));
  }
}

}  // namespace campipe::sim
