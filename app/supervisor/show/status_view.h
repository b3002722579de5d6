// What a person sees while the rig runs: on a terminal a table that refreshes in place, with log lines above it;
// elsewhere a line for a camera when it changes (its state, frames that begin or cease to be dropped), and once an
// hour. Used by the supervisor's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/supervisor/port/terminal.h"
#include "app/supervisor/rig/accounting.h"
#include "app/supervisor/rig/cameras.h"
#include "core/clock.h"
#include "ipc/histogram.h"

namespace campipe {

// One output over the last seconds.
struct CameraStatus {
  std::string name;
  std::string state;
  std::optional<double> fps_in = {};  // nothing: frames have not come for long enough to tell
  std::optional<double> fps_out = {};
  double p50_ms = 0;
  double p95_ms = 0;
  std::uint64_t dropped = 0;
  std::string main_cause;  // of the drops; empty without any
  unsigned worker = 0;
  std::string gpu = "cpu";
  std::string note;  // why it failed
};

// The table as lines without line ends, each at most `width` columns.
std::vector<std::string> format_table(const std::vector<CameraStatus>& cameras, double uptime_s, unsigned width,
                                      bool over = false);
std::string format_line(const CameraStatus& camera);

// Which cameras are worth a line of the log: 8,640 lines a day for each would hide what happens.
class ChangesToLog {
 public:
  // Those whose state is another than at the last call, or whose frames began or ceased to be dropped since; and each
  // once an hour.
  std::vector<CameraStatus> take(const std::vector<CameraStatus>& cameras, Clock::time_point now);

 private:
  struct Logged {
    std::string state;
    bool drops = false;
    std::uint64_t dropped = 0;
    Clock::time_point at;
  };
  std::map<std::string, Logged> logged_;  // by the camera's name
};

class StatusView {
 public:
  // `terminal` must outlive it.
  explicit StatusView(Terminal& terminal);
  // A line of the log, from this or another process; without its line end.
  void log_line(const std::string& line);
  // To be called several times a second; shows what is due.
  void update(const Cameras& cameras, const RigPage& page);
  // The last state, for good: the table stays on the terminal, and a line for each camera says what became of it.
  void finish(const Cameras& cameras, const RigPage& page);

 private:
  struct Sample {
    std::string name;
    Clock::time_point at;
    FrameCounts counts;
    HistogramCounts latency;
  };

  void note_first_frames(const Cameras& cameras, const RigPage& page);
  // `over`: of the whole run.
  std::vector<CameraStatus> measure(const Cameras& cameras, const RigPage& page, bool over);
  CameraStatus measure(const Camera& camera, const Output& output, const RigPage& page, bool over);
  static Sample sample_of(const Camera& camera, const Output& output, const RigPage& page);
  void draw(const std::vector<CameraStatus>& cameras, bool over);
  std::string erased();
  std::string drawn();

  Terminal& out_;
  bool terminal_;  // that out_ can be drawn on
  Clock::time_point started_ = Clock::now();
  Clock::time_point next_;
  Clock::time_point next_note_{};  // when first frames are noted
  std::map<OutputId, Sample> samples_;
  ChangesToLog changes_;
  std::size_t lines_drawn_ = 0;
  std::vector<std::string> table_;
};

}  // namespace campipe
