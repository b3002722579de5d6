// Which camera goes over to which worker where one worker has too much to do and another one has room: a pure function
// of counters and times, so that it can be tested without processes.
//
// A worker is short when one of its cameras has been late for two windows (load_window.h) and its cores are full, or,
// on a GPU, the GPU is by prediction. It gives away the camera with the smallest need with which the others have enough
// time; where none is enough, the largest one that another worker has room for. One whose cores were full goes on
// giving until its cameras leave some of them, since the load of encoders comes in bursts. Room is what the other
// worker's cores were idle in the last two windows. Workers that share their cores have no room for one another.
//
// So that nothing goes back and forth: one move at a time, and no more than a few in a minute; both workers are looked
// at anew after each; a camera stays for a minute, and for ten does not go back to where it came from. A worker that is
// late soon after it got a camera is not believed to have room for a while, nor is a camera asked again soon that could
// not be moved; each time for twice as long.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/supervisor/moving/load_window.h"

namespace campipe {

class BalancePolicy {
 public:
  struct Move {
    std::string camera;
    unsigned from = 0;
    unsigned to = 0;
    std::string reason;
  };
  // What is to be done, and what is to be said: only cameras that cannot be moved could help.
  struct Decision {
    std::optional<Move> move;
    std::vector<std::string> stuck;  // once while it lasts
  };
  // To be called about once a second. A move that it asks for is seen to have come about, or not, by where the camera
  // is when it is not `busy` any more.
  Decision look_at(const RigLoad& load, Clock::time_point now);

  // A move may still help this worker, so nobody has to give up anything before that.
  [[nodiscard]] bool may_relieve(unsigned worker, Clock::time_point now) const;

 private:
  using Camera = MeasuredLoad::Camera;
  using Worker = MeasuredLoad::Worker;
  // Something that did not work is tried again later.
  struct Backoff {
    Clock::time_point until;
    Clock::duration length{};
    void fail(Clock::time_point now);
  };
  struct WorkerState {
    unsigned late_windows = 0;
    std::optional<Clock::time_point> late_since;
    std::optional<Clock::time_point> full_since;  // was late with full cores then; its cameras need all of them since
    std::optional<double> idle_before;            // in the window before
    bool may_be_relieved = false;                 // as of the last window
    std::optional<Clock::time_point> got_camera;  // not long ago
    Backoff no_room;
    bool said_stuck = false;
  };
  struct CameraState {
    unsigned worker = 0;
    std::optional<Clock::time_point> moved;
    std::map<unsigned, Clock::time_point> left;  // workers, when
    Backoff failed;
  };
  struct Choice {
    const Camera* camera = nullptr;
    const Worker* to = nullptr;
  };

  void follow_moves(const RigLoad& load, Clock::time_point now);
  void note_move(CameraState& state, unsigned from, unsigned to, Clock::time_point now);
  void judge(const Worker& worker, Clock::time_point now);
  [[nodiscard]] double room_of(const Worker& worker, Clock::time_point now) const;
  [[nodiscard]] bool is_short(const Worker& worker) const;
  [[nodiscard]] bool lacks_cores(const Worker& worker) const;
  [[nodiscard]] bool has_room_for(const Worker& to, const Worker& from, const Camera& camera,
                                  Clock::time_point now) const;
  [[nodiscard]] const Worker* best_for(const Camera& camera, const Worker& from, Clock::time_point now) const;
  [[nodiscard]] bool may_go(const Camera& camera, Clock::time_point now) const;
  [[nodiscard]] Choice choose(const Worker& from, Clock::time_point now) const;
  [[nodiscard]] std::string reason_for(const Worker& from, const Worker& to, Clock::time_point now) const;
  [[nodiscard]] std::optional<std::string> stuck(const Worker& worker, Clock::time_point now) const;

  LoadWindow window_;
  MeasuredLoad measured_;  // of the last window
  std::map<unsigned, WorkerState> workers_;
  std::map<std::string, CameraState> cameras_;
  std::optional<Move> pending_;
  std::deque<Clock::time_point> moves_;  // when they were asked for
};

}  // namespace campipe
