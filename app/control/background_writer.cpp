#include "app/control/background_writer.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "core/clock.h"

namespace campipe {
namespace {

constexpr std::size_t most_bytes = 256UL * 1024;  // wait: more than the lines at the end of a large rig
constexpr auto last_wait = std::chrono::seconds(1);

// Ends where it cannot be written: neither could what follows, and there is nowhere to log that.
void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EAGAIN) {  // another process made it non-blocking
      pollfd writable{fd, POLLOUT, 0};
      ::poll(&writable, 1, 1000);
      continue;
    }
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

BackgroundWriter::BackgroundWriter(int fd)
    : queue_({.bytes = most_bytes}, [fd](const std::string& text, std::size_t left_out) {
        if (left_out > 0)
          write_all(fd, "(" + std::to_string(left_out) + " lines were left out here: not read in time)\n");
        write_all(fd, text);
      }) {}

BackgroundWriter::~BackgroundWriter() { queue_.finish(Clock::now() + last_wait); }

}  // namespace campipe
