#include "app/supervisor/supervisor.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "app/config/remote_place.h"
#include "app/config/rig_config.h"
#include "app/config/serves.h"
#include "app/control/messages/cluster.h"
#include "app/control/messages/to_publisher.h"
#include "app/placement/quarantine.h"
#include "app/placement/uses_json.h"
#include "core/log.h"
#include "ipc/publish_block.h"
#include "ipc/shared_block.h"
#include "stages/sources/source_end.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto tick_interval = milliseconds(50);
constexpr auto leaving_interval = milliseconds(5);
constexpr auto longest_wait = milliseconds(100);
constexpr auto status_interval = seconds(1);
constexpr auto longest_status_interval = seconds(2);  // of hundreds of cameras, whose status takes long to make:
constexpr int status_share = 50;                      // one part in so many of a core's time
constexpr auto own_pause = milliseconds(500);         // a loop this late was not running; nor were, maybe, the others
constexpr auto longest_start = seconds(10);           // then the service is ready with what runs
constexpr unsigned spare_streams = 512;               // for cameras that come later; memory only once they do
constexpr unsigned nodes_for_each = 4;                // likewise
constexpr unsigned spare_cells = 2048;                // likewise
constexpr int no_report = 1;                          // as exit status

// Cameras and their other outputs.
unsigned streams_of(const RigConfig& rig) {
  std::size_t streams = 0;
  for (const CameraConfig& camera : rig.cameras) streams += 1 + camera.outputs.size() + (camera.for_browsers ? 1 : 0);
  return static_cast<unsigned>(streams);
}

unsigned cells_of(const RigConfig& rig) {
  std::size_t cells = 0;
  for (const CameraConfig& camera : rig.cameras) cells += camera.mosaic ? camera.mosaic->cells.size() : 0;
  return static_cast<unsigned>(cells);
}

// What others read stays in their caches where it is the same.
void pass_on(const std::atomic<std::uint32_t>& from, std::atomic<std::uint32_t>& to) {
  if (const std::uint32_t value = from.load(); to.load() != value) to.store(value);
}

RigState state_of(const RigConfig& rig, const Machine& machine, const RunOptions& options) {
  // Of no other part has a camera more than outputs.
  RigSize size(streams_of(rig) + spare_streams);
  size.nodes = size.edges = nodes_for_each * size.cameras;
  size.edges += cells_of(rig) + spare_cells;
  return {options, rig, machine, RigPage::create(size, max_workers), Cameras(size)};
}

}  // namespace

Supervisor::Supervisor(const RigConfig& rig, const Machine& machine, const RunOptions& options, Port& port)
    : port_(port),
      rig_(state_of(rig, machine, options)),
      processes_(rig_, guard_, port_.starter(),
                 {[this](ManagedProcess& process) {
                    setup_.send_all(process);
                    if (process.kind == ProcessKind::cluster) cluster_.send_setup(process);
                    if (process.kind == ProcessKind::link) processes_.send(process, exchange_.identity());
                    if (process.kind != ProcessKind::publisher) return;
                    cluster_.send_recorded();
                    exchange_.share_again();
                    rig_.next_status = {};  // its servers have none yet
                  },
                  [this](ManagedProcess& process, Message& message) { messages_.handle(process, message); },
                  [this](ManagedProcess& process, const ExitInfo& info) { return on_death(process, info); },
                  [this](const ManagedProcess& process) { return needed(process); },
                  [this](const ManagedProcess& process) { return lost_gpus_.is_doubtful(process.place.gpu); }}),
      changes_(rig_, processes_, roster_, port_.starter(),
               {[this] { service_.reloading(); }, [this] { show_ready(); },
                [this](messages::ChangeRig change, pid_t asker) { cluster_control_.ask(std::move(change), asker); }}) {
  port_.log().take_own_log(options.log_level);
  rig_.costs = port_.read_costs(machine.devices);
  require_cluster(rig);
  const RigPlan placed = balanced_plan(rig, machine, rig_.costs);
  for (const std::string& line : describe_sharing(placed, machine.devices)) spdlog::info("{}", line);
  add_processes(placed);
  if (rig_.config->cluster) rig_.config->cameras.clear();  // they come when the cluster's plan gives them to this node
  roster_.add_all(placed);
  cells_.follow();
}

Supervisor::~Supervisor() {
  kill_all();
  processes_.all().clear();
  log_.pass_on();
  port_.log().leave_own_log(rig_.options.log_level);
}

