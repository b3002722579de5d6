// What a source's URL holds before anything is opened.
#pragma once

#include <optional>
#include <string>

namespace campipe {

struct SourceAddress {
  std::string scheme;  // in lower case; empty: a path
  std::string host;    // without brackets; may be empty
  int port = -1;       // -1: none is given, or it is no port
  bool bad_port = false;
  std::string query;  // behind '?'
};
SourceAddress split_address(const std::string& url);
// With its scheme in lower case, as libavformat knows it.
std::string with_small_scheme(const std::string& url);

// Scheme, host and port are the same, also where one of them gives the scheme's own port and the other none.
bool same_origin(const std::string& a, const std::string& b);
// Where `location`, as an answer of `url` gives it, leads to: a URL, with the user of `url` if it is of the same
// origin.
std::string redirected(const std::string& url, const std::string& location);

// `path`, which is no file, looks like a camera's address without its scheme: what it might have been meant to be, or
// nothing. Without user and password.
std::optional<std::string> likely_url(const std::string& path);

// What is wrong with a URL of a scheme that has a host and a port, or nothing (SourceKind::check).
std::optional<std::string> check_stream_url(const std::string& url);

}  // namespace campipe
