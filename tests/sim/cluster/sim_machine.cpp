#include "tests/sim/cluster/sim_machine.h"

#include <fmt/format.h>

#include <utility>

namespace campipe::sim {
namespace {

using namespace std::chrono_literals;

constexpr Span message_time = 1ms;  // between a supervisor and its process
constexpr Span agent_restart = 150ms;
constexpr Span rig_ends = 400ms;  // its files are closed by then

}  // namespace

std::vector<ClusterCamera> cluster_cameras(const std::vector<CameraSpec>& rig) {
  std::vector<ClusterCamera> cameras;
  for (const CameraSpec& camera : rig)
    cameras.push_back({.name = camera.name, .priority = camera.priority, .ways = camera.ways, .unit = camera.unit});
  return cameras;
}

SimMachine::SimMachine(World& world, ModelEtcd& etcd, const std::vector<CameraSpec>& rig, Options options,
                       MachineEars& ears)
    : world_(world), etcd_(etcd), specs_(rig), options_(std::move(options)), ears_(ears) {
  condition_.capacity = options_.capacity;
}

void SimMachine::trace(const std::string& what) {
  if (world_.traces()) world_.trace(options_.node + ": " + what);
}

NodeOffer SimMachine::offer() const {
  NodeOffer offer{options_.node, fmt::format("{}/{}", options_.id, starts_), "10.0.0.1:8443", "1"};
  offer.capacity = condition_.capacity;
  offer.draining = condition_.is_unusable;
  if (rig_) {
    const auto unfit = rig_->unfit();
    offer.unfit = {unfit.begin(), unfit.end()};
  }
  return offer;
}

void SimMachine::start() {
  if (is_on()) return;
  ++starts_;
  trace("starts");
  SimRig::Out out;
  const auto to_agent = [this](auto act) {
    if (agent_) agent_->process().soon(message_time, [agent = agent_.get(), act] { act(*agent); });
  };
  out.offer = [this, to_agent](const std::vector<std::string>&) {
    to_agent([offer = offer()](SimAgent& agent) { agent.on_offer(offer); });
  };
  out.hold = [to_agent](const messages::HoldPushes& hold) {
    to_agent([hold](SimAgent& agent) { agent.on_hold(hold); });
  };
  out.recorded = [to_agent](const std::map<std::string, std::string>& fences, bool has_files) {
    to_agent([fences, has_files](SimAgent& agent) { agent.on_recorded(fences, has_files); });
  };
  out.refused = [this] {
    world_.at(world_.now(), [this] {
      trace("ends: its name is taken");
      was_refused_ = true;
      kill();
    });
  };
  out.begins_to_write = [this](const std::string& camera, const std::string& fence) {
    trace(fmt::format("writes {} under {}", camera, fence));
    ears_.on_begins_to_write(*this, camera, fence);
  };
  was_refused_ = false;
  rig_ = std::make_unique<SimRig>(world_, specs_, condition_, std::move(out));
  start_agent();
}

void SimMachine::start_agent() {
  SimAgent::Options options{options_.keys, offer(), options_.ttl, rig_->duties(), {}};
  if (options_.runs_the_last) options.last_duties = saved_duties_;
  SimAgent::Out out;
  SimRig* const rig = rig_.get();
  out.lease = [this, rig](const messages::ClusterLease& lease) {
    rig->supervisor().soon(message_time, [rig, lease] { rig->on(lease); });
  };
  out.name_taken = [this, rig](const messages::NodeNameTaken& taken) {
    trace("its name is taken");
    ears_.on_name_taken();
    rig->supervisor().soon(message_time, [rig, taken] { rig->on(taken); });
  };
  out.duties = [this, rig](const messages::ClusterDuties& duties) {
    if (world_.traces()) {
      std::string text;
      for (const auto& duty : duties.cameras)
        text += fmt::format(" {}@{}{}", duty.camera, duty.fence, duty.leaving ? "(leaves)" : "");
      trace("is to run" + text);
    }
    rig->supervisor().soon(message_time, [rig, duties] { rig->on(duties); });
  };
  out.save_duties = [this](const NodeDuties& duties) {
    saved_duties_.emplace();
    for (const auto& [camera, duty] : duties) {
      if (!duty.is_leaving()) (*saved_duties_)[camera] = {duty.fence};
    }
  };
  out.planned = [this](const PlanSnapshot& snapshot, const PlanMade& made) {
    for (const auto& move : made.moves)
      trace(fmt::format("plans {}: {} → {} {}", move.camera, move.from, move.to, move.reason));
    if (!made.problem.empty()) trace("cannot plan: " + made.problem);
    ears_.on_planned(*this, snapshot, made);
  };
  out.has_left = [this, start = starts_] {
    if (starts_ == start) kill();
  };
  agent_ = std::make_unique<SimAgent>(world_, etcd_, link_, std::move(options), std::move(out));
  // What a new process is sent.
  agent_->process().soon(message_time, [this, agent = agent_.get()] {
    agent->on_cameras(cluster_cameras(specs_));
    agent->on_hold(rig_->held());
    agent->on_recorded(rig_->recorded(), rig_->has_files());
  });
  if (agent_is_stopped_) agent_->process().stop();
}

void SimMachine::kill() {
  if (is_on()) trace("is off");
  agent_.reset();
  rig_.reset();
}

void SimMachine::leave() {
  if (!is_on()) return;
  trace("leaves");
  rig_->end();
  rig_->supervisor().soon(rig_ends, [this] {
    if (agent_) agent_->process().soon(message_time, [agent = agent_.get()] { agent->on_leave(); });
    if (!agent_) world_.at(world_.now(), [this] { kill(); });
  });
}

void SimMachine::kill_agent() {
  if (!agent_) return;
  trace("its process cluster dies");
  agent_.reset();
  rig_->supervisor().soon(agent_restart, [this] {
    if (!agent_) start_agent();
  });
}

void SimMachine::set_stopped(bool agent, bool supervisor, bool cameras) {
  agent_is_stopped_ = agent;
  const auto set = [](Process& process, bool stopped) {
    if (stopped) return process.stop();
    if (process.is_stopped()) process.go_on();
  };
  if (agent_) set(agent_->process(), agent);
  if (!rig_) return;
  set(rig_->supervisor(), supervisor);
  set(rig_->cameras(), cameras);
}

void SimMachine::set_rig(const std::vector<CameraSpec>& rig) {
  if (!rig_) return;
  rig_->supervisor().soon(message_time, [this, rig] {
    rig_->set_rig(rig);
    if (agent_)
      agent_->process().soon(message_time, [agent = agent_.get(), rig] { agent->on_cameras(cluster_cameras(rig)); });
  });
}

void SimMachine::offer_again() {
  if (agent_) agent_->process().soon(message_time, [agent = agent_.get(), offer = offer()] { agent->on_offer(offer); });
}

}  // namespace campipe::sim
