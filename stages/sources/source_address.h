// What a source's URL says before anything is opened.
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

// It is read by libavformat through a network.
bool is_stream_url(const std::string& url);
bool is_capture_device(const std::string& url);

std::optional<std::string> check_stream_url(const std::string& url);
// Its name alone: a device that is not there is waited for.
std::optional<std::string> check_capture_device(const std::string& path);

}  // namespace campipe
