// Addresses of SRT (srt://HOST:PORT?passphrase=…&mode=…), of sources and of push targets.
//
// FFmpeg (5.1 at least) takes a passphrase and a stream's id as they are written, so that one with '&' cannot be given,
// and reports what is too short or too long as a connection that failed. So both are checked and given to FFmpeg by
// themselves here.
//
// A '&' within a stream's id is written %26; one behind which no option of FFmpeg's stands belongs to the id, too.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace campipe {

struct SrtAddress {
  std::string url;  // without these
  std::optional<std::string> passphrase;
  std::optional<std::string> stream_id;
  std::vector<std::string> written_stream_ids;  // as they stand in the URL, where the last one counts
};
SrtAddress read_srt_address(const std::string& url);

// What SRT does not take of it: passphrase, streamid, pbkeylen, mode; nothing: it takes it. Says nothing of a
// passphrase but its length.
std::optional<std::string> srt_problem(const std::string& url);

}  // namespace campipe