void Supervisor::add_processes(const RigPlan& plan) {
  processes_.add(ProcessKind::source, {});
  processes_.add(ProcessKind::master, {});
  for (std::size_t c = 0; c < plan.cameras.size(); ++c) {
    if (!begins_in_quarantine(rig_.config->cameras[c]))
      processes_.master_at(place_of_master(plan.cameras[c], rig_.machine.devices));
  }
  processes_.add(ProcessKind::publisher, {});
  for (unsigned w = 0; w < plan.workers.size(); ++w) {
    const WorkerPlan& worker = plan.workers[w];
    processes_.add(ProcessKind::worker, {worker.gpu, gpu_name(rig_.machine.devices, worker.gpu),
                                         gpus_of_worker(plan, w), worker.numa_node, worker.cpus});
  }
  if (!rig_.config->cluster) return;
  processes_.add(ProcessKind::cluster, {});
  processes_.add(ProcessKind::link, {});
}

int Supervisor::run() {
  processes_.start_all();
  while (!processes_.all_gone()) turn();
  settle_the_rest();
  view_.finish(rig_.cameras, rig_.page);
  return accounts_.finish(ending_.why) ? exit_status() : no_report;
}

void Supervisor::turn() {
  guard_.run("wait for events", [this] { wait_for_events(); });
  guard_.run("obey a signal", [this] { obey_signals(); });
  processes_.serve();
  guard_.run("change the configuration", [this] { changes_.go_on(); });
  guard_.run("pass on notes", [this] { pass_on_notes(); });
  guard_.run("relay the log", [this] { log_.pass_on(); });
  if (Clock::now() >= rig_.next_tick) tick();
}

void Supervisor::wait_for_events() {
  Waits waits;
  processes_.add_waits(waits);
  changes_.add_waits(waits);
  lost_gpus_.add_waits(waits);
  const auto left = std::chrono::ceil<milliseconds>(rig_.next_tick - Clock::now());
  port_.wait(std::move(waits), std::clamp(left, milliseconds(0), longest_wait));
}

// What processes note in pages of their own, and others wait for.
void Supervisor::pass_on_notes() {
  for (const ManagedProcess& process : processes_.all()) {
    if (process.child && meets_at_barrier(process)) rig_.page.enter_arrival(process.id);
  }
  for (const Camera& camera : rig_.cameras.all()) {
    for (const Output& output : camera.outputs) {
      const Audience& audience = rig_.page.publish(output.id).audience;
      Audience& passed_on = rig_.page.shared(output.id).audience;
      pass_on(audience.watches, passed_on.watches);
      pass_on(audience.arrivals, passed_on.arrivals);
    }
  }
}

void Supervisor::obey_signals() {
  while (const auto asked = port_.next_signal()) {
    if (*asked == RigSignals::Request::reload) {
      if (rig_.phase == RunPhase::running) changes_.reload_on_signal();
    } else if (rig_.phase == RunPhase::running) {
      drain("stopped");
    } else if (*asked == RigSignals::Request::end) {  // a terminal that closes sends SIGHUP again when its shell ends
      spdlog::warn("stopped at once: files are whole up to their last fragment");
      ending_.why = "stopped at once";
      kill_all();
    }
  }
}

void Supervisor::tick() {
  const auto now = Clock::now();
  // Not by when this tick was due: what has changed meanwhile may have made that now.
  const bool first = last_tick_ == Clock::time_point{};
  if (!first && now - last_tick_ > tick_interval + own_pause) crashes_.ignore_heartbeats_until(now + seconds(1));
  last_tick_ = now;
  rig_.next_tick = now + (rig_.phase == RunPhase::leaving ? leaving_interval : tick_interval);
  guard_.run("follow accusations", [this] { accusations_.follow(); });
  guard_.run("settle a camera's frames", [this] { rings_.settle(); });
  guard_.run("look after mosaics", [this] { cells_.follow(); });
  guard_.run("look after links", [this] {
    links_.follow();
    remote_stages_.follow();
    guest_stages_.follow();
    exchange_.share();
  });
  guard_.run("follow moves", [this] { moves_.follow(); });
  guard_.run("look after GPUs that are gone", [this] { lost_gpus_.follow(); });
  guard_.run("have cameras go on elsewhere", [this] { relocations_.follow(); });
  guard_.run("follow the cluster", [this] { cluster_.follow(); });
  guard_.run("follow what the cluster was asked", [this] { cluster_control_.follow(); });
  guard_.run("take away a camera", [this] { roster_.settle_retiring(); });
  guard_.run("end masters without cameras", [this] { roster_.end_unneeded_quarantines(); });
  guard_.run("compare needs with the machine", [this] { roster_.follow_admission(); });
  guard_.run("balance the workers", [this] { balancer_.follow(); });
  guard_.run("have cameras give way", [this] { shedder_.follow(); });
  guard_.run("show who waits for a restart", [this] { lifecycle_.follow_restarts(); });
  guard_.run("watch the processes", [this] { crashes_.find_hung(); });
  processes_.start_due();
  port_.refill_reserve();
  guard_.run("show how the rig is", [this] { view_.update(rig_.cameras, rig_.page); });
  guard_.run("ask for the processes' memory", [this] { accounts_.sample_memory(); });
  guard_.run("end", [this] { watch_ending(); });
  if (now >= rig_.next_status) guard_.run("report the status", [this] { send_status(); });
  guard_.run("write the report", [this] { accounts_.write_report_if_due(ending_.why); });
  guard_.run("notify systemd", [this] { service_.watchdog(); });
}

