#include "app/supervisor/port/real_terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace campipe {

RealTerminal::RealTerminal() : out_(STDERR_FILENO), is_terminal_(::isatty(STDERR_FILENO) == 1) {}

std::optional<unsigned> RealTerminal::width() const {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

}  // namespace campipe
