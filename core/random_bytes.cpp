#include "core/random_bytes.h"

#include <sys/random.h>

#include <cerrno>

#include "core/error.h"

namespace campipe {

// getrandom() may return fewer bytes than it is asked for, where these are more than 256.
std::vector<unsigned char> random_bytes(std::size_t size) {
  std::vector<unsigned char> bytes(size);
  for (std::span<unsigned char> missing = bytes; !missing.empty();) {
    const ssize_t got = ::getrandom(missing.data(), missing.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error("there are no random numbers", errno);
    missing = missing.subspan(static_cast<std::size_t>(got));
  }
  return bytes;
}

std::string hex_of(std::span<const unsigned char> bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) text += {digits[byte >> 4U], digits[byte & 15U]};
  return text;
}

std::string random_hex(std::size_t bytes) { return hex_of(random_bytes(bytes)); }

}  // namespace campipe
