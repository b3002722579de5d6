// The room `processes` owns the rig's processes: it starts, restarts and ends them, and has the messages to and from
// them. It knows which process has work for which camera, and not what a message does. All may call it but `rig` and
// `port`.
//
// The supervisor's processes, by kind: starting and restarting them, and the messages to and from them. What becomes of
// cameras by that is the business of the receiver of Events.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/control/message_dispatch.h"
#include "app/control/step_guard.h"
#include "app/supervisor/processes/process.h"
#include "app/supervisor/rig/rig_state.h"

namespace campipe {

class Processes {
 public:
  struct Events {
    // It has just been started, and knows nothing yet.
    std::function<void(ManagedProcess&)> on_started;
    // What it throws ends the process: a BadMessage, or any other exception.
    std::function<void(ManagedProcess&, Message&)> on_message;
    // It has died. True: it is likely to die again, and is to wait before it is restarted.
    std::function<bool(ManagedProcess&, const ExitInfo&)> on_death;
    // Some camera has work for it, so that it is worth starting.
    std::function<bool(const ManagedProcess&)> needed;
    // The GPU that it works on may be gone: then it is not restarted.
    std::function<bool(const ManagedProcess&)> doubtful = [](const ManagedProcess&) { return false; };
  };

  // `rig` and `guard` must outlive it.
  Processes(RigState& rig, StepGuard& guard, StartProcess start, Events events);

  // One that is there as long as the rig, and does not run yet. At most one source, one publisher, max_masters,
  // max_workers, one of the cluster, and one of links. Throws Error.
  ManagedProcess& add(ProcessKind kind, ProcessPlace place);
  // In the order in which they were added; none is ever moved, or removed before the end.
  [[nodiscard]] std::list<ManagedProcess>& all() { return processes_; }
  [[nodiscard]] const std::list<ManagedProcess>& all() const { return processes_; }
  [[nodiscard]] ManagedProcess& of(ProcessKind kind, unsigned number = 0);
  [[nodiscard]] ManagedProcess& of(ProcessId process);
  ManagedProcess& source() { return of(ProcessKind::source); }
  // Who decodes a camera.
  ManagedProcess& master_of(const Camera& camera) { return of(camera.decoding.process); }
  // Who decodes where `place` is; added where there is none yet.
  ManagedProcess& master_at(const ProcessPlace& place);
  // Likewise who decodes cameras that are in quarantine, on any device.
  ManagedProcess& quarantine(unsigned number);
  ManagedProcess& publisher() { return of(ProcessKind::publisher); }
  ManagedProcess& worker(unsigned number) { return of(ProcessKind::worker, number); }
  [[nodiscard]] unsigned count(ProcessKind kind) const;
  // Of all of a kind.
  [[nodiscard]] unsigned restarts(ProcessKind kind) const;

  void start_all();
  // Where it is needed. One that cannot be started is tried again.
  void start(ManagedProcess& process);
  void add_waits(Waits& waits) const;
  // Receives what they have sent, sends what waits, and finds those that have died.
  void serve();
  // Starts those whose time has come.
  void start_due();
  // What lies in the rings of a process that waits for its restart would be lost: there is no time left to wait.
  void start_by(Clock::time_point by);
  // Kills it; its death is found like any other. One death is one line, however long it takes.
  static void end(ManagedProcess& process, const std::string& why);
  // Likewise, where it runs and nothing needs it: that is no death to count.
  static void end_unneeded(ManagedProcess& process);
  // Likewise, where it runs and can do nothing where it is: a death that is no fault of its own. `why`: "its GPU is
  // gone".
  static void end_since(ManagedProcess& process, const std::string& why);
  void kill_all();
  [[nodiscard]] bool all_gone() const;

  // False: it does not run, or cannot take it any more.
  template <typename M>
  bool send(ManagedProcess& process, M&& message, const std::vector<int>& fds = {}) {
    return send(process, std::remove_cvref_t<M>::type, write_message(std::forward<M>(message)), fds);
  }
  // What concerns a camera goes only to processes that have work with it; fills in `message.camera`.
  template <typename M>
  bool send_for(ManagedProcess& process, const Camera& camera, M message, const std::vector<int>& fds = {}) {
    if (!has_work(process, camera)) return false;
    message.camera = camera.id;
    return send(process, message, fds);
  }
  // To all of a kind that run.
  template <typename M>
  void send_to_all(ProcessKind kind, const M& message) {
    for (ManagedProcess& process : processes_) {
      if (process.kind == kind) send(process, message);
    }
  }
  // To the master that has a thread for the camera.
  template <typename M>
  bool send_to_master(const Camera& camera, const M& message, const std::vector<int>& fds = {}) {
    return !camera.decoding.gone && send(master_of(camera), message, fds);
  }
  // Sends a message about a node to the process that runs it; fills in `message.node`.
  template <typename M>
  bool send_to_node(const Camera& camera, const CameraNode& node, M message, const std::vector<int>& fds = {}) {
    if (!camera.takes_part() || node.done) return false;
    message.node = node.id;
    return send(of(node.process()), message, fds);
  }
  // Sends a message about an output to the publisher; fills in `message.output`.
  template <typename M>
  bool send_to_publisher(const Camera& camera, const Output& output, M message, const std::vector<int>& fds = {}) {
    if (!has_work(publisher(), camera, output)) return false;
    message.output = output.id;
    return send(publisher(), message, fds);
  }

 private:
  bool send(ManagedProcess& process, std::string_view type, const nlohmann::json& body, const std::vector<int>& fds);
  void serve(ManagedProcess& process);
  void read_messages(ManagedProcess& process, std::size_t most, std::size_t bytes);
  static void flush(ManagedProcess& process);
  void choose_visible(ProcessPlace& place) const;
  void on_death(ManagedProcess& process, const ExitInfo& info);

  RigState& rig_;
  StepGuard& guard_;
  StartProcess start_;
  Events events_;
  std::list<ManagedProcess> processes_;  // one may be added while others are looked after
};

}  // namespace campipe
