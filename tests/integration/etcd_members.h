// A real etcd for a test: one to five members of a cluster on free ports of the loopback, which can be killed, stopped
// and started again. Their data and logs lie in a folder that goes with it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cluster/etcd_http.h"
#include "core/clock.h"
#include "tests/unit/peers.h"
#include "tests/unit/stop_process.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {

class EtcdMembers {
 public:
  struct Options {
    int count = 1;
    std::vector<std::string> arguments = {};  // further ones, for each member
    std::vector<std::string> runner = {};     // what runs etcd, such as ip netns exec NAME
    std::string host = "127.0.0.1";           // where clients reach it
    std::string listens_at = host;
    EtcdTls server_tls = {};  // `ca`: clients must show a certificate of it
    EtcdTls client_tls = {};
  };

  // Why there is none here; empty: there is.
  static std::string missing();

  // Returns once the cluster can be written to. Throws Error where it does not come up within half a minute.
  explicit EtcdMembers(Options options);
  explicit EtcdMembers(int count) : EtcdMembers(Options{count}) {}

  [[nodiscard]] EtcdServers servers() const;
  [[nodiscard]] EtcdServers only(int member) const;
  [[nodiscard]] int count() const { return static_cast<int>(members_.size()); }

  // Which one leads, asked of the members that run; waited for.
  int leader();
  void kill(int member);
  void start(int member);  // after kill(), with its data
  // After kill(): with its data, but at a port of its own, so that nobody finds it who knows only servers().
  EtcdServers start_hidden(int member);
  [[nodiscard]] std::vector<pid_t> pids() const;  // of those that run
  void forget(int member) const;                  // after kill(): its data
  void stop(int member) const { stop_process(members_.at(static_cast<std::size_t>(member)).program->pid()); }
  void resume(int member) const { members_.at(static_cast<std::size_t>(member)).program->signal(SIGCONT); }

  // Asks a member by HTTP: the body of the answer; nothing: there was none.
  [[nodiscard]] std::optional<std::string> post(const EtcdServers& to, const std::string& path,
                                                const std::string& body) const;

 private:
  struct Member {
    int client_port = 0;
    int peer_port = 0;
    std::unique_ptr<Program> program;
  };
  void choose_ports();
  void start_at(int member, int client_port);
  bool wait_until_writable(Deadline until);
  [[nodiscard]] std::string url(int client_port) const;
  [[nodiscard]] std::string data_of(int member) const;

  Options options_;
  TemporaryFolder folder_;
  int attempt_ = 0;
  std::vector<Member> members_;
};

// Waits for a condition, for at most `longest`.
template <typename Condition>
bool wait_for(const Condition& condition, std::chrono::milliseconds longest = std::chrono::seconds(60)) {
  const Deadline until = Clock::now() + longest;
  while (!condition()) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace campipe::test
