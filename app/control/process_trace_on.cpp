#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/control/page_watch.h"
#include "app/control/process_trace.h"
#include "core/clock.h"
#include "ipc/channel.h"
#include "ipc/shared_memory.h"

namespace campipe {
namespace {

// -1: this run is not traced.
int trace_file() {
  static const int file = [] {
    const char* const path = std::getenv("CAMPIPE_TRACE");
    return path == nullptr ? -1 : ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }();
  return file;
}
bool is_traced() { return trace_file() >= 0; }

// Several processes append to it: each line by one write.
void append(const nlohmann::json& line) {
  const std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  static_cast<void>(::write(trace_file(), text.data(), text.size()) > 0);
}

struct Traced {
  PageWatch watch;
  std::optional<RigPage> page;  // once it has been sent
};

// Used by the supervisor's thread.
std::map<pid_t, Traced>& traced() {
  static std::map<pid_t, Traced> all;
  return all;
}

}  // namespace

void trace_start(pid_t pid, const std::vector<std::string>& arguments) {
  if (is_traced()) append({{"pid", pid}, {"start", arguments}});
}

void trace_sent(pid_t pid, std::string_view type, const nlohmann::json& body, const std::vector<int>& fds) {
  if (!is_traced()) return;
  append({{"pid", pid}, {"to", type}, {"body", body}, {"fds", fds.size()}, {"ns", now_ns()}});
  Traced& process = traced()[pid];
  process.watch.to(type, body);
  if (type != "setup") return;
  const ProcessId own(body.at("process").get<unsigned>());
  process.page = RigPage::open(UniqueFd(duplicate(fds.at(0))), UniqueFd(duplicate(fds.at(1))), own);
}

void trace_received(pid_t pid, const Message& message) {
  if (!is_traced()) return;
  append({{"pid", pid}, {"from", message.type}, {"body", message.body}, {"fds", message.fds.size()}, {"ns", now_ns()}});
}

void trace_page(pid_t pid) {
  const auto found = traced().find(pid);
  if (found == traced().end() || !found->second.page) return;
  for (const PageWatch::Change& change : found->second.watch.look(*found->second.page))
    append({{"pid", pid}, {"part", change.part}, {"matter", change.matter}, {"shows", change.words}});
}

void trace_end(pid_t pid, int status) {
  if (!is_traced()) return;
  traced().erase(pid);
  append({{"pid", pid}, {"status", status}});
}

}  // namespace campipe
