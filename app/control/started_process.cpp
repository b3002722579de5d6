#include "app/control/started_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include <sys/pidfd.h>  // glibc 2.36's header forgets that C++ reads it too
}

#include <cerrno>
#include <mutex>

#include "app/control/child.h"
#include "app/control/child_environment.h"
#include "app/control/core_times.h"
#include "app/control/fork_server.h"
#include "app/control/message_dispatch.h"
#include "app/control/messages/fork_server.h"
#include "app/control/process_trace.h"
#include "core/error.h"

namespace campipe {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// As C wants them: ended by a null pointer, into `texts`.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<messages::Begin::Bytes> bytes_of(const std::vector<std::string>& texts) {
  std::vector<messages::Begin::Bytes> all;
  for (const std::string& text : texts) all.emplace_back(text.begin(), text.end());
  return all;
}

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  void duplicate(int from, int to) { posix_spawn_file_actions_adddup2(&actions_, from, to); }
  void open_null(int to) { posix_spawn_file_actions_addopen(&actions_, to, "/dev/null", O_RDONLY, 0); }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// Those that were left behind and have not been reaped: until then each of them takes a process id. Thread-safe.
class LeftBehind {
 public:
  void add(pid_t pid) {
    const std::lock_guard lock(mutex_);
    pids_.push_back(pid);
  }
  // Waits for none of them.
  void reap() {
    const std::lock_guard lock(mutex_);
    std::erase_if(pids_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
  }

 private:
  std::mutex mutex_;
  std::vector<pid_t> pids_;
};

LeftBehind& left_behind() {
  static LeftBehind all;
  return all;
}

}  // namespace

StartedProcess::StartedProcess(const std::vector<std::string>& arguments, int log_fd,
                               const std::vector<std::string>& variables, ForkServer* forks)
    : StartedProcess(forks) {
  if (forks == nullptr || !fork_from(*forks, arguments, log_fd, variables)) load(arguments, log_fd, variables);
  pidfd_.reset(::pidfd_open(pid_, 0));
  if (!pidfd_) throw system_error("cannot watch campipe " + arguments.front(), errno);
  traced_as_ = pid_;
  trace_start(traced_as_, arguments);
}

bool StartedProcess::fork_from(ForkServer& forks, const std::vector<std::string>& arguments, int log_fd,
                               const std::vector<std::string>& variables) {
  auto [ours, theirs] = make_channel_pair();
  const auto pid = forks.fork(log_fd, theirs.get());
  if (!pid) return false;
  pid_ = *pid;
  channel_ = Channel(std::move(ours));
  campipe::send(channel_, messages::Begin{bytes_of(arguments), bytes_of(variables), forks.umask()});
  return true;
}

void StartedProcess::load(const std::vector<std::string>& arguments, int log_fd,
                          const std::vector<std::string>& variables) {
  auto [ours, theirs] = make_channel_pair();
  std::vector<std::string> words{"campipe"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> environment = environment_with(variables);
  FileActions actions;
  actions.open_null(STDIN_FILENO);
  actions.duplicate(log_fd, STDOUT_FILENO);
  actions.duplicate(log_fd, STDERR_FILENO);
  actions.duplicate(theirs.get(), child_channel_fd);  // everything else is close-on-exec
  // The same file that runs now, even if it was replaced meanwhile: all processes of a rig are one version.
  const int code = posix_spawn(&pid_, "/proc/self/exe", actions.get(), nullptr, pointers_to(words).data(),
                               pointers_to(environment).data());
  if (code != 0) throw system_error("cannot start campipe " + arguments.front(), code);
  channel_ = Channel(std::move(ours));
}

StartedProcess::~StartedProcess() {
  if (pid_ < 0) return;
  kill();
  ::waitpid(pid_, nullptr, 0);
}

void StartedProcess::kill() {
  killed_ = true;
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void StartedProcess::leave_behind() {
  kill();
  if (pid_ > 0) left_behind().add(pid_);
  pid_ = -1;
}

bool StartedProcess::send(std::string_view type, const nlohmann::json& body, const std::vector<int>& fds) {
  trace_sent(traced_as_, type, body, fds);
  return outbox_.send(std::string(type), body, fds);
}

std::optional<Message> StartedProcess::receive(std::string_view large) {
  trace_page(traced_as_);
  auto message = channel_.receive(large);
  if (message) trace_received(traced_as_, *message);
  return message;
}

void StartedProcess::add_waits(Waits& waits) const {
  if (pid_ > 0) waits.push_back({pidfd_.get(), POLLIN, 0});
  const auto events = static_cast<short>(outbox_.wants_room() ? POLLIN | POLLOUT : POLLIN);
  if (!channel_.closed()) waits.push_back({channel_.fd(), events, 0});
}

ChildProcess::CpuTimes StartedProcess::look_at_main_thread() {
  if (const auto times = read_thread_times(pid_, pid_)) {
    main_times_.used = times->used;
    main_times_.waited += main_wait_.look(*times, now_ns());
  }
  return main_times_;
}

bool StartedProcess::any_thread_runs() const { return campipe::any_thread_runs(pid_); }

double StartedProcess::cpu_seconds() const { return cpu_seconds_of(pid_); }

std::optional<ExitInfo> StartedProcess::reap() {
  left_behind().reap();
  int status = 0;
  rusage usage{};
  if (pid_ < 0 || ::wait4(pid_, &status, WNOHANG, &usage) != pid_) return std::nullopt;
  pid_ = -1;
  trace_end(traced_as_, status);
  const ExitInfo info{status, seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime)};
  if (forks_ != nullptr && crashed(info)) forks_->renew();
  return info;
}

StartProcess starts_processes(int log_fd, ForkServer* forks) {
  return [log_fd, forks](const std::vector<std::string>& arguments, const std::vector<std::string>& variables) {
    return std::make_unique<StartedProcess>(arguments, log_fd, variables, forks);
  };
}

}  // namespace campipe
