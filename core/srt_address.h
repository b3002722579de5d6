// Addresses of SRT (srt://HOST:PORT?passphrase=…&mode=…), of sources and of push targets.
//
// FFmpeg (5.1 at least) takes a passphrase as it is written, so that one with '&' cannot be given, and reports one that
// is too short as a connection that failed. So it is checked and given to FFmpeg by itself here.
#pragma once

#include <optional>
#include <string>

namespace campipe {

struct SrtAddress {
  std::string url;  // without the passphrase
  std::optional<std::string> passphrase;
};
SrtAddress read_srt_address(const std::string& url);

// What SRT does not take of it: passphrase, pbkeylen, mode; nothing: it takes it. Says nothing of a passphrase but its
// length.
std::optional<std::string> srt_problem(const std::string& url);

}  // namespace campipe
