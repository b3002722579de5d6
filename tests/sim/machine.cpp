#include "tests/sim/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/control/messages/answer.h"
#include "app/control/messages/to_publisher.h"
#include "core/error.h"
#include "tests/sim/gpu_check.h"
#include "tests/sim/load_child.h"

namespace campipe::sim {
namespace {

constexpr std::uint64_t gpu_check_killed_once_in = 16;
constexpr std::uint64_t silent_once_in = 4;  // cameras
constexpr auto between_looks = seconds(5);   // whether cameras run
constexpr auto longest_hang = seconds(2);    // of a main thread: it is found within a second

// "worker 2"
Part part_of(const std::string& role) {
  for (const Part part : {Part::source, Part::master, Part::worker, Part::publisher, Part::cluster}) {
    if (role.substr(0, role.find(' ')) == name_of(part)) return part;
  }
  throw Error("this machine has no program for " + role);
}

std::uint64_t number_of(const std::string& text) {
  std::uint64_t number = 0xcbf29ce484222325;
  for (const char letter : text) number = (number ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return number;
}

}  // namespace

Machine::Machine(World& world, Course course, const RigChoice& choice)
    : world_(world),
      group_watch_(world, choice.file()),
      mosaics_(choice.mosaics()),
      cluster_(world, choice),
      cluster_watch_(world, cluster_, checks_, choice),
      course_(std::move(course)),
      gpus_(world, choice.gpus()),
      owner_(*this, choice),
      end_(world.now() + course_.ends),
      seed_of_children_(world.chance.number()) {
  for (const Fault& fault : course_.faults) {
    const bool is_missing = fault.kind == FaultKind::gpu_away && fault.at.count() == 0;
    if (is_missing) befall(fault);
    if (!is_missing) world_.in(fault.at, [this, fault] { befall(fault); });
  }
  for (const MoveWish& wish : course_.moves) {
    world_.in(wish.at, [this, wish] {
      world_.trace("wish: " + describe(wish));
      mover_.ask(wish);
    });
  }
  for (const Change& change : course_.changes) {
    world_.in(change.at, [this, change] {
      calm_since_ = std::max(calm_since_, world_.now());
      owner_.make(change);
    });
  }
  wake_supervisor_at(end_);
}

Machine::~Machine() = default;

std::unique_ptr<ChildProcess> Machine::start(const std::string& role) {
  const Part part = part_of(role);
  auto& known = roles_.at(static_cast<std::size_t>(part));
  if (std::ranges::find(known, role) == known.end()) known.push_back(role);
  if (unsigned& failing = failing_starts_[role]; failing > 0) {
    --failing;
    calm_since_ = world_.now();
    throw Error(fmt::format("cannot start {}: Resource temporarily unavailable", role));
  }
  // The same whatever befell the others.
  Chance chance(seed_of_children_ ^ (0x9E3779B97F4A7C15 * (number_of(role) + lives_[role]++)));
  const auto child = std::make_shared<Child>(*this, part, role, next_pid_++, chance.split());
  world_.trace(fmt::format("{} (pid {}) is started", role, child->pid()));
  children_.push_back(child);
  conduct_.start(child->pid(), role);
  child->start();
  return std::make_unique<ChildHandle>(child);
}

std::unique_ptr<ChildProcess> Machine::start_load(const std::string& file) {
  const LoadTrouble trouble = owner_.take_trouble();
  if (trouble == LoadTrouble::cannot_start) throw Error("cannot start load-config: Resource temporarily unavailable");
  return std::make_unique<LoadChild>(world_, owner_, file, next_pid_++, trouble, world_.chance.split());
}

std::unique_ptr<ChildProcess> Machine::start_gpu_check(const Device& device) {
  if (gpus_.trouble_of(device) == GpuTrouble::unchecked)
    throw Error("cannot start check-gpu: Resource temporarily unavailable");
  const bool is_killed = world_.chance.one_in(gpu_check_killed_once_in);
  if (is_killed) gpu_watch_.on_failed_look();
  const nanoseconds takes = world_.chance.between(milliseconds(20), milliseconds(1500));
  return std::make_unique<GpuCheck>(world_, gpus_, device, next_pid_++, is_killed, takes);
}

std::size_t Machine::running() const {
  return static_cast<std::size_t>(std::ranges::count_if(children_, &Child::is_alive));
}

nanoseconds Machine::time_to_die(const std::string& role) {
  const nanoseconds slow = std::exchange(slow_deaths_[role], nanoseconds(0));
  return std::max(slow, world_.chance.between(microseconds(100), milliseconds(20)));
}

void Machine::bury(std::unique_ptr<Role> role, std::optional<RigPage> page) {
  if (role) graves_.emplace_back(std::move(role), std::move(page));
}

bool Machine::awaits_supervisor() const {
  return std::ranges::any_of(children_, [](const auto& child) { return child->awaits_supervisor(); });
}

void Machine::wake_supervisor_at(Clock::time_point when) {
  world_.at(when, [] {});
}

Child* Machine::publisher() const {
  const auto found = std::ranges::find_if(
      children_, [](const auto& child) { return child->part() == Part::publisher && child->serves(); });
  return found != children_.end() ? found->get() : nullptr;
}

std::optional<std::string> Machine::camera_of(std::uint64_t number) const {
  if (cameras_.empty()) return std::nullopt;
  const std::uint64_t which = number % (cameras_.size() + mosaics_.size());
  return which < cameras_.size() ? cameras_[which] : mosaics_[which - cameras_.size()];
}

std::string Machine::target_of(const Fault& fault) const {
  const auto& known = roles_.at(static_cast<std::size_t>(fault.part));
  return known.empty() ? name_of(fault.part) : known[fault.process % known.size()];
}

bool Machine::camera_is_there(const std::string& camera) {
  auto known = std::ranges::find(cameras_, camera);
  if (known == cameras_.end()) known = cameras_.insert(cameras_.end(), camera);
  const auto number = static_cast<std::uint64_t>(known - cameras_.begin());
  const auto away = camera_away_until_.find(number);
  return world_.now() >= all_away_until_ && (away == camera_away_until_.end() || world_.now() >= away->second);
}

bool Machine::has_sound(const std::string& camera) const {
  return (seed_of_children_ ^ number_of(camera)) % silent_once_in != 0;
}

void Machine::befall(const Fault& fault) {
  const std::string target = is_of_process(fault.kind) ? target_of(fault) : "";
  world_.trace(fmt::format("fault: {} {}", describe(fault), target));
  if (!is_of_cluster(fault.kind)) checks_.on_fault(fault, target);
  if (!is_of_cluster(fault.kind)) group_watch_.on_fault(fault);
  calm_since_ = std::max(calm_since_, world_.now() + fault.lasts);
  switch (fault.kind) {
    case FaultKind::start_fails:
      failing_starts_[target] = 1 + static_cast<unsigned>(fault.detail);
      break;
    case FaultKind::slow_death:
      slow_deaths_[target] = milliseconds(500) * static_cast<int>(1 + fault.detail);
      break;
    case FaultKind::camera_away:
      if (is_of_all_cameras(fault)) all_away_until_ = world_.now() + fault.lasts;
      if (!is_of_all_cameras(fault) && !cameras_.empty())
        camera_away_until_[fault.camera % cameras_.size()] = world_.now() + fault.lasts;
      break;
    case FaultKind::disk_full:
      disk_full_until_ = world_.now() + fault.lasts;
      disk_breaks_ = disk_breaks_ || breaks_disk(fault);
      break;
    case FaultKind::targets_away:
      targets_away_until_ = world_.now() + fault.lasts;
      break;
    case FaultKind::gpu_away:
      take_away_gpu(fault);
      break;
    case FaultKind::cut_off:
      cluster_.cut_off(fault.lasts);
      break;
    case FaultKind::name_taken:
      cluster_.take_name(fault.lasts);
      break;
    case FaultKind::given_away:
      cluster_.give_away(fault.camera, fault.lasts);
      break;
    case FaultKind::pause:
      paused_until_ = std::max(paused_until_, world_.now() + fault.lasts);  // one within another does not end that
      if (!stops_machine(fault)) break;
      for (const auto& child : children_) {  // the supervisor comes first
        const nanoseconds later = world_.chance.between(nanoseconds(0), milliseconds(100));
        child->befall({FaultKind::stopped, fault.part, fault.at, fault.lasts + later});
      }
      break;
    default:
      for (const auto& child : children_) {
        if (child->name() != target || !child->is_alive()) continue;
        world_.reached(fmt::format("fault {} of {}", name_of(fault.kind), name_of(fault.part)));
        child->befall(fault);
        const bool hangs = fault.kind == FaultKind::silent || fault.kind == FaultKind::stopped;
        if (hangs && fault.lasts > longest_hang) require_killed(child);
      }
  }
  world_.reached(fmt::format("fault {}", name_of(fault.kind)));
}

// Behind all that it does in this turn.
void Machine::on_move_step(Child& worker, MoveStep step) {
  if (dies_at_ != step) return;
  dies_at_.reset();
  world_.in(nanoseconds(0), [this, name = worker.name(), pid = worker.pid(), step] {
    const auto child = std::ranges::find(children_, pid, &Child::pid);
    if (child == children_.end() || !(*child)->is_alive()) return;
    world_.trace(fmt::format("{} dies at a step of a move: {}", name, name_of(step)));
    world_.reached(fmt::format("death at a step of a move: {}", name_of(step)));
    const Fault kill{FaultKind::kill, Part::worker, nanoseconds(0), nanoseconds(0)};
    checks_.on_fault(kill, name);
    calm_since_ = std::max(calm_since_, world_.now());
    (*child)->befall(kill);
  });
}

// A supervisor that has not run itself waits for a new heartbeat.
void Machine::require_killed(const std::shared_ptr<Child>& child) {
  world_.in(longest_hang, [this, child] {
    const bool pauses =
        std::ranges::any_of(course_.faults, [](const Fault& fault) { return fault.kind == FaultKind::pause; });
    if (pauses || asks_to_end() || !child->hangs()) return;
    world_.reached("a process that hangs has to be killed");
    witness_.on_hang_still(child->name());
  });
}

void Machine::take_away_gpu(const Fault& fault) {
  const auto device = gpus_.device_of(fault.camera);
  if (!device) return;
  const Clock::time_point back = world_.now() + fault.lasts;
  gpus_.take_away(*device, trouble_of(fault), back);
  gpu_watch_.on_absence(back);
  require_running_elsewhere();
  for (const auto& child : children_) {
    if (child->uses(*device)) child->lose(*device);
  }
}

// From now on, where nothing but GPUs goes wrong.
void Machine::require_running_elsewhere() {
  const bool kills = std::ranges::any_of(course_.moves, [](const MoveWish& wish) { return wish.dies_at.has_value(); });
  const bool by_gpus =
      !kills && std::ranges::all_of(course_.faults, [](const Fault& fault) { return is_of_gpu(fault.kind); });
  if (!by_gpus || asks_to_end()) return;
  const bool is_soon = world_.now() < gpu_watch_.delivers_at();
  world_.at(is_soon ? gpu_watch_.delivers_at() : world_.now() + between_looks, [this] { require_running_elsewhere(); });
  if (is_soon) return;
  world_.reached("cameras have to run without a GPU");
  checks_.require_running();
}

// A camera that was removed, or changed, begins anew.
void Machine::on_ring(const Child& by, const std::string& camera, const std::string& what, std::uint64_t epoch) {
  if (!rings_.insert({camera, checks_.life_of(camera), what, epoch}).second)
    world_.fail(fmt::format("{} makes ring {} of {} for {}, which was made before", by.name(), epoch, what, camera));
}

void Machine::on_message_to(const Child& child, std::string_view type, const nlohmann::json& body) {
  if (type == messages::Status::type) {
    checks_.on_status(body.at("status"), asks_to_end());
    witness_.on_status(body.at("status"), course_.changes.empty());
    gpu_watch_.on_status(body.at("status"));
    group_watch_.on_status(body.at("status"));
    if (!asks_to_end()) mosaic_watch_.on_status(body.at("status"), checks_);
    if (!asks_to_end() && cluster_.is_on()) cluster_watch_.on_status(body.at("status"));
  }
  if (child.part() == Part::cluster) cluster_watch_.on_sent(type, body);
  if (type == messages::Answer::type && owner_.has_asked(child.pid(), body.at("request").get<std::uint64_t>()))
    owner_.on_answer(child.pid(), body);
}

void Machine::on_message_from(const Child& child, std::string_view type, const nlohmann::json& body) {
  if (child.part() == Part::cluster) cluster_watch_.on_taken(type, body);
}

void Machine::on_death(const Child& child, int status) {
  witness_.on_death(child.part(), status, asks_to_end());
  if (child.part() == Part::publisher) owner_.on_death(child.pid());
}

void Machine::require_all_well() {
  checks_.require_running();
  group_watch_.require_in_step(checks_.status(), owner_.wanted());
  mosaic_watch_.require_joined(checks_.status());
  // A worker that is late is relieved of cameras.
  const bool balances = std::ranges::any_of(course_.faults, [](const Fault& fault) { return makes_late(fault.kind); });
  gpu_watch_.require_back(checks_.status(), owner_.file(), balances || !course_.moves.empty());
  if (checks_.any_may_be_quarantined() || checks_.status().is_null()) return;
  owner_.check(checks_.status());
  cluster_watch_.check();
  for (const auto& child : children_) {
    if (child->is_alive() && child->leaves_rest())
      world_.fail(child->name() + " has something of a camera that is gone in its page");
  }
}

void Machine::on_node(const std::string& worker, NodeId node, const std::string& camera) {
  nodes_[{worker, node}] = camera;
}

bool Machine::may_need(const std::string& worker, NodeId node) const {
  const auto found = nodes_.find({worker, node});
  return found != nodes_.end() && checks_.status().at("cameras").contains(found->second);
}

std::set<std::string> Machine::known_cameras() const {
  std::set<std::string> all;
  for (const auto& child : children_) all.merge(child->cameras());
  return all;
}

void Machine::on_file(const Child& by, const std::string& path) { write_alone(files_, by, path); }

void Machine::on_writing(const Child& by, const std::string& output) { write_alone(writers_, by, output); }

void Machine::on_end_of_writing(const Child& by, const std::string& output) {
  const auto writer = writers_.find(output);
  if (writer != writers_.end() && writer->second == by.pid()) writers_.erase(writer);
}

void Machine::write_alone(std::map<std::string, pid_t>& writers, const Child& by, const std::string& what) {
  const auto [writer, is_new] = writers.try_emplace(what, by.pid());
  if (is_new || writer->second == by.pid()) return;
  const bool lives = std::ranges::any_of(
      children_, [&](const auto& child) { return child->pid() == writer->second && child->is_alive(); });
  if (lives) world_.fail(fmt::format("two processes write {}", what));
  writer->second = by.pid();
}

}  // namespace campipe::sim
