#include "app/supervisor/port/real_log_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/error.h"
#include "core/log.h"

namespace campipe {

RealLogPipe::RealLogPipe() {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw system_error("cannot make the log's pipe", errno);
  read_.reset(pipe[0]);
  write_.reset(pipe[1]);
}

void RealLogPipe::take_own_log(const std::string& level) { init_logging("supervisor", level, write_.get()); }

void RealLogPipe::leave_own_log(const std::string& level) { init_logging("supervisor", level); }

std::string_view RealLogPipe::read() {
  const ssize_t size = ::read(read_.get(), buffer_.data(), buffer_.size());
  return {buffer_.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

}  // namespace campipe
