// Where a stream is sent, as the configuration gives it.
#pragma once

#include <string>

namespace campipe {

struct PushUrl {
  std::string url;  // of rtsp(s), srt, rtmp(s) or udp
  // The same with the names of variables in place of what they hold, where it was made of some: what people may see.
  std::string written = {};
  friend bool operator==(const PushUrl&, const PushUrl&) = default;
};

}  // namespace campipe
