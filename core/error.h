// Errors: thrown at set-up and when a system or FFmpeg call fails; ordinary events (end of stream, time-out,
// dropped) are return values instead. The text is for the user: it names the thing and, where there is one, the remedy.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>

namespace campipe {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The system refused: no memory, no descriptors, no such file.
struct SystemError : Error {
  using Error::Error;
};

// "what: strerror(code)".
inline SystemError system_error(const std::string& what, int code) {
  return SystemError(what + ": " + std::strerror(code));
}

}  // namespace campipe
