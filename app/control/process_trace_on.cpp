#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "app/control/process_trace.h"
#include "core/clock.h"

namespace campipe {
namespace {

// Several processes append to it: each line by one write.
void append(const nlohmann::json& line) {
  static const int file = [] {
    const char* const path = std::getenv("CAMPIPE_TRACE");
    return path == nullptr ? -1 : ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }();
  if (file < 0) return;
  const std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  static_cast<void>(::write(file, text.data(), text.size()) > 0);
}

}  // namespace

void trace_start(pid_t pid, const std::vector<std::string>& arguments) { append({{"pid", pid}, {"start", arguments}}); }

void trace_message(pid_t pid, Direction direction, std::string_view type, const nlohmann::json& body, std::size_t fds) {
  append({{"pid", pid},
          {direction == Direction::to_process ? "to" : "from", type},
          {"body", body},
          {"fds", fds},
          {"ns", now_ns()}});
}

void trace_end(pid_t pid, int status) { append({{"pid", pid}, {"status", status}}); }

}  // namespace campipe
