#include "app/supervisor/log_relay.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/error.h"

namespace campipe {
namespace {

constexpr int most_chunks = 64;  // in one turn of the loop
constexpr std::size_t longest_line = 64UL * 1024;

}  // namespace

LogRelay::LogRelay(StatusView& view) : view_(view) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw system_error("cannot make the log's pipe", errno);
  read_.reset(pipe[0]);
  write_.reset(pipe[1]);
}

// A process that logs without end, or a line without end, holds up no other.
void LogRelay::pass_on() {
  std::array<char, 16384> buffer{};
  for (int chunk = 0; chunk < most_chunks; ++chunk) {
    const ssize_t size = ::read(read_.get(), buffer.data(), buffer.size());
    if (size <= 0) return;
    rest_.append(buffer.data(), static_cast<std::size_t>(size));
    std::size_t begin = 0;
    for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
      view_.log_line(rest_.substr(begin, end - begin));
      begin = end + 1;
    }
    rest_.erase(0, begin);
    if (rest_.size() <= longest_line) continue;
    view_.log_line(rest_);
    rest_.clear();
  }
}

}  // namespace campipe
