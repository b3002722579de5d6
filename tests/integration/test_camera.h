// tools/testcam as a test uses it: an RTSP camera at a port of this machine, with faults on command. It is killed when
// the object goes, or when the test is.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "core/unique_handle.h"
#include "tests/integration/rig_run.h"

namespace campipe::test {

class TestCamera {
 public:
  // Small frames, 25 a second, a key frame each second; `arguments` are tools/testcam's. Port 0: any that is free.
  // Throws Error where it does not get ready.
  explicit TestCamera(const std::vector<std::string>& arguments = {}, int port = 0);
  ~TestCamera();
  TestCamera(const TestCamera&) = delete;
  TestCamera& operator=(const TestCamera&) = delete;

  // Why there is no such camera on this machine: packages are missing. Empty: there is.
  static std::string missing();

  [[nodiscard]] int port() const { return port_; }
  // `user`: "", or "ada:lovelace@".
  [[nodiscard]] std::string url(const std::string& user = "") const;

  // A line of its standard input (tools/testcam --help). Returns when it was obeyed; throws Error where it is refused.
  void command(const std::string& line);
  // Connections that were made to it so far.
  [[nodiscard]] int connections() const;
  // It is silent, and keeps its connections. What it had to send comes all at once when it goes on.
  void pause() { ::kill(pid_, SIGSTOP); }
  void go_on() { ::kill(pid_, SIGCONT); }
  // As when its plug is pulled.
  void kill();
  [[nodiscard]] std::string output() const;

 private:
  void start(const std::vector<std::string>& arguments, int port);

  TemporaryFolder folder_;
  pid_t pid_ = -1;
  int port_ = 0;
  UniqueFd input_;
};

}  // namespace campipe::test
