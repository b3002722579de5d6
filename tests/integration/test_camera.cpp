#include "tests/integration/test_camera.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "core/error.h"
#include "tests/paths.h"

namespace campipe::test {
namespace {

constexpr const char* ready = " ready\n";

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t number = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++number;
  return number;
}

std::string testcam() { return std::string(source_folder) + "/tools/testcam"; }

// Of an RTSP address that stands alone: rtsp://127.0.0.1:8554/cam
int port_in(const std::string& text) {
  const auto colon = text.find(':', text.find("//"));
  if (colon == std::string::npos) throw Error("tools/testcam tells no port: " + text);
  return std::stoi(text.substr(colon + 1));
}

}  // namespace

std::string TestCamera::missing() {
  static const int status = std::system((testcam() + " --help > /dev/null 2>&1").c_str());
  return status == 0 ? "" : "tools/testcam does not run here; tools/install-deps test installs what it needs";
}

TestCamera::TestCamera(const std::vector<std::string>& arguments, int port) {
  start(arguments, port);
  const auto ended = [this] {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
  };
  eventually([&] { return output().find(ready) != std::string::npos || ended(); });
  const std::string said = output();
  if (said.find(ready) == std::string::npos) {
    kill();
    throw Error("tools/testcam is not ready: " + said);
  }
  port_ = port_in(said.substr(0, said.find(ready)));
}

TestCamera::~TestCamera() { kill(); }

void TestCamera::start(const std::vector<std::string>& arguments, int port) {
  std::vector<std::string> words{testcam(), "--port", std::to_string(port), "--width", "320", "--height", "240",
                                 "--kbits", "500"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string log = (folder_.path() / "output.txt").string();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("cannot make a pipe", errno);
  const UniqueFd read_end(ends[0]);
  input_.reset(ends[1]);
  pid_ = ::fork();
  if (pid_ < 0) throw system_error("cannot start tools/testcam", errno);
  if (pid_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A camera has a CPU of its own, whatever else this machine does; where it has not, frames and sender reports are
  // late by seconds. Only root may.
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, -10));
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file < 0 || ::dup2(read_end.get(), STDIN_FILENO) < 0 || ::dup2(file, STDOUT_FILENO) < 0 ||
      ::dup2(file, STDERR_FILENO) < 0) {
    ::_exit(126);
  }
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

std::string TestCamera::url(const std::string& user) const {
  return "rtsp://" + user + "127.0.0.1:" + std::to_string(port_) + "/cam";
}

void TestCamera::command(const std::string& line) {
  const std::string text = line + "\n";
  const std::string done = "done " + text;
  const std::string error = "error " + line;
  const std::size_t before = count(output(), done);
  if (::write(input_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw system_error("cannot talk to tools/testcam", errno);
  }
  const bool answered =
      eventually([&] { return count(output(), done) > before || output().find(error) != std::string::npos; });
  if (!answered || count(output(), done) == before) {
    throw Error("tools/testcam does not obey '" + line + "': " + output());
  }
}

int TestCamera::connections() const { return static_cast<int>(count(output(), "\nclient ")); }

void TestCamera::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

std::string TestCamera::output() const { return read_text(folder_.path() / "output.txt"); }

}  // namespace campipe::test
