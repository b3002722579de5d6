#include "tests/sim/cluster/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/cluster/plan_store.h"
#include "tests/sim/cluster/checks.h"
#include "tests/sim/cluster/operator_requests.h"

namespace campipe::sim {
namespace {

using namespace std::chrono_literals;

constexpr Span sample_interval = 25ms;
constexpr Span longest_first_start = 3s;
constexpr Span backup_age = 11s;
constexpr Span start_after_refusal = 4s;
constexpr Span latest_rig_change = 1s;

}  // namespace

Cluster::Cluster(const Scenario& scenario, std::vector<std::string>* trace)
    : scenario_(scenario), world_(scenario.seed), etcd_(world_), rig_(scenario.cameras) {
  world_.set_trace(trace);
  checks_ = std::make_unique<Checks>(*this);
  etcd_.on_change([this] {
    for (const auto& machine : machines_) {
      if (machine->agent() != nullptr) machine->agent()->watch().look();
    }
    checks_->on_change();
  });
  etcd_.on_txn([this](const EtcdTxn& txn) { checks_->on_txn(txn); });
  const Time began = world_.now();
  for (std::size_t i = 0; i < scenario.capacity.size(); ++i) {
    machines_.push_back(std::make_unique<SimMachine>(
        world_, etcd_, rig_,
        SimMachine::Options{keys_, node(i), node(i), ttl, scenario.runs_the_last[i], scenario.capacity[i]}, *this));
    world_.at(began + world_.random().between(Span{0}, longest_first_start), [this, i] { machines_[i]->start(); });
  }
  for (const Fault& fault : scenario.faults) {
    if (fault.kind == FaultKind::backup)
      world_.at(began + fault.at - std::min<Span>(backup_age * (fault.detail % 3 + 1), fault.at - 5s),
                [this] { etcd_.save_backup(); });
    world_.at(began + fault.at, [this, &fault] { begin(fault); });
    world_.at(began + fault.at + fault.lasts, [this, &fault] { end(fault); });
  }
}

Cluster::~Cluster() = default;

std::optional<Violation> Cluster::run() {
  const Time end = world_.now() + scenario_.end;
  // A camera that goes home, say, is at two nodes for a moment.
  while ((world_.now() < end || (checks_->is_moving() && world_.now() < end + Checks::longest_unrest)) &&
         !checks_->violation()) {
    world_.run_until(world_.now() + sample_interval);
    checks_->sample();
  }
  if (!checks_->violation()) checks_->at_end();
  if (checks_->violation()) world_.trace(checks_->violation()->property + ": " + checks_->violation()->text);
  return checks_->violation();
}

void Cluster::on_planned(SimMachine& by, const PlanSnapshot& snapshot, const PlanMade& made) {
  checks_->on_planned(by, snapshot, made);
}

void Cluster::on_begins_to_write(SimMachine& by, const std::string& camera, const std::string& fence) {
  checks_->on_begins_to_write(by, camera, fence);
}

bool Cluster::has(FaultKind kind, std::size_t machine) const {
  return std::ranges::any_of(active_,
                             [&](const Fault* fault) { return fault->kind == kind && fault->machine == machine; });
}

bool Cluster::has(FaultKind kind) const {
  return std::ranges::any_of(active_, [&](const Fault* fault) { return fault->kind == kind; });
}

// What is there as long as a fault lasts. What faults overlap, ends with the last of them.
void Cluster::refresh() {
  for (std::size_t i = 0; i < scenario_.capacity.size(); ++i) {
    SimMachine& machine = *machines_[i];
    NodeLink& link = machine.link();
    const bool is_cut = has(FaultKind::cut, i);
    const bool in = !is_cut && !has(FaultKind::drop_in, i);
    if (link.in && !in) link.in_lost_at = world_.now();
    link.in = in;
    link.out = !is_cut && !has(FaultKind::drop_out, i);
    link.slow = has(FaultKind::slow_link, i) ? Span(350ms) : Span{0};
    link.late = has(FaultKind::late_requests, i);
    link.watch_is_stale = has(FaultKind::stale_watch, i);
    const bool all = has(FaultKind::stop, i);
    machine.set_stopped(all || has(FaultKind::stop_agent, i), all || has(FaultKind::stop_rig, i), all);
    SimRig::Machine& condition = machine.condition();
    condition.disk_is_full = has(FaultKind::disk_full, i);
    condition.is_unusable = has(FaultKind::unusable, i);
    condition.cannot_run.clear();
    condition.slow.clear();
    condition.capacity = scenario_.capacity[i];
    for (const Fault* fault : active_) {
      if (fault->machine != i) continue;
      const std::string& camera = scenario_.cameras[fault->camera].name;
      if (fault->kind == FaultKind::cannot_run) condition.cannot_run.insert(camera);
      if (fault->kind == FaultKind::slow_source) condition.slow.insert(camera);
      constexpr std::array boasts{1e6, 0.0, -5.0, 1e308};
      for (auto& [resource, amount] : condition.capacity) {
        if (fault->kind == FaultKind::less_capacity) amount = amount / 2;
        if (fault->kind == FaultKind::boast) amount = boasts.at(fault->detail % boasts.size());
      }
    }
    machine.offer_again();
  }
  etcd_.set_leader(!has(FaultKind::leader_change) && !has(FaultKind::no_quorum));
  etcd_.set_full(has(FaultKind::full));
}

void Cluster::begin(const Fault& fault) {
  world_.trace("FAULT " + describe(fault));
  reach(std::string("fault ") + name_of(fault.kind));
  active_.insert(&fault);
  last_change_ = last_begin_ = world_.now();
  refresh();
  SimMachine& machine = *machines_[fault.machine];
  switch (fault.kind) {
    case FaultKind::kill:
      return machine.kill();
    case FaultKind::leave:
      return machine.leave();
    case FaultKind::kill_agent:
      return machine.kill_agent();
    case FaultKind::compaction:
      machine.link().is_compacted = true;
      return;
    case FaultKind::less_cameras:
      return change_rig();
    case FaultKind::twin:
      machines_.push_back(std::make_unique<SimMachine>(
          world_, etcd_, rig_,
          SimMachine::Options{keys_, machine.node(), "twin", ttl, false, scenario_.capacity[fault.machine]}, *this));
      return machines_.back()->start();
    default:
      return begin_in_etcd(fault);
  }
}

void Cluster::end(const Fault& fault) {
  world_.trace("over  " + describe(fault));
  active_.erase(&fault);
  last_change_ = world_.now();
  refresh();
  switch (fault.kind) {
    case FaultKind::kill:
    case FaultKind::leave:
      return start_again(fault.machine);
    case FaultKind::less_cameras:
      return change_rig();
    case FaultKind::twin:
      for (std::size_t i = scenario_.capacity.size(); i < machines_.size(); ++i) machines_[i]->kill();
      return start_again(fault.machine);
    default:
      return end_in_etcd(fault);
  }
}

// Also when another start had its name.
void Cluster::start_again(std::size_t machine) {
  if (!has(FaultKind::kill, machine) && !has(FaultKind::leave, machine)) machines_[machine]->start();
  world_.at(world_.now() + start_after_refusal, [this, machine] {
    if (machines_[machine]->was_refused()) start_again(machine);
  });
}

void Cluster::begin_in_etcd(const Fault& fault) {
  const std::string& camera = scenario_.cameras[fault.camera].name;
  switch (fault.kind) {
    case FaultKind::backup:
      return etcd_.restore_backup();
    case FaultKind::lost_data:
      return etcd_.lose_data();
    case FaultKind::drain:
      return etcd_.put(keys_.drained(node(fault.machine)), R"({"schema":1})");
    case FaultKind::wish:
      return etcd_.put(keys_.wanted(camera), R"({"schema":1,"node":")" + node(fault.machine) + "\"}");
    case FaultKind::bad_assignment:
    case FaultKind::newer_assignment:
    case FaultKind::bad_plan:
      return spoil_plan(fault);
    default:
      return lie(fault, true);
  }
}

