// The supervisor: starts master, workers and publisher, hands rings on between them, watches and restarts them,
// and keeps the books. It touches no pixels, no stream and no GPU, so that it has little to die of. One thread.
#pragma once

#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/config/changes.h"
#include "app/config/config.h"
#include "app/control/child_process.h"
#include "app/control/descriptor_limit.h"
#include "app/control/load_process.h"
#include "app/control/message_dispatch.h"
#include "app/control/rig_signals.h"
#include "app/control/step_guard.h"
#include "app/placement/plan.h"
#include "app/supervisor/camera_state.h"
#include "app/supervisor/camera_totals.h"
#include "app/supervisor/memory_sampler.h"
#include "app/supervisor/report_writer.h"
#include "app/supervisor/restart_policy.h"
#include "app/supervisor/service.h"
#include "app/supervisor/status_json.h"
#include "app/supervisor/status_view.h"
#include "app/supervisor/thread_watch.h"

namespace campipe {

struct RunOptions {
  std::filesystem::path config;  // for reloading
  std::string log_level = "info";
  std::optional<std::chrono::nanoseconds> duration;
  std::optional<std::filesystem::path> report;
};

class Supervisor {
 public:
  // `signals`: is used until the supervisor is gone.
  Supervisor(const RigConfig& rig, const Machine& machine, const RunOptions& options, RigSignals& signals);
  ~Supervisor();

  // Runs the rig until every source has ended, the duration is over or a signal came. Returns the exit status.
  int run();

 private:
  enum class Kind : std::uint8_t { master, publisher, worker };
  // A process that ought to run, and does, or will again at `start_at`.
  struct Member {
    Kind kind = Kind::worker;
    unsigned worker = 0;   // for workers
    unsigned process = 0;  // its place in the rig page
    Device gpu;            // for workers
    std::string gpu_name = "cpu";
    std::vector<Device> sees;  // the GPUs that CUDA shows it
    int numa_node = -1;
    std::vector<unsigned> cpus;
    std::unique_ptr<ChildProcess> child;
    std::optional<Clock::time_point> start_at;
    RestartPolicy policy;
    BlamePolicy unexplained;  // crashes of threads that work for no camera
    ThreadWatch watch{process_hangs};
    unsigned restarts = 0;
    double cpu_s = 0;  // of those that have died
    double memory_mib = 0;
  };
  // A worker to choose from: one that there is, or that there would be.
  struct Seat {
    Device gpu;
    std::vector<Device> sees;
    unsigned cameras = 0;
  };
  struct Placed {
    Placement placement;
    WorkerPlan worker;
    bool without_its_decoder = false;  // the master does not see that GPU
  };
  enum class Phase : std::uint8_t { running, draining, leaving };
  struct WaitingChange {
    messages::ConfigChange change;
    pid_t asker = 0;  // the publisher whose servers ask; 0: SIGHUP does
  };

  void set_up(const RigPlan& plan);
  void set_up_cameras(const RigPlan& plan);
  void leave_out(CameraState& source, const std::string& why);
  void set_up_member(Member& member, unsigned index, const WorkerPlan& planned, const std::vector<Device>& sees);

  // supervisor.cpp: the loop
  void turn();
  void wait_for_events();
  void obey_signals();
  void pass_on_notes();
  void relay_log();
  void tick();
  void watch_processes();
  void watch_ending();
  void drain(const std::string& why);
  void start_waiting_processes(Clock::time_point by);
  void begin_leaving();
  void end_leaving();
  [[nodiscard]] bool everything_is_over() const;
  [[nodiscard]] bool all_gone() const;

  // supervisor/members.cpp: processes
  static std::string role_of(const Member& member);
  void start(Member& member);
  void introduce(Member& member);
  void check(Member& member);
  void read_messages(Member& member, std::size_t most, std::size_t bytes);
  void flush(Member& member);
  void on_death(Member& member, const ExitInfo& info);
  void on_master_death();
  void on_worker_death(unsigned worker);
  // Kills it; its death is found like any other.
  static void end(Member& member, const std::string& why);
  [[nodiscard]] bool needed(const Member& member) const;
  [[nodiscard]] ThreadBlock& thread_of(const Member& member, unsigned camera) const;
  [[nodiscard]] bool has_camera(const Member& member, const CameraState& camera) const;
  void kill_all();

