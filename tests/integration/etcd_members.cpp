#include "tests/integration/etcd_members.h"

#include <stdlib.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"

namespace campipe::test {
namespace {

using namespace std::chrono_literals;

bool is_on_path(const std::string& program) {
  const char* path = ::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

void add(std::vector<std::string>& arguments, std::initializer_list<std::string> more) {
  arguments.insert(arguments.end(), more);
}

}  // namespace

std::string EtcdMembers::missing() {
  return is_on_path("etcd") ? "" : "there is no etcd here (Debian: apt-get install etcd-server)";
}

EtcdMembers::EtcdMembers(Options options) : options_(std::move(options)) {
  // A port that was free may be taken before etcd has it: then all is begun again.
  for (attempt_ = 0; attempt_ < 3; ++attempt_) {
    choose_ports();
    for (int member = 0; member < options_.count; ++member) start(member);
    if (wait_until_writable(Clock::now() + 30s)) return;
  }
  throw Error("etcd did not come up; its logs were in " + folder_.path().string());
}

void EtcdMembers::choose_ports() {
  members_.clear();
  std::vector<int> ports;
  while (static_cast<int>(ports.size()) < 2 * options_.count) {
    const int port = free_port();
    if (std::ranges::find(ports, port) == ports.end()) ports.push_back(port);
  }
  for (int member = 0; member < options_.count; ++member) {
    const auto at = static_cast<std::size_t>(2 * member);
    members_.push_back({ports[at], ports[at + 1], nullptr});
  }
}

std::string EtcdMembers::url(int client_port) const {
  return (options_.server_tls.certificate.empty() ? "http" : "https") + std::string("://") + options_.host + ":" +
         std::to_string(client_port);
}

std::string EtcdMembers::data_of(int member) const {
  return (folder_.path() / (std::to_string(attempt_) + "-" + std::to_string(member))).string();
}

void EtcdMembers::start(int member) { start_at(member, members_.at(static_cast<std::size_t>(member)).client_port); }

EtcdServers EtcdMembers::start_hidden(int member) {
  const int port = free_port();
  start_at(member, port);
  return {{url(port)}, options_.client_tls};
}

std::vector<pid_t> EtcdMembers::pids() const {
  std::vector<pid_t> pids;
  for (const Member& member : members_) {
    if (member.program) pids.push_back(member.program->pid());
  }
  return pids;
}

void EtcdMembers::forget(int member) const { std::filesystem::remove_all(data_of(member)); }

void EtcdMembers::start_at(int member, int client_port) {
  std::string cluster;
  for (int i = 0; i < options_.count; ++i) {
    const int port = members_.at(static_cast<std::size_t>(i)).peer_port;
    cluster += (i > 0 ? ",m" : "m") + std::to_string(i) + "=http://127.0.0.1:" + std::to_string(port);
  }
  Member& own = members_.at(static_cast<std::size_t>(member));
  const std::string peer = "http://127.0.0.1:" + std::to_string(own.peer_port);
  const std::string client = url(client_port);
  std::string listens = client;
  listens.replace(listens.find(options_.host), options_.host.size(), options_.listens_at);
  const EtcdTls& tls = options_.server_tls;
  std::vector<std::string> arguments = options_.runner;
  add(arguments, {"etcd", "--name", "m" + std::to_string(member)});
  add(arguments, {"--data-dir", data_of(member), "--listen-client-urls", listens, "--advertise-client-urls", client});
  add(arguments, {"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster});
  add(arguments, {"--initial-cluster-token", folder_.path().filename().string() + std::to_string(attempt_)});
  add(arguments, {"--logger", "zap", "--log-outputs", data_of(member) + ".log"});
  if (!tls.certificate.empty()) add(arguments, {"--cert-file", tls.certificate, "--key-file", tls.key});
  if (!tls.ca.empty()) add(arguments, {"--client-cert-auth", "--trusted-ca-file", tls.ca});
  arguments.insert(arguments.end(), options_.arguments.begin(), options_.arguments.end());
  own.program = std::make_unique<Program>(arguments);
}

void EtcdMembers::kill(int member) { members_.at(static_cast<std::size_t>(member)).program.reset(); }

EtcdServers EtcdMembers::servers() const {
  EtcdServers servers{{}, options_.client_tls};
  for (const Member& member : members_) servers.urls.push_back(url(member.client_port));
  return servers;
}

EtcdServers EtcdMembers::only(int member) const {
  return {{url(members_.at(static_cast<std::size_t>(member)).client_port)}, options_.client_tls};
}

std::optional<std::string> EtcdMembers::post(const EtcdServers& to, const std::string& path,
                                             const std::string& body) const {
  EtcdHttp http(options_.client_tls);
  HttpOutcome outcome = http.post(to.urls.at(0) + path, body, Clock::now() + 2s, true);
  if (outcome.kind != HttpOutcome::Kind::answered || outcome.status != 200) return std::nullopt;
  return std::move(outcome.body);
}

bool EtcdMembers::wait_until_writable(Deadline until) {
  for (int member = 0; member < count();) {
    const Member& own = members_.at(static_cast<std::size_t>(member));
    if (own.program->ended() || Clock::now() > until) return false;
    if (post(only(member), "/v3/kv/put", R"({"key":"cmVhZHk="})")) {
      ++member;
    } else {
      std::this_thread::sleep_for(20ms);
    }
  }
  return true;
}

int EtcdMembers::leader() {
  int leading = -1;
  const bool found = wait_for([&] {
    for (int member = 0; member < count(); ++member) {
      if (!members_.at(static_cast<std::size_t>(member)).program) continue;
      const auto answer = post(only(member), "/v3/maintenance/status", "{}");
      if (!answer) continue;
      const auto status = nlohmann::json::parse(*answer);
      if (status.value("leader", "") == status["header"].value("member_id", "-")) leading = member;
    }
    return leading >= 0;
  });
  if (!found) throw Error("the etcd cluster has no leader");
  return leading;
}

}  // namespace campipe::test