void Cluster::end_in_etcd(const Fault& fault) {
  const std::string& camera = scenario_.cameras[fault.camera].name;
  switch (fault.kind) {
    case FaultKind::backup:
    case FaultKind::lost_data:
    case FaultKind::bad_plan:
      return raise_epoch();
    case FaultKind::drain:
      return etcd_.erase(keys_.drained(node(fault.machine)));
    case FaultKind::wish:
      return etcd_.erase(keys_.wanted(camera));
    case FaultKind::newer_assignment:
      return etcd_.erase(keys_.generation(read_plan(etcd_.keys(), keys_).generation) + camera);
    default:
      return lie(fault, false);
  }
}

void Cluster::spoil_plan(const Fault& fault) {
  const std::uint64_t generation = read_plan(etcd_.keys(), keys_).generation;
  if (fault.kind == FaultKind::bad_plan) return etcd_.put(keys_.plan(), "garbage");
  etcd_.put(keys_.generation(generation) + scenario_.cameras[fault.camera].name,
            fault.kind == FaultKind::bad_assignment ? R"({"schema":1,"node":7})" : R"({"schema":2})");
}

void Cluster::lie(const Fault& fault, bool begins) {
  const SimMachine& machine = *machines_[fault.machine];
  const std::string node_key = keys_.node(machine.node());
  const EtcdKeyValue* const offer = etcd_.keys().find(node_key);
  const std::int64_t lease = offer == nullptr ? 0 : offer->lease;
  const std::string& camera = scenario_.cameras[fault.camera].name;
  // Of a node that is away, or of one that never was.
  const std::string nobody = offer == nullptr ? machine.node() : "ghost";
  switch (fault.kind) {
    case FaultKind::bad_offer:
    case FaultKind::newer_offer: {
      const char* const bad = fault.kind == FaultKind::bad_offer ? "garbage" : R"({"schema":2})";
      if (lease != 0) etcd_.put(node_key, begins ? bad : write_offer(machine.offer()), lease);
      return;
    }
    case FaultKind::offer_of_nobody:
      if (begins)
        return etcd_.put(keys_.node(nobody), write_offer({nobody, "1", "", "1", 1, 1, {}, {}, {{"cores", 1000}}}));
      if (offer != nullptr && lease == 0) etcd_.erase(node_key);
      return etcd_.erase(keys_.node("ghost"));
    case FaultKind::candidate_of_nobody:
      if (begins) return etcd_.put(keys_.planner(nobody), R"({"schema":1})");
      return etcd_.erase(keys_.planner("ghost"));
    case FaultKind::effect_of_nobody:
      if (begins && etcd_.keys().find(keys_.effect(camera)) == nullptr)
        etcd_.put(keys_.effect(camera), R"({"schema":1,"node":"ghost"})");
      return;
    case FaultKind::false_recorder: {
      const StoredPlan plan = read_plan(etcd_.keys(), keys_);
      const auto stored = plan.cameras.find(camera);
      if (!begins || stored == plan.cameras.end() || lease == 0) return;
      etcd_.put(keys_.recorder(machine.node(), camera),
                R"({"schema":1,"fence":")" + text_of(stored->second.fence) + "\"}", lease);
      return;
    }
    default:
      return;
  }
}

void Cluster::raise_epoch() {
  operator_acts_ = true;
  OperatorRequests etcd(etcd_);
  const auto now = static_cast<std::uint64_t>(1'700'000'000 + world_.seconds());
  const PlanWriteResult written = campipe::raise_epoch(etcd, keys_, read_plan(etcd_.keys(), keys_), now);
  operator_acts_ = false;
  world_.trace(written.outcome == PlanWritten::done ? "a person says that it counts" : written.message);
  if (written.outcome == PlanWritten::done) return;
  world_.at(world_.now() + 1s, [this] { raise_epoch(); });
}

// Each node takes its own time to load it.
void Cluster::change_rig() {
  rig_ = scenario_.cameras;
  std::erase_if(rig_, [this](const CameraSpec& camera) {
    return std::ranges::any_of(active_, [&](const Fault* fault) {
      return fault->kind == FaultKind::less_cameras && scenario_.cameras[fault->camera].name == camera.name;
    });
  });
  if (rig_.empty()) rig_ = scenario_.cameras;
  for (const auto& machine : machines_) {
    world_.at(world_.now() + world_.random().between(Span{0}, latest_rig_change),
              [this, machine = machine.get()] { machine->set_rig(rig_); });
  }
}

}  // namespace campipe::sim
