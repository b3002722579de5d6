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
#include "app/control/rig_answer.h"
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
  struct Request {
    nlohmann::json body;
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
  void on_camera_done(const Member& member, CameraState& camera);
  void check_source_over(const CameraState& camera, const std::string& failure, bool at_end) const;
  void on_source_state(CameraState& camera, bool delivers, const std::string& reason);
  void begin_on_demand(const CameraState& source);
  void on_source_over(CameraState& camera, const std::string& failure);
  void on_worker_done(CameraState& camera);
  void fail(CameraState& camera, const std::string& reason);
  void on_recording(CameraState& camera, const std::string& type, const nlohmann::json& body);
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
  void on_frame_ring(CameraState& camera, Message& message);
  void on_packet_ring(CameraState& camera, Message& message);
  void on_audio_ring(CameraState& camera, Message& message);
  void pass_on_ring(CameraState& camera, const CameraState::AudioRing& ring);
  void pass_on_ring(CameraState& camera, const CameraState::PacketRing& ring);
  void offer_ring(CameraState& camera);
  void renew_ring(const CameraState& camera, const std::string& why);
  static void forget_pixels(CameraState::FrameRing& ring);
  static void give_back_unread(CameraState& camera);
  void on_ring_lost(const Member& member, CameraState& camera, const std::string& reason);
  void on_incomplete(CameraState& camera, const Message& message);
  void lose_ring(CameraState& camera, const std::string& reason);

  // supervisor/trust.cpp: what is believed of what processes say
  void require_right(const Member& member, const Message& message) const;
  void require_camera(const Member& member, const Message& message, const CameraState& camera) const;
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
  using AfterLoad = std::function<std::optional<RigAnswer>(const LoadedConfig& loaded)>;
  static bool changes_configuration(const std::string& op);
  void ask_for_change(const Request& request);
  void reload_on_signal();
  [[nodiscard]] bool reloading() const;
  void go_on_with_changes();
  void do_step(const std::function<std::optional<RigAnswer>()>& step);
  std::optional<RigAnswer> begin_change(const nlohmann::json& request);
  void refuse_changes();
  void begin_load(const LoadJob& job, AfterLoad then);
  void end_reload(const RigAnswer& answer);
  std::optional<RigAnswer> check(const LoadedConfig& loaded) const;
  RigAnswer take(const LoadedConfig& loaded);
  std::optional<RigAnswer> make_change(const CameraChanges& change, bool persist,
                                       const std::function<RigAnswer()>& make);
  std::optional<RigAnswer> put_camera(const nlohmann::json& request);
  RigAnswer make_camera_be(const CameraConfig& config);
  std::optional<RigAnswer> remove_camera(const nlohmann::json& request);
  std::optional<RigAnswer> enable_camera(const nlohmann::json& request);

  // supervisor/requests.cpp: what the publisher's servers ask for
  void on_request(const nlohmann::json& request);
  static RigAnswer refused(int status, const std::string& why);
  static std::optional<RigAnswer> answer_of(const std::function<std::optional<RigAnswer>()>& work);
  void send_answer(const Request& request, const RigAnswer& answer);
  RigAnswer answer(const nlohmann::json& request);
  RigAnswer record(const nlohmann::json& request);
  void tell_service();
  void tell_status();

  bool send(Member& member, const std::string& type, const nlohmann::json& body, const std::vector<int>& fds = {});
  bool send_for(Member& member, const CameraState& camera, const std::string& type, nlohmann::json body = {},
                const std::vector<int>& fds = {});
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
  RigConfig rig_;                        // as it was read last; its cameras are as they were at the start
  CameraChanges changes_;                // to cameras, since then
  std::deque<Request> changes_waiting_;  // while load_ is at work, for the first one
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
