#include "tests/sim/child.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "app/control/gpu_loss.h"
#include "app/control/messages/setup.h"
#include "core/error.h"
#include "ipc/outbox.h"
#include "tests/sim/machine.h"
#include "tests/sim/wrong_messages.h"

namespace campipe::sim {
namespace {

constexpr auto beat_interval = milliseconds(100);
constexpr auto shortest_turn = milliseconds(8);  // between looks at its rings
constexpr auto longest_turn = milliseconds(22);
constexpr int slowness = 10;
constexpr std::size_t messages_a_turn = 16;

std::unique_ptr<Role> make_role(Part part, Child& child) {
  switch (part) {
    case Part::source:
      return make_source(child);
    case Part::master:
      return make_master(child);
    case Part::worker:
      return make_worker(child);
    case Part::publisher:
      return make_publisher(child);
    case Part::cluster:
      return make_cluster(child);
  }
  return nullptr;
}

}  // namespace

Child::Child(Machine& machine, Part part, std::string name, pid_t pid, Chance chance)
    : machine_(machine),
      part_(part),
      name_(std::move(name)),
      pid_(pid),
      chance_(chance),
      started_(machine.world().now()) {}

void Child::start() { wake_at(machine_.world().now() + chance_.between(milliseconds(2), milliseconds(120))); }

bool Child::is(Clock::time_point until) const { return machine_.world().now() < until; }

bool Child::arrive_at_end() const {
  page_->process(id()).arrive(1);
  return page_->barrier().over(1);
}

nanoseconds Child::takes(nanoseconds least, nanoseconds most) {
  const nanoseconds usual = chance_.between(least, most);
  return is(slow_until_) ? slowness * usual : usual;
}

nanoseconds Child::delay() {
  const nanoseconds usual = chance_.between(microseconds(20), milliseconds(1));
  return is(late_until_) ? usual + chance_.between(milliseconds(200), seconds(3)) : usual;
}

void Child::send(std::string_view type, const nlohmann::json& body, const std::vector<int>& fds) {
  machine_.world().reached(fmt::format("message {} from {}", type, name_of(part_)));
  machine_.world().trace(fmt::format("{} sends {} {}", name_, type, body.dump().substr(0, 160)));
  machine_.wake_supervisor_at(from_child_.send(message_of(type, body, fds), machine_.world().now() + delay()));
}

bool Child::serves() const { return is_alive() && role_ && !is(stopped_until_) && !is(silent_until_); }

bool Child::hangs() const {
  const bool has_begun = is_alive() && handle_ != nullptr && role_ && next_beat_ != Clock::time_point{};
  return has_begun && !handle_->killed() && (is(stopped_until_) || is(silent_until_));
}

std::set<std::string> Child::cameras() const { return role_ ? role_->cameras() : std::set<std::string>(); }

bool Child::awaits_supervisor() const {
  if (handle_ == nullptr) return false;
  if (!is_alive() || from_child_.is_readable(machine_.world().now())) return true;
  return handle_->has_unsent() && !to_child_.is_full();
}

void Child::wake_at(Clock::time_point when) {
  if (when >= next_turn_) return;
  next_turn_ = when;
  machine_.world().at(when, [self = shared_from_this(), when] {
    if (self->next_turn_ == when) self->turn();
  });
}

void Child::turn() {
  next_turn_ = Clock::time_point::max();
  if (!is_alive()) return;
  if (is(stopped_until_)) return wake_at(stopped_until_);
  const Clock::time_point now = machine_.world().now();
  try {
    const bool main_thread_runs = !is(silent_until_);
    if (main_thread_runs) read_messages();
    if (!is_alive()) return;
    if (is(stopped_until_)) return wake_at(stopped_until_);
    if (role_ && main_thread_runs && now >= next_beat_) {
      next_beat_ = now + beat_interval;
      page_->process(id()).beat.store(now_ns());
      cpu_used_ += 200'000;
    }
    if (role_) role_->work();
    if (role_ && main_thread_runs && role_->tick()) return leave(0);
  } catch (const std::exception& error) {
    machine_.world().fail(fmt::format("{} cannot go on: {}", name_, error.what()));
    return die(1 << 8);
  }
  wake_at(now + takes(shortest_turn, longest_turn));
}

void Child::read_messages() {
  if (is(deaf_until_)) return;
  for (std::size_t i = 0; i < messages_a_turn && is_alive() && !is(stopped_until_); ++i) {
    auto message = to_child_.receive(machine_.world().now());
    if (!message) break;
    handle(*message);
    machine_.wake_supervisor_at(machine_.world().now());  // there is room again
  }
}

void Child::handle(Message& message) {
  machine_.world().reached(fmt::format("message {} to {}", message.type, name_of(part_)));
  if (message.type != "status")
    machine_.world().trace(fmt::format("{} gets {} {}", name_, message.type, message.body.dump().substr(0, 160)));
  if (role_) return role_->on_message(message);
  const auto setup = read_message<messages::Setup>(message);
  page_ = RigPage::open(std::move(message.fds.at(0)), std::move(message.fds.at(1)), setup.process);
  cpus_ = setup.cpus;
  gpu_ = setup.gpu;
  sees_ = setup.sees;
  role_ = make_role(part_, *this);
  begin_on_gpu();
}

// Before its first heartbeat.
void Child::begin_on_gpu() {
  const Gpus& gpus = machine_.gpus();
  switch (gpus.trouble_of(gpu_)) {
    case GpuTrouble::none:
      return;
    case GpuTrouble::hangs:
      machine_.checks().uses().befall(name_,
                                      {FaultKind::stopped, part_, {}, gpus.back_at(gpu_) - machine_.world().now()});
      stopped_until_ = std::max(stopped_until_, gpus.back_at(gpu_));
      return;
    case GpuTrouble::forgets:
      return machine_.world().in(chance_.between(milliseconds(10), milliseconds(600)), [self = shared_from_this()] {
        if (self->machine_.gpus().trouble_of(self->gpu_) == GpuTrouble::forgets) self->lose(self->gpu_);
      });
    default:
      machine_.world().reached("a process cannot begin on its GPU");
      machine_.checks().uses().befall(name_, {FaultKind::exits, part_});
      return die(1 << 8);
  }
}

bool Child::uses(const Device& gpu) const { return gpu_ == gpu || (role_ && role_->decodes_on(gpu)); }

void Child::lose(const Device& gpu) {
  if (!is_alive()) return;
  machine_.checks().uses().befall(name_, {FaultKind::context_lost, part_});
  die(gpu_loss_status(gpu, sees_) << 8);
}

// In good order: its memory is unmapped as it should be.
void Child::leave(int status) {
  role_.reset();
  page_.reset();
  die(status);
}

// Nothing of what it has is given back by itself: leases stay as they are.
void Child::die(int status) {
  if (!is_alive()) return;
  machine_.world().trace(fmt::format("{} (pid {}) ends with {:#x}", name_, pid_, status));
  status_ = status;
  machine_.on_death(*this, status);
  machine_.bury(std::move(role_), std::move(page_));
  page_.reset();
  from_child_.all_arrive();
  machine_.wake_supervisor_at(machine_.world().now());
}

void Child::note_crash(std::uint64_t which) {
  if (!role_) return;
  const std::string camera = role_->note_fault(SIGSEGV, which);
  if (camera.empty()) return;
  machine_.checks().on_crash(camera, part_);
  machine_.witness().on_crash(camera, part_);
}

void Child::befall(const Fault& fault) {
  const Clock::time_point until = machine_.world().now() + fault.lasts;
  switch (fault.kind) {
    case FaultKind::kill:
      return die(SIGKILL);
    case FaultKind::crash:
      note_crash(fault.camera);
      return die(SIGSEGV);
    case FaultKind::exits:
      return die(1 << 8);
    case FaultKind::context_lost:
      machine_.gpu_watch().on_loss();
      if (on_gpu(gpu_)) lose(gpu_);
      return;
    case FaultKind::silent:
      silent_until_ = until;
      return;
    case FaultKind::stopped:
      stopped_until_ = std::max(stopped_until_, until);
      return;
    case FaultKind::slow:
      slow_until_ = until;
      machine_.cores().take(cpus_, until);
      return;
    case FaultKind::late:
      late_until_ = until;
      return;
    case FaultKind::deaf:
      deaf_until_ = until;
      return;
    case FaultKind::lies:
      machine_.conduct().distrust(pid_);
      if (fault.detail >= first_wrong_message) return send_wrong_message(*this, fault.detail);
      if (role_) role_->lie(fault.detail);
      return;
    default:
      return;
  }
}

// As the real one does it, where the process is not awaited: it is killed, and reaped in time.
ChildHandle::~ChildHandle() {
  child_->handle_ = nullptr;
  if (!child_->is_alive()) return;
  child_->die(SIGKILL);
}

bool ChildHandle::send(std::string_view type, const nlohmann::json& body, const std::vector<int>& fds) {
  child_->machine_.on_message_to(*child_, type, body);
  child_->machine_.conduct().to(child_->pid_, type, body);
  child_->watch_.to(type, body);
  if (!child_->is_alive()) return false;
  if (unsent_.size() >= Outbox::most_messages) throw Error("it takes no messages any more");
  unsent_.push_back(message_of(type, body, fds));
  flush();
  return true;
}

void ChildHandle::flush() {
  while (!unsent_.empty() && !child_->to_child_.is_full() && child_->is_alive()) {
    const auto arrives =
        child_->to_child_.send(std::move(unsent_.front()), child_->machine_.world().now() + child_->delay());
    unsent_.pop_front();
    child_->wake_at(arrives);
  }
  if (!unsent_.empty()) child_->machine_.world().reached("full queue");
  if (!child_->is_alive()) unsent_.clear();
}

std::optional<Message> ChildHandle::receive(std::string_view) {
  if (child_->page_) {
    for (const PageWatch::Change& change : child_->watch_.look(*child_->page_))
      child_->machine_.conduct().shows(child_->pid_, change);
  }
  auto message = child_->from_child_.receive(child_->machine_.world().now());
  if (message) child_->machine_.on_message_from(*child_, message->type, message->body);
  if (message) child_->machine_.conduct().from(child_->pid_, message->type, message->body, message->fds.size());
  return message;
}

// Nothing to poll: Machine::wait() looks at all children.
void ChildHandle::add_waits(Waits&) const {}

ChildProcess::CpuTimes ChildHandle::look_at_main_thread() { return {child_->cpu_used_, 0}; }

double ChildHandle::cpu_seconds() const { return static_cast<double>(child_->cpu_used_) / 1e9; }

void ChildHandle::kill() {
  if (std::exchange(killed_, true) || !child_->is_alive()) return;
  Machine& machine = child_->machine_;
  machine.world().trace(fmt::format("{} is killed by the supervisor", child_->name_));
  child_->stopped_until_ = Clock::time_point::max();
  machine.world().in(machine.time_to_die(child_->name_), [child = child_] { child->die(SIGKILL); });
}

std::optional<ExitInfo> ChildHandle::reap() {
  if (child_->is_alive()) return std::nullopt;
  child_->machine_.conduct().end(child_->pid_, *child_->status_);
  return ExitInfo{*child_->status_, cpu_seconds()};
}

}  // namespace campipe::sim
