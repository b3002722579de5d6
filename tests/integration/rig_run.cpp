#include "tests/integration/rig_run.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "core/error.h"
#include "tests/paths.h"
#include "tests/unit/process_state.h"

extern char** environ;

namespace campipe::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// In the environment of every process of the rig, and of no other's: so those are found whose parent has died.
std::string marker_of(const fs::path& folder) { return "TMPDIR=" + (folder / "tmp").string(); }

bool is_number(const std::string& name) { return name.find_first_not_of("0123456789") == std::string::npos; }

bool is_zombie(const fs::path& proc) {
  const char state = state_in(proc);
  return state == 'Z' || state == 'X';
}

std::string arguments_of(pid_t pid) {
  std::string text = read_text("/proc/" + std::to_string(pid) + "/cmdline");
  for (char& c : text) c = c == '\0' ? ' ' : c;
  if (!text.empty()) text.pop_back();
  return text;
}

std::vector<std::string> environment_of(const fs::path& folder, const RigOptions& options) {
  std::vector<std::string> words;
  for (char** word = environ; *word != nullptr; ++word) {
    const std::string text = *word;
    if (text.starts_with("TMPDIR=") || text.starts_with("CAMPIPE_FAILPOINT=")) continue;
    if (text.starts_with("CAMPIPE_TRACE=")) continue;
    if (text.starts_with("STATE_DIRECTORY=") || text.starts_with("XDG_RUNTIME_DIR=")) continue;
    if (text.starts_with("XDG_CACHE_HOME=") || text.starts_with("CACHE_DIRECTORY=")) continue;
    words.push_back(text);
  }
  words.push_back("STATE_DIRECTORY=" + (options.state.empty() ? folder / "state" : options.state).string());
  words.push_back("XDG_CACHE_HOME=" + (options.cache.empty() ? folder / "cache" : options.cache).string());
  words.push_back(marker_of(folder));
  if (!options.failpoints.empty()) words.push_back("CAMPIPE_FAILPOINT=" + options.failpoints);
  if (options.trace) words.push_back("CAMPIPE_TRACE=" + (folder / "trace.json").string());
  if (options.pretended_gpus > 0) words.push_back("CAMPIPE_PRETENDED_GPUS=" + std::to_string(options.pretended_gpus));
  return words;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

void redirect(const fs::path& file, int to) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || ::dup2(fd, to) < 0) ::_exit(126);
  ::close(fd);
}

UniqueFd full_pipe(UniqueFd& reader) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw system_error("cannot make a pipe", errno);
  reader.reset(ends[0]);
  UniqueFd writer(ends[1]);
  const std::string line(4096, '.');
  while (::write(writer.get(), line.data(), line.size()) > 0) {
  }
  ::fcntl(writer.get(), F_SETFL, 0);  // who writes to it now waits
  return writer;
}

}  // namespace

bool eventually(const std::function<bool()>& condition, std::chrono::nanoseconds limit) {
  const Deadline deadline = Clock::now() + limit;
  while (!condition()) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

RigRun::RigRun(const std::string& yaml, const Options& options) {
  fs::create_directory(temporary());
  std::ofstream config(file(options.config));
  config << yaml << '\n';
  // It listens only where its test wants it to: others run at the same time.
  for (const char* const key : {"http_address", "rtsp_address"}) {
    if (yaml.find(key) == std::string::npos) config << key << ": off\n";
  }
  config.close();
  start(options);
}

RigRun::~RigRun() {
  // A process may be starting another just now: until none is left.
  const bool gone = eventually(
      [this] {
        for (const pid_t pid : processes()) ::kill(pid, SIGKILL);
        return !running() && processes().empty();
      },
      std::chrono::seconds(10));
  if (!gone) std::cerr << "processes of the rig in " << folder() << " could not be ended\n";
  if (pump_.joinable()) {
    pump_.request_stop();
    pump_.join();
  }
}

void RigRun::start(const Options& options) {
  const bool plain = options.failpoints.empty() && !options.trace;
  const std::string program = plain ? campipe_program : campipe_faults_program;
  std::vector<std::string> words{program};
  if (options.command.empty()) {
    words.insert(words.end(), {"--config", options.config});
    if (options.report) words.insert(words.end(), {"--report", "report.json"});
    words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  } else {
    words.insert(words.end(), options.command.begin(), options.command.end());
  }
  std::vector<std::string> environment = environment_of(folder(), options);
  const std::vector<char*> argv = pointers(words);
  const std::vector<char*> envp = pointers(environment);
  const UniqueFd unread = options.unread ? full_pipe(unread_) : UniqueFd();
  UniqueFd network;
  if (!options.network.empty()) {
    network.reset(::open(("/run/netns/" + options.network).c_str(), O_RDONLY | O_CLOEXEC));
    if (!network) throw system_error("cannot open the network namespace " + options.network, errno);
  }
  int terminal = -1;
  pid_ = options.terminal ? ::forkpty(&terminal, nullptr, nullptr, nullptr) : ::fork();
  if (pid_ < 0) throw system_error("cannot start " + program, errno);
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // when the test itself is killed for taking too long
    if (::chdir(folder().c_str()) != 0) ::_exit(126);
    if (options.unread) {
      ::dup2(unread.get(), STDERR_FILENO);
    } else if (!options.terminal) {
      redirect(folder() / "log.txt", STDERR_FILENO);
    }
    const rlimit descriptors{options.descriptors, options.descriptors};
    if (options.descriptors > 0 && ::setrlimit(RLIMIT_NOFILE, &descriptors) != 0) ::_exit(126);
    if (network && ::setns(network.get(), CLONE_NEWNET) != 0) ::_exit(126);
    redirect(folder() / "output.txt", STDOUT_FILENO);
    ::execve(program.c_str(), argv.data(), envp.data());
    ::_exit(127);
  }
  if (!options.terminal) return;
  terminal_.reset(terminal);
  pump_ = std::jthread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) pump_terminal();
  });
}

