#include "tests/sim/checks.h"

#include <fmt/format.h>
#include <spdlog/common.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "tests/sim/gpus.h"

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

void Checks::on_status(const nlohmann::json& status, bool ends) {
  status_ = status;
  std::erase_if(outputs_, [&](const auto& seen) { return seen.second.status != status_number_; });
  ++status_number_;
  for (const auto& [name, camera] : status.at("cameras").items()) {
    on_output(name, name, camera);
    if (!camera.contains("outputs")) continue;
    for (const auto& [output, json] : camera.at("outputs").items()) on_output(name, name + "/" + output, json);
  }
  if (!ends) on_processes(status.at("processes"));
}

// The next status shows what has changed since this one was begun.
void Checks::on_processes(const nlohmann::json& processes) {
  std::set<std::string> away;
  for (const nlohmann::json& process : processes) {
    if (process.contains("restarts_in_s")) away.insert(process.at("role"));
  }
  if (!away.empty()) world_.reached("a process waits for its restart");
  for (auto& [name, seen] : outputs_) {
    // A copied camera goes on without it.
    const bool delivers = seen.encoded_since == world_.now();
    const bool stalls = name == seen.camera && seen.state == "running" && !delivers && away.contains(seen.worker);
    if (std::exchange(seen.stalls, stalls) && stalls)
      world_.fail(fmt::format("{} is running, while {} waits for its restart", name, seen.worker));
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

void Checks::on_output(const std::string& camera, const std::string& name, const nlohmann::json& shown) {
  const nlohmann::json& counts = shown.at("frames");
  const Frames frames = frames_of(counts);
  const std::uint64_t decoded = counts.at("decoded");
  const std::uint64_t encoded = counts.at("encoded");
  const std::uint64_t recorded = counts.at("recorded");
  if (frames.came < frames.left) world_.fail(fmt::format("{}: more frames left than came: {}", name, counts.dump()));
  Seen& seen = outputs_[name];
  const bool back = decoded < seen.decoded || encoded < seen.encoded || recorded < seen.recorded;
  if (back && removed_.erase(name) == 0)
    world_.fail(fmt::format("{}: a count goes back: {}, and before decoded {}, encoded {}, recorded {}", name,
                            counts.dump(), seen.decoded, seen.encoded, seen.recorded));
  const std::string state = shown.at("state");
  if (state != seen.state) world_.trace(fmt::format("{} is {} {}", name, state, shown.value("reason", "")));
  if (encoded != seen.encoded) seen.encoded_since = world_.now();
  seen.status = status_number_;
  seen.camera = camera;
  seen.on_demand = shown.value("on_demand", false);
  seen.state = state;
  seen.reason = shown.value("reason", "");
  if (shown.contains("worker")) seen.worker = fmt::format("worker {}", shown.at("worker").dump());
  seen.decoded = decoded;
  seen.encoded = encoded;
  seen.recorded = recorded;
  if (is_quarantined(seen) && !may_be_quarantined(camera))
    world_.fail(fmt::format("{} is quarantined, and has not crashed three times", name));
  if (is_quarantined(seen))
    world_.reached(status_.at("cameras").size() > 1 ? "one of several cameras is quarantined"
                                                    : "a camera is quarantined");
  follow_move(name, seen, shown.contains("moves_to"));
  if (shown.contains("shed")) world_.reached("a camera gives way");
  if (!shown.at("records").get<bool>()) not_all_recorded_.insert(name);
  world_.reached("camera " + state);
  if (shown.contains("recording_paused")) world_.reached("a recording is paused");
  for (const auto& [cause, number] : counts.at("dropped").items()) world_.reached("dropped " + cause);
}

// "gate: removed; running, 100 frames decoded, 98 encoded, 2 dropped (worker_lost), …"
void Checks::on_end_of_life(const std::string& line, const std::string& how, std::size_t at) {
  const std::string name = line.substr(0, at);
  world_.reached("a camera is " + how);
  ++lives_[name];
  // What its successor has may be other outputs.
  if (how == "removed" || name.find('/') != std::string::npos) on_removed(name);
  std::uint64_t came = 0;
  std::uint64_t left = 0;
  std::istringstream counts(line.substr(at));
  for (std::string part; std::getline(counts, part, ',');) {
    const std::uint64_t number = std::strtoull(part.c_str(), nullptr, 10);
    if (part.find(" frames decoded") != std::string::npos) came += number;
    if (part.find(" repeated)") != std::string::npos)
      came += std::strtoull(part.c_str() + part.find('(') + 1, nullptr, 10);
    if (part.find(" encoded") != std::string::npos || part.find(" dropped (") != std::string::npos) left += number;
  }
  if (came != left) world_.fail("frames are not accounted for: " + line);
}

unsigned Checks::life_of(const std::string& camera) const {
  const auto found = lives_.find(camera);
  return found == lives_.end() ? 0 : found->second;
}

void Checks::on_log(int level, const std::string& line) {
  world_.trace("log: " + line);
  for (const char* const how : {"removed", "changed", "disabled"}) {
    const std::string mark = fmt::format(": {}; ", how);
    if (const auto at = line.find(mark); at != std::string::npos) on_end_of_life(line, how, at);
  }
  // Then it comes anew, as another one.
  if (const auto at = line.find(": sends "); at != std::string::npos) ++lives_[line.substr(0, at)];
  if (line.ends_with("; the rig goes on")) world_.fail("the supervisor threw: " + line);
  if (level >= spdlog::level::critical) world_.fail("a critical line: " + line);
  if (line.find("wrote into a ring of") != std::string::npos || line.find(" accuses ") != std::string::npos)
    world_.fail("a process is accused, and none has damaged a ring: " + line);
  if (line.find(", since its GPU is gone") != std::string::npos)
    uses_.befall(line.substr(0, line.find(" is ended after ")), {FaultKind::kill});
  if (line.ends_with("does not answer; it is killed") && !hangs_)
    world_.fail("a process is killed for a hang, and none has hung: " + line);
  const bool goes_over = line.find(": its work is to go over from worker ") != std::string::npos;
  if (goes_over && !line.ends_with(": asked for")) world_.reached("a worker is relieved of a camera");
  for (const char* const why : {"it is being changed", "it is being removed", "it is disabled"}) {
    if (line.find(": is not moved to worker ") != std::string::npos && line.ends_with(why))
      world_.reached(fmt::format("a move ends, since {}", why));
  }
  const bool late =
      line.find(" in time: ") != std::string::npos || line.find("did not leave in time") != std::string::npos;
  if (late && !hinders_) world_.fail("the end comes late, and only deaths have come before: " + line);
  if (level < spdlog::level::err || line.find(" is ended: ") == std::string::npos) return;
  if (hinders_ && line.find(" is ended: it does not let go of ") != std::string::npos)
    return world_.reached("a master does not let go of a camera");
  if (line.find(" is ended: it sent ") == std::string::npos) return world_.fail("a message was not taken: " + line);
  world_.reached("a message was refused");
  if (++refused_ > lies_) world_.fail("a message was refused that is right: " + line);
}

void Checks::on_fault(const Fault& fault, const std::string& process) {
  if (fault.kind == FaultKind::pause) paused_ = true;
  if (fault.kind == FaultKind::silent || fault.kind == FaultKind::stopped) hangs_ = true;
  if (fault.kind == FaultKind::gpu_away && trouble_of(fault) == GpuTrouble::hangs) hangs_ = true;
  hinders_ = hinders_ || !is_death(fault.kind);
  if (fault.kind == FaultKind::disk_full) disk_full_ = true;
  if (!process.empty()) uses_.befall(process, fault);
}

bool Checks::may_be_quarantined(const std::string& camera) const {
  return std::ranges::any_of(crashes_, [&](const auto& of) { return of.first.first == camera && of.second >= 3; });
}

bool Checks::any_may_be_quarantined() const {
  return std::ranges::any_of(crashes_, [](const auto& of) { return of.second >= 3; });
}

// A member of a group waits for the others of it.
bool Checks::explains(const std::string& camera, const std::string& cause, bool settles) const {
  if (own_faults_explain(camera, cause, settles)) return true;
  if (!groups_.was_member(camera) || cause == "worker_lost") return false;
  if (cause == "late" || cause == "set_incomplete" || cause == "out_of_step" || cause == "rate") return true;
  const auto others = groups_.others_with(camera);
  return hinders_ ||
         std::ranges::any_of(others, [&](const auto& other) { return own_faults_explain(other, cause, settles); });
}

// Of the processes that the camera has used, and no others. A death of source, master or publisher loses no frame.
bool Checks::own_faults_explain(const std::string& camera, const std::string& cause, bool settles) const {
  const bool by_worker = uses_.is_befallen(camera, Part::worker) || paused_;
  const bool by_publisher = uses_.is_befallen(camera, Part::publisher) || paused_;
  const bool by_master = uses_.is_befallen(camera, Part::master) || paused_;
  if (may_be_quarantined(camera) || cause == "unwatched") return true;
  if (cause == "worker_lost" || cause == "part_missing") return by_worker || !settles;
  // Behind a master that was away for long more comes than a worker takes in time.
  if (cause == "queue_full") return by_worker || by_publisher || uses_.is_hindered(camera, Part::master);
  if (cause == "shed") return hinders_ || by_worker;  // another camera may be late
  if (cause == "publisher_slow") return by_publisher;
  if (cause == "decoder_slow") return by_master || by_worker || by_publisher;
  if (cause == "master_lost") return by_master && !settles;
  return cause == "stopped" && !settles;
}

// Nobody has asked for less; where a camera's recording stops, that of its outputs does.
bool Checks::records_all(const std::string& name) const {
  return !not_all_recorded_.contains(name) && !not_all_recorded_.contains(name.substr(0, name.find('/')));
}

bool Checks::is_quarantined(const Seen& seen) {
  return seen.state == "failed" && seen.reason.find("quarantined") != std::string::npos;
}

void Checks::require_running() const {
  if (status_.is_null()) return world_.fail("no status has come");
  for (const auto& [name, seen] : outputs_) {
    if (is_quarantined(seen) || seen.state == "disabled") continue;  // as its owner knows
    if (name == seen.camera) require_recovered(name);
    if (seen.state != "running")
      world_.fail(fmt::format("{} is {} ({}), long after the last fault", name, seen.state, seen.reason));
    if (!seen.on_demand && world_.now() - seen.encoded_since > newest_packet)
      world_.fail(fmt::format("{} delivers nothing, long after the last fault", name));
  }
}

// Neither is a recording paused, nor a target away.
void Checks::require_recovered(const std::string& name) const {
  const nlohmann::json& camera = status_.at("cameras").at(name);
  if (camera.contains("recording_paused")) world_.fail(fmt::format("{}: its recording is still paused", name));
  const nlohmann::json pushes = camera.value("push", nlohmann::json::object());
  for (const auto& [url, push] : pushes.items()) {
    world_.reached("a push goes on");
    if (push.at("state") != "connected") world_.fail(fmt::format("{} is still not pushed to {}", name, url));
  }
}

void Checks::on_report(const std::string& report, bool settles) const {
  const auto json = nlohmann::json::parse(report, nullptr, false);
  if (json.is_discarded()) return world_.fail("there is no report");
  for (const auto& [name, camera] : json.at("cameras").items()) {
    check_end(name, camera, settles);
    if (!camera.contains("outputs")) continue;
    for (const auto& [output, shown] : camera.at("outputs").items()) check_end(name + "/" + output, shown, settles);
  }
}

void Checks::check_end(const std::string& name, const nlohmann::json& shown, bool settles) const {
  const nlohmann::json& counts = shown.at("frames");
  const Frames frames = frames_of(counts);
  if (frames.came != frames.left)
    world_.fail(fmt::format("{}: {} frames came, and {} left: {}", name, frames.came, frames.left, counts.dump()));
  const std::uint64_t dealt_with =
      counts.at("recorded").get<std::uint64_t>() + counts.at("unrecorded").get<std::uint64_t>();
  if (records_all(name) && dealt_with != counts.at("encoded").get<std::uint64_t>())
    world_.fail(fmt::format("{}: of its packets {} are accounted for: {}", name, dealt_with, counts.dump()));
  // A recording that is asked for again begins with a key frame.
  const std::string camera = name.substr(0, name.find('/'));
  const bool may_be_unrecorded = disk_full_ || !records_all(name) || any_may_be_quarantined() || !settles ||
                                 uses_.is_befallen(camera, Part::publisher);
  if (!may_be_unrecorded && counts.at("unrecorded") != 0)
    world_.fail(
        fmt::format("{}: {} packets are in no file, which no fault explains", name, counts.at("unrecorded").dump()));
  for (const auto& [cause, number] : counts.at("dropped").items()) {
    if (!explains(camera, cause, settles))
      world_.fail(fmt::format("{}: {} frames are lost by {}, which no fault explains", name, number.dump(), cause));
  }
  world_.trace(fmt::format("report: {} {} {}", name, shown.at("state").get<std::string>(), counts.dump()));
}

}  // namespace campipe::sim
