#include "app/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "app/report.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto tick_interval = milliseconds(50);
constexpr auto leaving_interval = milliseconds(5);
constexpr auto own_pause = milliseconds(500);           // a loop this late was not running; nor were, maybe, the others
constexpr auto close_files_after = milliseconds(4000);  // of draining: users are promised whole files within 5 s
constexpr auto kill_after = milliseconds(4700);
constexpr auto leave_deadline = seconds(2);
// timeout(1) and shells signal a child and its group: a signal that comes again so soon is the same one.
constexpr auto same_signal = milliseconds(500);
constexpr auto memory_interval = seconds(5);
constexpr unsigned spare_places = 512;  // for cameras that come later; memory only once they do

UniqueFd take_signals() {
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&mask, signal);
  sigprocmask(SIG_BLOCK, &mask, nullptr);  // children inherit this, and take SIGTERM in the same way
  signal(SIGPIPE, SIG_IGN);
  UniqueFd fd(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) throw system_error("cannot receive signals", errno);
  return fd;
}

// Cameras and their other outputs.
unsigned streams_of(const RigConfig& rig) {
  std::size_t streams = 0;
  for (const CameraConfig& camera : rig.cameras) streams += 1 + camera.outputs.size();
  return static_cast<unsigned>(streams);
}

}  // namespace

Supervisor::Supervisor(const RigConfig& rig, const Machine& machine, const RunOptions& options)
    : options_(options),
      rig_(rig),
      machine_(machine),
      page_(RigPage::create(streams_of(rig) + spare_places, max_workers)) {
  signals_ = take_signals();
  std::array<int, 2> log{};
  if (::pipe2(log.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw system_error("cannot make the log's pipe", errno);
  log_read_.reset(log[0]);
  log_write_.reset(log[1]);
  init_logging("supervisor", options_.log_level, log_write_.get());

  const RigPlan placed = plan(rig, machine);
  for (const std::string& line : describe_sharing(placed, machine.devices)) spdlog::info("{}", line);
  set_up(placed);
  make_token();
}

Supervisor::~Supervisor() {
  kill_all();
  members_.clear();
  relay_log();
  init_logging("supervisor", options_.log_level);
}

int Supervisor::run() {
  // All are expected at the start barrier before the first of them can arrive.
  for (Member& member : members_) {
    if (member.kind != Kind::master && needed(member)) page_.barrier().add(participant_of(member.process));
  }
  for (Member& member : members_) start(member);
  while (!all_gone()) {
    wait_for_events();
    if (Clock::now() >= next_tick_) tick();
  }
  settle_the_rest();
  sample_memory();
  view_.finish(cameras_, page_);
  if (options_.report) write_report();
  return exit_status();
}

void Supervisor::wait_for_events() {
  std::vector<pollfd> waits{{signals_.get(), POLLIN, 0}, {log_read_.get(), POLLIN, 0}};
  for (Member& member : members_) {
    if (!member.child) continue;
    waits.push_back({member.child->pidfd(), POLLIN, 0});
    const Channel& channel = member.child->channel();
    waits.push_back({channel.closed() ? -1 : channel.fd(), POLLIN, 0});
  }
  const auto left = std::chrono::ceil<milliseconds>(next_tick_ - Clock::now());
  ::poll(waits.data(), waits.size(), static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 100)));
  if (waits[0].revents != 0) on_signal();
  for (Member& member : members_) check(member);
  pass_on_notes();
  relay_log();
}

// What processes note in pages of their own, and others wait for.
void Supervisor::pass_on_notes() {
  for (const Member& member : members_) {
    if (member.child && member.kind != Kind::master) page_.enter_arrival(member.process);
  }
  for (const CameraState& camera : cameras_) {
    const Audience& audience = page_.publisher(camera.index).audience;
    Audience& passed_on = page_.shared(camera.index).audience;
    passed_on.watches.store(audience.watches.load());
    passed_on.arrivals.store(audience.arrivals.load());
  }
}

// SIGHUP asks to read the configuration again, unless it says that the terminal of this run is gone.
bool Supervisor::terminal_closed() const { return on_terminal_ && ::isatty(STDERR_FILENO) == 0; }

void Supervisor::on_signal() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGHUP && Clock::now() - told_to_end_ < same_signal) continue;
    if (info.ssi_signo != SIGHUP) told_to_end_ = Clock::now();
    if (info.ssi_signo == SIGHUP && !terminal_closed()) {
      if (phase_ == Phase::running) reload();
    } else if (phase_ == Phase::running) {
      drain("stopped");
    } else if (info.ssi_signo != SIGHUP) {  // a terminal that closes sends it again when its shell ends
      spdlog::warn("stopped at once: files are whole up to their last fragment");
      ending_ = "stopped at once";
      kill_all();
    }
  }
}