// What the program draws is kept like a log.
void RigRun::pump_terminal() {
  pollfd readable{terminal_.get(), POLLIN, 0};
  if (::poll(&readable, 1, 50) <= 0) return;
  std::array<char, 4096> buffer{};
  const ssize_t size = ::read(terminal_.get(), buffer.data(), buffer.size());
  if (size > 0) {
    std::ofstream(file("log.txt"), std::ios::app | std::ios::binary).write(buffer.data(), size);
  } else {
    std::this_thread::sleep_for(milliseconds(20));  // nobody has the other end open any more
  }
}

std::vector<pid_t> RigRun::processes() const {
  const std::string marker = marker_of(folder());
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (!is_number(name) || name == std::to_string(::getpid())) continue;
    const std::string environment = read_text(entry.path() / "environ");
    if (environment.find(marker + '\0') == std::string::npos || is_zombie(entry.path())) continue;
    found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

std::optional<pid_t> RigRun::find(const std::string& role) const {
  for (const pid_t pid : processes()) {
    if (arguments_of(pid) == "campipe " + role) return pid;
  }
  return std::nullopt;
}

pid_t RigRun::pid_of(const std::string& role) const { return successor_of(role, -1); }

pid_t RigRun::successor_of(const std::string& role, pid_t before) const {
  std::optional<pid_t> found;
  const bool came = eventually([&] {
    found = find(role);
    return found && *found != before;
  });
  if (!came) throw Error("there is no process 'campipe " + role + "'; the log:\n" + log());
  return *found;
}

std::uintmax_t RigRun::size(const std::string& name) const {
  std::error_code error;
  const auto bytes = fs::file_size(file(name), error);
  return error ? 0 : bytes;
}

bool RigRun::has_grown(const std::string& name, std::uintmax_t beyond) const { return size(name) > beyond; }

bool RigRun::wait_for_growth(const std::string& name, std::uintmax_t beyond, std::chrono::nanoseconds limit) {
  return eventually([&] { return has_grown(name, beyond) || !running(); }, limit) && has_grown(name, beyond);
}

// Once it has been waited for, its number may be another process's.
void RigRun::signal(int number) const {
  if (!status_) ::kill(pid_, number);
}

bool RigRun::running() {
  if (status_) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return false;
}

int RigRun::wait(std::chrono::nanoseconds limit) {
  if (!eventually([this] { return !running(); }, limit)) throw Error("the rig did not end; its log:\n" + log());
  return *status_;
}

int RigRun::wait_while_it_grows(const std::string& name) {
  for (std::uintmax_t before = size(name);; before = size(name)) {
    if (!wait_for_growth(name, before)) return wait();
  }
}

std::string RigRun::log() const { return read_text(file("log.txt")); }
std::string RigRun::output() const { return read_text(file("output.txt")); }

nlohmann::json RigRun::report() const {
  const std::string text = read_text(file("report.json"));
  if (text.empty()) throw Error("there is no report; the log:\n" + log());
  return nlohmann::json::parse(text);
}

Answer ask(const std::vector<std::string>& command, const std::string& yaml) {
  RigRun::Options options;
  options.command = command;
  RigRun run(yaml, options);
  const int status = run.wait();
  return {status, run.output(), run.log()};
}

std::string check_accounting(const nlohmann::json& report) {
  std::string problems;
  for (const auto& [name, camera] : report.at("cameras").items()) {
    const auto& frames = camera.at("frames");
    std::uint64_t sum = frames.at("encoded");
    for (const auto& [cause, number] : frames.at("dropped").items()) sum += number.get<std::uint64_t>();
    const std::uint64_t recorded = frames.at("recorded");
    const std::uint64_t unrecorded = frames.at("unrecorded");
    const std::uint64_t came = frames.at("decoded").get<std::uint64_t>() + frames.value("repeated", std::uint64_t{0});
    const bool good = came == sum && recorded + unrecorded <= frames.at("encoded");
    if (!good) problems += name + ": " + frames.dump() + "\n";
  }
  return problems;
}

}  // namespace campipe::test
