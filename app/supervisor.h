// The supervisor: starts master, workers and publisher, hands rings on between them, watches and restarts them,
// and keeps the books. It touches no pixels, no stream and no GPU, so that it has little to die of. One thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/camera_state.h"
#include "app/child_process.h"
#include "app/config.h"
#include "app/plan.h"
#include "app/restart_policy.h"
#include "app/status_view.h"

namespace campipe {

struct RunOptions {
  std::string log_level = "info";
  std::optional<std::chrono::nanoseconds> duration;
  std::optional<std::filesystem::path> report;
};

class Supervisor {
 public:
  Supervisor(const RigConfig& rig, const Machine& machine, const RunOptions& options);
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
    unsigned restarts = 0;
    double cpu_s = 0;  // of those that have died
  };
  enum class Phase : std::uint8_t { running, draining, leaving };

  void set_up(const RigPlan& plan, const RigConfig& rig, const Devices& devices);
  void set_up_cameras(const RigPlan& plan, const RigConfig& rig, const Devices& devices);

  // supervisor.cpp: the loop
  void wait_for_events();
  void on_signal();
  void relay_log();
  void tick();
  void drain(const std::string& why);
  void begin_leaving();
  void end_leaving();
  [[nodiscard]] bool all_gone() const;

  // supervisor_members.cpp: processes
  static std::string role_of(const Member& member);
  void start(Member& member);
  void introduce(Member& member);
  void check(Member& member);
  void read_messages(Member& member);
  void on_death(Member& member, const ExitInfo& info);
  void on_master_death();
  void on_worker_death(unsigned worker);
  void find_guilty(const Member& member);
  void blame(const Member& member, CameraState& camera, const std::string& what);
  [[nodiscard]] bool hung(Member& member);
  [[nodiscard]] bool needed(const Member& member) const;
  [[nodiscard]] ThreadBlock& thread_of(const Member& member, unsigned camera) const;
  [[nodiscard]] bool has_camera(const Member& member, const CameraState& camera) const;
  void kill_all();

  // supervisor_cameras.cpp: rings and messages
  void handle(Member& member, Message& message);
  void on_frame_ring(CameraState& camera, Message& message);
  void on_source_state(CameraState& camera, bool delivers, const std::string& reason);
  void on_packet_ring(CameraState& camera, Message& message);
  void on_source_over(CameraState& camera, const std::string& failure);
  void on_worker_done(CameraState& camera);
  void fail(CameraState& camera, const std::string& reason);
  void on_audio_ring(CameraState& camera, Message& message);
  void on_recording(CameraState& camera, const std::string& type, const nlohmann::json& body);
  void fail_all(CameraState& source, const std::string& reason);
  [[nodiscard]] bool all_failed(const CameraState& source, bool encoded_only) const;
  void introduce_camera(Member& member, CameraState& camera);
  void introduce_to_master(CameraState& camera);
  void introduce_to_worker(Member& member, CameraState& camera);
  void introduce_to_publisher(CameraState& camera);
  void offer_ring(CameraState& camera);
  void end_packets(CameraState& camera);
  void settle_cameras();
  void give_up_sources();
  bool send(Member& member, const std::string& type, const nlohmann::json& body, const std::vector<int>& fds = {});
  Member& master() { return members_[0]; }
  Member& publisher() { return members_[1]; }
  Member& worker(unsigned index) { return members_[2 + index]; }

  // The end of a run
  void settle_the_rest();
  void write_report();
  [[nodiscard]] int exit_status() const;
  [[nodiscard]] double cpu_seconds() const;
  void sample_memory();

  RunOptions options_;
  Mps mps_;
  RigPage page_;
  std::vector<CameraState> cameras_;   // and behind them their other outputs
  std::optional<std::string> events_;  // the file for events
  std::vector<Member> members_;
  UniqueFd signals_;
  UniqueFd log_read_;
  UniqueFd log_write_;
  std::string log_rest_;
  StatusView view_;
  Phase phase_ = Phase::running;
  std::string ending_;  // why the run ends: "ended", "stopped", "duration"
  Clock::time_point started_ = Clock::now();
  Clock::time_point next_tick_{};
  Clock::time_point next_memory_sample_{};
  Clock::time_point distrust_beats_until_{};  // this process did not run for a while: others may not have either
  std::optional<Clock::time_point> drain_began_;
  std::optional<Clock::time_point> leave_began_;
  bool files_closed_ = false;
  bool gave_up_ = false;    // the time to drain was over before everything had been handed over
  bool told_late_ = false;  // that processes do not leave
  double max_memory_mib_ = 0;
};

}  // namespace campipe