  // supervisor/blame.cpp: whom a hang or a death is put down to
  [[nodiscard]] bool hung(Member& member);
  bool has_hung_thread(const Member& member, std::int64_t main_thread_waited);
  void blame_who_waits_too(const Member& member, const CameraState& first);
  bool find_guilty(const Member& member);
  [[nodiscard]] bool crashed_unexplained(Member& member, const ExitInfo& info, bool explained);
  bool give_up_viewers(const CameraState& camera);
  void blame(const Member& member, CameraState& camera, const std::string& what, Clock::duration unnoticed = {});
  static void leave_unread(CameraState& camera);

  // supervisor/cameras.cpp: messages, and what becomes of cameras by them
  void handle(Member& member, Message& message);
  template <typename M, typename... Descriptors>
  void receive(Member& member, const Message& message, M& read, Descriptors&... fds);
  void on(Member& member, CameraState& camera, const messages::SourceOver& over);
  void on(Member& member, CameraState& camera, const messages::SourceState& source);
  void on(Member& member, CameraState& camera, const messages::FoundStream& found);
  void on(Member& member, CameraState& camera, const messages::CameraDone& done);
  void on(Member& member, CameraState& camera, const messages::CameraFailed& failed);
  void on(Member& member, CameraState& camera, const messages::PacketRingDone& done);
  void on(Member& member, CameraState& camera, const messages::AudioRingDone& done);
  void on(Member& member, CameraState& camera, const messages::FileBegun& file);
  void on(Member& member, CameraState& camera, const messages::RecordFailed& failed);
  void on(Member& member, CameraState& camera, const messages::RecordPaused& paused);
  void on(Member& member, CameraState& camera, const messages::RecordResumed& resumed);
  void on(Member& member, CameraState& camera, const messages::PushChanged& changed);
  void begin_on_demand(const CameraState& source);
  void on_source_over(CameraState& camera, const std::string& failure);
  void on_worker_done(CameraState& camera);
  void fail(CameraState& camera, const std::string& reason);
  void fail_all(CameraState& source, const std::string& reason);
  [[nodiscard]] bool all_failed(const CameraState& source, bool encoded_only) const;
  void introduce_camera(Member& member, CameraState& camera);
  void introduce_to_master(CameraState& camera);
  void introduce_to_worker(Member& member, CameraState& camera);
  void introduce_to_publisher(CameraState& camera);
  void tell_disabled(const CameraState& camera);
  void end_packets(CameraState& camera);
  void settle_cameras();
  void give_up_sources();

  // supervisor/rings.cpp: rings on their way from who made them to who reads them
  void on(Member& member, CameraState& camera, const messages::FrameRing& ring, std::vector<UniqueFd>& fds);
  void on(Member& member, CameraState& camera, const messages::PacketRing& ring, std::vector<UniqueFd>& fds);
  void on(Member& member, CameraState& camera, const messages::AudioRing& ring, std::vector<UniqueFd>& fds);
  void on(Member& member, CameraState& camera, const messages::RingLost& lost);
  void pass_on_ring(CameraState& camera, const CameraState::AudioRing& ring);
  void pass_on_ring(CameraState& camera, const CameraState::PacketRing& ring);
  void offer_ring(CameraState& camera);
  void renew_ring(const CameraState& camera, const std::string& why);
  static void forget_pixels(CameraState::FrameRing& ring);
  static void give_back_unread(CameraState& camera);
  void on_incomplete(CameraState& camera, const messages::FrameRing& ring);
  void on_incomplete(CameraState& camera, const messages::PacketRing& ring);
  void on_incomplete(CameraState& camera, const messages::AudioRing& ring);
  void lose_ring(CameraState& camera, const std::string& reason);

