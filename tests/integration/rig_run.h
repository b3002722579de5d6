// Runs the real program as a user does, in a fresh temporary folder, and finds its processes, so that a test can
// signal them. Whatever a test does, the destructor ends every process of the rig and removes the folder.
//
// Nothing here sleeps for a fixed time instead of waiting for something: every wait names its condition and has an end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/unique_handle.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {

// Long enough for any machine; what a test measures has bounds of its own.
inline constexpr auto long_time = std::chrono::seconds(60);

// Asks every few milliseconds; false: not within `limit`.
bool eventually(const std::function<bool()>& condition, std::chrono::nanoseconds limit = long_time);

std::string read_text(const std::filesystem::path& file);

struct RigOptions {
  std::vector<std::string> arguments = {};  // besides --config and --report
  std::string failpoints = {};              // CAMPIPE_FAILPOINT; not empty: campipe_faults runs
  bool trace = false;                       // campipe_faults runs, and writes trace.json (app/control/process_trace.h)
  unsigned pretended_gpus = 0;              // that campipe_faults pretends to have (core/pretended_gpus.h)
  bool terminal = false;                    // standard error is a terminal
  bool report = true;
  bool unread = false;                    // standard error is a full pipe that nobody reads
  unsigned descriptors = 0;               // that each process may have, for good; 0: as many as the test
  std::string config = "rig.yaml";        // the configuration's name
  std::filesystem::path state = {};       // where it keeps what lasts; empty: its own folder
  std::filesystem::path cache = {};       // where it keeps what it has measured; empty: its own folder
  std::string network = {};               // the network namespace that it runs in; empty: the test's
  std::vector<std::string> command = {};  // instead of --config, --report and `arguments`
};

class RigRun {
 public:
  using Options = RigOptions;

  explicit RigRun(const std::string& yaml, const Options& options = {});
  ~RigRun();
  RigRun(const RigRun&) = delete;
  RigRun& operator=(const RigRun&) = delete;

  // The current folder of the program: recordings of relative paths, rig.yaml, report.json.
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return folder() / name; }
  [[nodiscard]] std::filesystem::path temporary() const { return folder() / "tmp"; }  // the program's TMPDIR

  [[nodiscard]] pid_t supervisor() const { return pid_; }
  // Every process of this rig that is not a zombie, whoever its parent is by now.
  [[nodiscard]] std::vector<pid_t> processes() const;
  // "master", "publisher", "worker 0"; nothing while there is none.
  [[nodiscard]] std::optional<pid_t> find(const std::string& role) const;
  // Waits for it. Throws if it does not come.
  [[nodiscard]] pid_t pid_of(const std::string& role) const;
  // Waits for a process of that role with another id.
  pid_t successor_of(const std::string& role, pid_t before) const;
  [[nodiscard]] bool has_grown(const std::string& name, std::uintmax_t beyond) const;
  // Waits until a recording has more bytes than that. False: it did not come, or the rig ended before.
  bool wait_for_growth(const std::string& name, std::uintmax_t beyond, std::chrono::nanoseconds limit = long_time);
  [[nodiscard]] std::uintmax_t size(const std::string& name) const;

  void signal(int number) const;
  // Waits for the program's end: the exit status, or 128 + the signal that ended it. Throws if it goes on.
  int wait(std::chrono::nanoseconds limit = long_time);
  // Likewise, as long as it takes, if this recording goes on growing meanwhile.
  int wait_while_it_grows(const std::string& name);
  [[nodiscard]] bool running();

  [[nodiscard]] std::string log() const;  // standard error so far
  [[nodiscard]] std::string output() const;
  [[nodiscard]] nlohmann::json report() const;
  [[nodiscard]] nlohmann::json camera(const std::string& name) const { return report().at("cameras").at(name); }

 private:
  void start(const Options& options);
  void pump_terminal();

  TemporaryFolder folder_;
  pid_t pid_ = -1;
  std::optional<int> status_;
  UniqueFd terminal_;
  UniqueFd unread_;
  std::jthread pump_;
};

// The program's answer to a command line, e.g. {"--version"}.
struct Answer {
  int status = 0;
  std::string output;
  std::string errors;
};
Answer ask(const std::vector<std::string>& command, const std::string& yaml = "");

// decoded + repeated == encoded + Σ dropped, and recorded + unrecorded ≤ encoded. For EXPECT_EQ: empty, or what is
// wrong.
std::string check_accounting(const nlohmann::json& report);

}  // namespace campipe::test
