#include "app/supervisor/supervisor.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "app/supervisor/report.h"
#include "core/error.h"
#include "core/log.h"
#include "stages/sources/source_end.h"

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
constexpr auto first_picture = seconds(5);         // a camera may take to it
constexpr int most_log_chunks = 64;                // in one turn of the loop
constexpr std::size_t longest_line = 64UL * 1024;  // of the log
constexpr int no_report = 1;                       // as exit status
constexpr unsigned spare_places = 512;             // for cameras that come later; memory only once they do

// Cameras and their other outputs.
unsigned streams_of(const RigConfig& rig) {
  std::size_t streams = 0;
  for (const CameraConfig& camera : rig.cameras) streams += 1 + camera.outputs.size() + (camera.for_browsers ? 1 : 0);
  return static_cast<unsigned>(streams);
}

}  // namespace

Supervisor::Supervisor(const RigConfig& rig, const Machine& machine, const RunOptions& options, RigSignals& signals)
    : options_(options),
      rig_(rig),
      machine_(machine),
      page_(RigPage::create(streams_of(rig) + spare_places, max_workers)),
      signals_(signals) {
  std::array<int, 2> log{};
  if (::pipe2(log.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw system_error("cannot make the log's pipe", errno);
  log_read_.reset(log[0]);
  log_write_.reset(log[1]);
  init_logging("supervisor", options_.log_level, log_write_.get());

  const RigPlan placed = plan(rig, machine);
  for (const std::string& line : describe_sharing(placed, machine.devices)) spdlog::info("{}", line);
  set_up(placed);
  if (options_.report) report_.emplace(*options_.report);
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
  for (Member& member : members_) {
    guard_.run("start a process", [&] { start(member); });
  }
  while (!all_gone()) turn();
  settle_the_rest();
  view_.finish(cameras_, page_);
  if (!report_) return exit_status();
  put_report();
  return report_->finish() ? exit_status() : no_report;
}

// Whatever goes wrong in one step, the others are done: cameras and their files depend on this loop.
void Supervisor::turn() {
  guard_.run("wait for events", [this] { wait_for_events(); });
  guard_.run("obey a signal", [this] { obey_signals(); });
  for (Member& member : members_) {
    guard_.run("look after a process", [&] { check(member); });
  }
  guard_.run("change the configuration", [this] { go_on_with_changes(); });
  guard_.run("pass on notes", [this] { pass_on_notes(); });
  guard_.run("relay the log", [this] { relay_log(); });
  if (Clock::now() >= next_tick_) tick();
}

void Supervisor::wait_for_events() {
  std::vector<pollfd> waits{{signals_.fd(), POLLIN, 0}, {log_read_.get(), POLLIN, 0}};
  for (Member& member : members_) {
    if (!member.child) continue;
    waits.push_back({member.child->pidfd(), POLLIN, 0});
    const Channel& channel = member.child->channel();
    const auto events = static_cast<short>(member.child->outbox().wants_room() ? POLLIN | POLLOUT : POLLIN);
    waits.push_back({channel.closed() ? -1 : channel.fd(), events, 0});
  }
  if (load_) load_->add_waits(waits);
  const auto left = std::chrono::ceil<milliseconds>(next_tick_ - Clock::now());
  ::poll(waits.data(), waits.size(), static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 100)));
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

void Supervisor::obey_signals() {
  while (const auto asked = signals_.next()) {
    if (*asked == RigSignals::Request::reload) {
      if (phase_ == Phase::running) reload_on_signal();
    } else if (phase_ == Phase::running) {
      drain("stopped");
    } else if (*asked == RigSignals::Request::end) {  // a terminal that closes sends SIGHUP again when its shell ends
      spdlog::warn("stopped at once: files are whole up to their last fragment");
      ending_ = "stopped at once";
      kill_all();
    }
  }
}

// A process that logs without end, or a line without end, holds up nobody.
void Supervisor::relay_log() {
  std::array<char, 16384> buffer{};
  for (int chunk = 0; chunk < most_log_chunks; ++chunk) {
    const ssize_t size = ::read(log_read_.get(), buffer.data(), buffer.size());
    if (size <= 0) return;
    log_rest_.append(buffer.data(), static_cast<std::size_t>(size));
    std::size_t begin = 0;
    for (auto end = log_rest_.find('\n'); end != std::string::npos; end = log_rest_.find('\n', begin)) {
      view_.log_line(log_rest_.substr(begin, end - begin));
      begin = end + 1;
    }
    log_rest_.erase(0, begin);
    if (log_rest_.size() <= longest_line) continue;
    view_.log_line(log_rest_);
    log_rest_.clear();
  }
}

void Supervisor::tick() {
  const auto now = Clock::now();
  if (next_tick_ != Clock::time_point{} && now - next_tick_ > own_pause) distrust_beats_until_ = now + seconds(1);
  next_tick_ = now + (phase_ == Phase::leaving ? leaving_interval : tick_interval);
  guard_.run("follow accusations", [this] { follow_accusations(); });
  guard_.run("settle a camera's frames", [this] { settle_cameras(); });
  guard_.run("take away a camera", [this] { settle_retiring(); });
  watch_processes();
  reserve_.refill();
  guard_.run("show how the rig is", [this] { view_.update(cameras_, page_); });
  guard_.run("ask for the processes' memory", [&] {
    take_memory_sample();
    if (now >= next_memory_sample_) request_memory_sample();
  });
  guard_.run("end", [this] { watch_ending(); });
  if (now >= next_status_) guard_.run("report the status", [this] { tell_status(); });
  if (report_ && now >= next_report_) guard_.run("write the report", [this] { put_report(); });
  guard_.run("tell systemd", [this] { service_.watchdog(); });
}

void Supervisor::watch_processes() {
  const auto now = Clock::now();
  for (Member& member : members_) {
    guard_.run("watch a process", [&] {
      if (member.child && hung(member)) member.child->kill();
      // One that is needed and neither runs nor waits: an error came between its death and its restart.
      if (!member.child && !member.start_at && needed(member)) member.start_at = now;
      if (!member.child && member.start_at && now >= *member.start_at) start(member);
    });
  }
}

void Supervisor::watch_ending() {
  const auto now = Clock::now();
  if (phase_ == Phase::running && options_.duration && now - started_ >= *options_.duration) drain("duration");
  if (phase_ == Phase::draining && !files_closed_ && now - *drain_began_ > close_files_after) {
    files_closed_ = true;
    spdlog::warn("not everything was handed over in time: files are closed as they are");
    send(publisher(), messages::CloseFiles());
  }
  if (phase_ == Phase::draining && now - *drain_began_ > kill_after) {
    spdlog::error("not everything could be handed over in time: what is left is given up");
    gave_up_ = true;
    return kill_all();
  }
  if (phase_ == Phase::leaving) return end_leaving();
  if (!everything_is_over()) return over_since_.reset();
  if (sampled_at_the_end()) begin_leaving();
}

// From here on no source delivers; what has been decoded still goes all the way.
void Supervisor::drain(const std::string& why) {
  phase_ = Phase::draining;
  ending_ = why;
  drain_began_ = Clock::now();
  service_.stopping();
  spdlog::info("ending ({}): handing over what has been decoded", why);
  if (master().child) {
    send(master(), messages::Drain());
  } else {
    give_up_sources();
  }
  start_waiting_processes(Clock::now());
}

// What lies in the rings of a process that waits for its restart would be lost: there is no time left to wait.
void Supervisor::start_waiting_processes(Clock::time_point by) {
  for (Member& member : members_) {
    if (member.start_at) member.start_at = std::min(*member.start_at, by);
  }
}

// A rig without any camera that takes part waits for one, as long as there is somebody who could bring it. So does one
// whose camera failed that would never have ended: whoever looks can enable it again.
bool Supervisor::everything_is_over() const {
  if (phase_ == Phase::running && serves(rig_.server)) {
    const bool any = std::ranges::any_of(cameras_, takes_part);
    const bool one_failed = std::ranges::any_of(cameras_, [](const auto& c) {
      return c.state == CameraState::State::failed && !c.follows && !can_end(c.config.source);
    });
    if (!any || one_failed) return false;
  }
  return std::ranges::all_of(cameras_,
                             [](const auto& c) { return !takes_part(c) || (c.publisher_done && !c.retiring); });
}

// Every file is closed. Workers and publisher meet at the stop barrier and leave; the master is told to.
void Supervisor::begin_leaving() {
  if (ending_.empty()) ending_ = "ended";
  service_.stopping();
  phase_ = Phase::leaving;
  leave_began_ = Clock::now();
  for (Member& member : members_) {
    if (member.kind != Kind::master) send(member, messages::RigOver());
  }
}

void Supervisor::end_leaving() {
  const auto since = Clock::now() - *leave_began_;
  const Barrier barrier = page_.barrier();
  if (barrier.over(1) || since > leave_deadline / 2) send(master(), messages::Leave());
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

// For any other reason, its recording ends before it should.
bool Supervisor::ended_as_asked(const CameraState& camera) const {
  return ending_ == "duration" || ending_.starts_with("stopped") ||
         (cameras_[source_of(camera)].source_over && camera.publisher_done);
}

// When the rig was told to end, this camera had only just begun, maybe by a change: it cannot have failed.
bool Supervisor::had_just_begun(const CameraState& camera) const {
  return ending_.starts_with("stopped") && drain_began_ && camera.reason.empty() &&
         *drain_began_ - camera.begun < first_picture;
}

void Supervisor::settle_the_rest() {
  const bool master_died = master().restarts > 0;
  for (CameraState& camera : cameras_) {
    if (!takes_part(camera)) continue;
    const bool forced = gave_up_ || ending_ == "stopped at once";
    const auto cause = forced ? DropCause::stopped : master_died ? DropCause::master_lost : DropCause::worker_lost;
    settle(cameras_, camera, page_, cause);
    settle_recording(camera, page_);
    if (!ended_as_asked(camera)) fail(camera, "the rig ended before its source did");
    if (camera.state == CameraState::State::running || camera.state == CameraState::State::starting) {
      camera.become(CameraState::State::ended);
    }
    const bool asked_for = !camera.config.on_demand && !had_just_begun(camera);
    if (asked_for && camera.packets_published() == 0 && camera.state != CameraState::State::failed) {
      const std::string why = camera.state == CameraState::State::waiting ? ": " + camera.reason : "";
      fail(camera, "no picture came through" + why);
    }
  }
  guard_.run("relay the log", [this] { relay_log(); });
}

int Supervisor::exit_status() const {
  const bool failed = std::any_of(cameras_.begin(), cameras_.end(), [](const CameraState& c) {
    return c.state == CameraState::State::failed || c.record_failed || !c.recording_paused.empty();
  });
  return failed || gave_up_ ? 3 : 0;
}

}  // namespace campipe