// For systemd: ready when every camera has shown what becomes of it.
void Supervisor::show_ready() {
  unsigned cameras = 0;
  unsigned run = 0;
  bool starting = false;
  for (const Camera& camera : rig_.cameras.all()) {
    if (!camera.takes_part()) continue;
    ++cameras;
    run += camera.own().state == CameraState::running ? 1 : 0;
    starting = starting || camera.own().state == CameraState::starting;
  }
  if (starting && Clock::now() - rig_.started < longest_start) return;
  service_.ready(std::to_string(run) + " of " + std::to_string(cameras) + " cameras run");
}

void Supervisor::send_status() {
  const auto begin = Clock::now();
  rig_.next_status = begin + status_interval;
  if (rig_.phase == RunPhase::running && !changes_.reloading()) show_ready();
  ManagedProcess& publisher = processes_.publisher();
  if (!serves(*rig_.config) || !publisher.child) return;
  nlohmann::json cluster = cluster_control_.status();
  if (!cluster.is_null()) {
    cluster["clock_tolerance_s"] = std::chrono::duration<double>(cluster_.clock_tolerance()).count();
    cluster["links"] = links_.status();
    remote_stages_.add_status(cluster["links"]);
    guest_stages_.add_status(cluster["links"]);
  }
  const RigStatus rig{rig_.options.config.filename().string(),
                      std::chrono::duration<double>(Clock::now() - rig_.started).count(),
                      rig_.phase == RunPhase::running ? "running" : "draining",
                      accounts_.process_status(),
                      lost_gpus_.status(),
                      uses_json(roster_.taken()),
                      std::move(cluster)};
  // One that is slow gets the next one.
  if (publisher.child->has_unsent()) return;
  processes_.send(publisher, messages::Status{status_.make(rig, rig_.cameras, rig_.page)});
  const Clock::duration wanted = status_share * (Clock::now() - begin);
  rig_.next_status = begin + std::clamp<Clock::duration>(wanted, status_interval, longest_status_interval);
}

// Some camera still has work for it.
bool Supervisor::needed(const ManagedProcess& process) const {
  if (rig_.phase == RunPhase::leaving || lost_gpus_.is_gone(process.place.gpu)) return false;
  if (rig_.phase == RunPhase::draining && process.kind == ProcessKind::source) return false;
  if (process.kind == ProcessKind::publisher && serves(*rig_.config)) return true;
  if (process.kind == ProcessKind::cluster) return true;
  const bool runs = rig_.phase == RunPhase::running;
  if (process.kind == ProcessKind::link && runs && (links_.any() || guest_stages_.any())) return true;
  if (process.place.for_others) return runs && guest_stages_.needs(process);
  return std::ranges::any_of(rig_.cameras.all(), [&](const Camera& camera) { return has_work(process, camera); });
}

bool Supervisor::on_death(ManagedProcess& process, const ExitInfo& info) {
  guard_.run("follow accusations", [this] { accusations_.on_death(); });
  const bool again = crashes_.on_death(process, info);
  if (process.kind == ProcessKind::source) lifecycle_.on_source_death();
  if (process.kind == ProcessKind::master) {
    lifecycle_.on_master_death(process.id);
    roster_.isolate_cameras_of(process);
  }
  if (process.kind == ProcessKind::link) {
    links_.on_death();
    guest_stages_.on_link_death();
    remote_stages_.on_death();
  }
  if (process.kind == ProcessKind::worker) {
    guest_stages_.on_worker_death(process);
    moves_.on_worker_death(process.number);
  }
  if (process.kind == ProcessKind::worker || process.kind == ProcessKind::link) lifecycle_.on_worker_death(process.id);
  const bool no_source = rig_.phase == RunPhase::draining && process.kind == ProcessKind::source;
  if (no_source) lifecycle_.give_up_sources();
  lost_gpus_.on_death(process, info);
  return again;
}

}  // namespace campipe