void Supervisor::relay_log() {
  std::array<char, 16384> buffer{};
  for (;;) {
    const ssize_t size = ::read(log_read_.get(), buffer.data(), buffer.size());
    if (size <= 0) return;
    log_rest_.append(buffer.data(), static_cast<std::size_t>(size));
    for (auto end = log_rest_.find('\n'); end != std::string::npos; end = log_rest_.find('\n')) {
      view_.log_line(log_rest_.substr(0, end));
      log_rest_.erase(0, end + 1);
    }
  }
}

void Supervisor::tick() {
  const auto now = Clock::now();
  if (next_tick_ != Clock::time_point{} && now - next_tick_ > own_pause) distrust_beats_until_ = now + seconds(1);
  next_tick_ = now + (phase_ == Phase::leaving ? leaving_interval : tick_interval);
  follow_accusations();
  settle_cameras();
  settle_retiring();
  for (Member& member : members_) {
    if (member.child && hung(member)) member.child->kill();
    if (!member.child && member.start_at && now >= *member.start_at) start(member);
  }
  view_.update(cameras_, page_);
  if (now >= next_memory_sample_) {
    next_memory_sample_ = now + memory_interval;
    sample_memory();
  }
  if (phase_ == Phase::running && options_.duration && now - started_ >= *options_.duration) drain("duration");
  if (phase_ == Phase::draining && !files_closed_ && now - *drain_began_ > close_files_after) {
    files_closed_ = true;
    spdlog::warn("not everything was handed over in time: files are closed as they are");
    send(publisher(), "close_files", nlohmann::json::object());
  }
  if (phase_ == Phase::draining && now - *drain_began_ > kill_after) {
    spdlog::error("not everything could be handed over in time: what is left is given up");
    gave_up_ = true;
    return kill_all();
  }
  if (now >= next_status_) tell_status();
  if (options_.report && now >= next_report_) update_report();
  service_.watchdog();
  if (everything_is_over() && phase_ != Phase::leaving) begin_leaving();
  if (phase_ == Phase::leaving) end_leaving();
}

// From here on no source delivers; what has been decoded still goes all the way.
void Supervisor::drain(const std::string& why) {
  phase_ = Phase::draining;
  ending_ = why;
  drain_began_ = Clock::now();
  service_.stopping();
  spdlog::info("ending ({}): handing over what has been decoded", why);
  if (master().child) {
    send(master(), "drain", nlohmann::json::object());
  } else {
    give_up_sources();
  }
}

// A rig without any camera that takes part waits for one, as long as there is somebody who could bring it.
bool Supervisor::everything_is_over() const {
  const bool any = std::ranges::any_of(cameras_, takes_part);
  if (!any && phase_ == Phase::running) return !serves(rig_.server);
  return std::ranges::all_of(cameras_,
                             [](const auto& c) { return !takes_part(c) || (c.publisher_done && !c.retiring); });
}

// Every file is closed. Workers and publisher meet at the stop barrier and leave; the master is told to.
void Supervisor::begin_leaving() {
  if (ending_.empty()) ending_ = "ended";
  service_.stopping();
  phase_ = Phase::leaving;
  leave_began_ = Clock::now();
  sample_memory();
  for (Member& member : members_) {
    if (member.kind != Kind::master) send(member, "rig_over", nlohmann::json::object());
  }
}

void Supervisor::end_leaving() {
  const auto since = Clock::now() - *leave_began_;
  const Barrier barrier = page_.barrier();
  if (barrier.over(1) || since > leave_deadline / 2) send(master(), "leave", nlohmann::json::object());
  if (since > leave_deadline && !told_late_) {
    told_late_ = true;
    spdlog::warn("some processes did not leave in time (missing at the barrier: {:#x})", barrier.wait(1, Clock::now()));
    kill_all();
  }
}

bool Supervisor::all_gone() const {
  return std::none_of(members_.begin(), members_.end(), [](const Member& m) { return m.child || m.start_at; });
}

void Supervisor::kill_all() {
  phase_ = Phase::leaving;
  if (!leave_began_) leave_began_ = Clock::now();
  for (Member& member : members_) {
    member.start_at.reset();
    if (member.child) member.child->kill();
  }
}

void Supervisor::settle_the_rest() {
  const bool master_died = master().restarts > 0;
  for (CameraState& camera : cameras_) {
    if (!takes_part(camera)) continue;
    const bool forced = gave_up_ || ending_ == "stopped at once";
    const auto cause = forced ? DropCause::stopped : master_died ? DropCause::master_lost : DropCause::worker_lost;
    settle(cameras_, camera, page_, cause);
    if (camera.state == CameraState::State::running || camera.state == CameraState::State::starting) {
      camera.become(CameraState::State::ended);
    }
    if (camera.packets_published() == 0 && camera.state != CameraState::State::failed) {
      const std::string why = camera.state == CameraState::State::waiting ? ": " + camera.reason : "";
      fail(camera, "no picture came through" + why);
    }
  }
  relay_log();
}

int Supervisor::exit_status() const {
  const bool failed = std::any_of(cameras_.begin(), cameras_.end(), [](const CameraState& c) {
    return c.state == CameraState::State::failed || c.record_failed;
  });
  return failed || gave_up_ ? 3 : 0;
}

}  // namespace campipe