  // supervisor/trust.cpp: what is believed of what processes send. These throw BadMessage.
  static std::string shown(const Message& message);
  CameraState* camera_for(const Member& member, unsigned place);
  template <typename M>
  void require_possible(const Member&, const CameraState&, const M&) const {}
  void require_possible(const Member&, const CameraState& camera, const messages::FrameRing& ring) const;
  void require_possible(const Member& member, const CameraState& camera, const messages::PacketRing& ring) const;
  void require_possible(const Member&, const CameraState& camera, const messages::AudioRing& ring) const;
  void require_possible(const Member&, const CameraState& camera, const messages::FoundStream& found) const;
  void require_possible(const Member&, const CameraState& camera, const messages::PushChanged& push) const;
  void require_possible(const Member& member, const CameraState& camera, const messages::RingLost& lost) const;
  void require_possible(const Member&, const CameraState& camera, const messages::SourceOver& over) const;
  void require_possible(const Member& member, const CameraState& camera, const messages::CameraDone& done) const;
  void follow_accusations();
  static void shorten_texts(nlohmann::json& body, std::size_t most);
  static void shorten_texts(Message& message);
  void follow_accusation(CameraState& camera, Accusation& accusation, Accused accuser);
  void follow_accusation(CameraState& camera, Member& accuser, Member& accused);
  Member& process_of(const CameraState& camera, Accused role);
  static void offer_newest_packets(const Member& member, CameraState& camera);
  void end_accused(Member& member, CameraState& camera, const std::string& why);

  // supervisor/changes.cpp: cameras that come and go while the rig runs
  void make_camera(const std::vector<unsigned>& places, const CameraConfig& asked,
                   const std::optional<SentStream>& sends, const Placement& placement, unsigned worker,
                   const TotalsByName& before);
  [[nodiscard]] std::vector<unsigned> free_places(std::size_t wanted);
  void require_room(std::span<const CameraConfig> coming);
  void add_camera(const CameraConfig& asked, const TotalsByName& before = {},
                  const std::optional<SentStream>& sends = {});
  [[nodiscard]] std::vector<Seat> seats();
  Placed place_last(const RigConfig& rig);
  static unsigned seat_for(const Placement& placement, std::vector<Seat>& seats);
  [[nodiscard]] RigConfig rig_without(std::span<const CameraConfig> coming) const;
  void require_workers(std::span<const CameraConfig> coming);
  unsigned worker_for(const CameraConfig& config, Placement& placement);
  void keep_failed(const CameraConfig& asked, const TotalsByName& before, const std::string& why);
  void make_known(CameraState& camera);
  void retire(CameraState& camera, const std::optional<CameraConfig>& successor);
  void on_sent_stream(CameraState& camera, const SentStream& sends);
  void settle_retiring();
  TotalsByName free_camera(CameraState& camera, bool comes_anew);
  [[nodiscard]] CameraState* find_camera(const std::string& name);
  nlohmann::json apply(const RigConfig& rig);

  // supervisor/config.cpp: changes of the configuration while the rig runs
  using AfterLoad = std::function<std::optional<messages::Answer>(const LoadedConfig& loaded)>;
  void ask_for_change(messages::ConfigChange change, pid_t asker);
  void reload_on_signal();
  [[nodiscard]] bool reloading() const;
  void go_on_with_changes();
  void do_step(const std::function<std::optional<messages::Answer>()>& step);
  std::optional<messages::Answer> begin(const messages::Reload& asked);
  std::optional<messages::Answer> begin(const messages::PutCamera& asked);
  std::optional<messages::Answer> begin(const messages::RemoveCamera& asked);
  std::optional<messages::Answer> begin(const messages::EnableCamera& asked);
  void refuse_changes();
  void begin_load(const LoadJob& job, AfterLoad then);
  void end_reload(const messages::Answer& answer);
  std::optional<messages::Answer> check(const LoadedConfig& loaded) const;
  messages::Answer take(const LoadedConfig& loaded);
  std::optional<messages::Answer> make_change(const CameraChanges& change, bool persist,
                                              const std::function<messages::Answer()>& make);
  messages::Answer make_camera_be(const CameraConfig& config);

