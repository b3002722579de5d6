// Which GPUs are gone, and which are back: a function of what their processes and the checks of them report, and of
// times, so that it can be tested without either (docs/decisions/0016).
//
//   here ── a process lost it ──► suspected ── its check fails, or its processes lose it again ──► gone
//    ▲                               │ the check finds nothing                                       │ a check is good
//    ├───────────────────────────────┘                                                               ▼
//    └──────────────────────────── so many good checks in a row ◄──────────────────────────────  returning
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/frame.h"

namespace campipe {

class GpuHealth {
 public:
  // suspected: it is still used. returning: it is not used yet.
  enum class State : std::uint8_t { here, suspected, gone, returning };
  struct Gpu {
    Device device;
    State state = State::here;
    std::string reason;         // of suspected and gone
    Clock::time_point since{};  // that it is in that state
  };

  // What is to be done about a GPU.
  struct Step {
    enum class What : std::uint8_t {
      check,      // find out whether a new process can use it; the answer is on_check()
      leave,      // nothing is to run there any more
      come_back,  // it can be used again
      send_on,    // what came here from a GPU that had nothing wrong with it goes on to the CPU: it may be the cause
    };
    What what{};
    Device device;
    std::string reason;
  };

  // A process lost its context there, or could not begin to use it. `what`: in words.
  void on_loss(const Device& device, const std::string& what, Clock::time_point now);
  // A process that worked there hung: which it may have done for another reason, so that it only has the GPU checked.
  void on_hang(const Device& device, const std::string& what, Clock::time_point now);
  // `problem`: why a new process cannot use it; empty: it can.
  void on_check(const Device& device, const std::string& problem, Clock::time_point now);
  // It has never been here, as far as anybody knows. Whoever says so looks for it: here it is neither checked nor come
  // back. `reason`: the newest.
  void miss(const Device& device, const std::string& reason, Clock::time_point now);
  // It is not that device that is missed any more.
  void forget(const Device& device);
  // What has become due, each step once.
  std::vector<Step> follow(Clock::time_point now);

  [[nodiscard]] bool is_gone(const Device& device) const;
  // It may be: it is being checked, or is about to be.
  [[nodiscard]] bool is_suspected(const Device& device) const;
  // Those that were ever suspected.
  [[nodiscard]] std::vector<Gpu> all() const;

 private:
  struct Known {
    Gpu gpu;
    std::deque<Clock::time_point> losses;
    bool checking = false;
    std::optional<Clock::time_point> next_check;
    unsigned good_checks = 0;
    Clock::duration wait{};      // between checks while it is gone
    bool against_check = false;  // gone, though its checks are good
    Clock::time_point left{};
    std::optional<Clock::time_point> back;  // when it was here again
  };
  Known& known(const Device& device);
  [[nodiscard]] const Known* find(const Device& device) const;
  static void become(Known& gpu, State state, const std::string& reason, Clock::time_point now);
  static void suspect(Known& gpu, const std::string& what, Clock::time_point now);
  static bool loses_again(const Known& gpu, Clock::time_point now);
  [[nodiscard]] bool may_leave_against_check(const Known& gpu) const;
  void leave(Known& gpu, const std::string& reason, bool against_check, Clock::time_point now);
  void judge_good_check(Known& gpu, Clock::time_point now);
  void on_good_check_while_gone(Known& gpu, Clock::time_point now);

  std::vector<Known> gpus_;
  std::vector<Step> due_;
};

const char* name_of(GpuHealth::State state);

}  // namespace campipe