  // supervisor/requests.cpp: what the publisher's servers ask for
  void on_request(const messages::SetRecording& asked);
  void on_request(messages::ConfigChange change) { ask_for_change(std::move(change), publisher().child->pid()); }
  static messages::Answer refused(int status, const std::string& why);
  static std::optional<messages::Answer> answer_of(const std::function<std::optional<messages::Answer>()>& work);
  void send_answer(pid_t asker, std::uint64_t request, messages::Answer answer);
  messages::Answer set_recording(const messages::SetRecording& asked);
  void tell_service();
  void tell_status();

  bool send(Member& member, std::string_view type, const nlohmann::json& body, const std::vector<int>& fds);
  template <typename M>
  bool send(Member& member, const M& message, const std::vector<int>& fds = {}) {
    return send(member, M::type, write_json(message), fds);
  }
  // What concerns a camera goes only to processes that have it.
  template <typename M>
  bool send_for(Member& member, const CameraState& camera, M message, const std::vector<int>& fds = {}) {
    if (!has_camera(member, camera)) return false;
    message.camera = camera.index;
    return send(member, message, fds);
  }
  Member& master() { return members_[0]; }
  Member& publisher() { return members_[1]; }
  Member& worker(unsigned index) { return members_[2 + index]; }

  // The end of a run
  void settle_the_rest();
  void put_report();
  [[nodiscard]] int exit_status() const;
  [[nodiscard]] double cpu_seconds() const;
  void request_memory_sample();
  void take_memory_sample();
  [[nodiscard]] bool sampled_at_the_end();
  [[nodiscard]] bool had_just_begun(const CameraState& camera) const;
  [[nodiscard]] bool ended_as_asked(const CameraState& camera) const;

  RunOptions options_;
  RigConfig rig_;                              // as it was read last; its cameras are as they were at the start
  CameraChanges changes_;                      // to cameras, since then
  std::deque<WaitingChange> changes_waiting_;  // while load_ is at work, for the first one
  std::unique_ptr<LoadProcess> load_;
  AfterLoad then_;
  std::unique_ptr<LoadProcess> left_behind_;  // the one before; it may not have ended
  Machine machine_;
  RigPage page_;
  std::vector<CameraState> cameras_;   // and behind them their other outputs; never moved
  std::optional<std::string> events_;  // the file for events
  std::vector<Member> members_;        // never moved
  RigSignals& signals_;
  DescriptorReserve reserve_;  // for starting processes, whatever cameras use
  UniqueFd log_read_;
  UniqueFd log_write_;
  std::string log_rest_;
  std::map<std::pair<unsigned, unsigned>, Clock::time_point> accused_at_;  // last, by accuser and accused
  StepGuard guard_;
  MemorySampler memory_;
  std::vector<unsigned> sampled_;  // the members of the newest request, by their places
  std::optional<ReportWriter> report_;
  StatusView view_;
  Phase phase_ = Phase::running;
  std::string ending_;  // why the run ends: "ended", "stopped", "duration"
  Clock::time_point started_ = Clock::now();
  Clock::time_point next_tick_{};
  Clock::time_point next_memory_sample_{};
  Clock::time_point next_status_{};
  Clock::time_point next_report_{};
  StatusJson status_;
  ServiceNotifier service_;
  Clock::time_point distrust_beats_until_{};  // this process did not run for a while: others may not have either
  std::optional<Clock::time_point> drain_began_;
  std::optional<Clock::time_point> over_since_;  // everything_is_over()
  std::optional<Clock::time_point> leave_began_;
  bool files_closed_ = false;
  bool gave_up_ = false;    // the time to drain was over before everything had been handed over
  bool told_late_ = false;  // that processes do not leave
  double own_memory_mib_ = 0;
  double max_memory_mib_ = 0;
};

}  // namespace campipe
