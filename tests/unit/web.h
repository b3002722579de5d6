// An HTTP server for tests: answers that are given before, by their path.
#pragma once

#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include "tests/unit/live_test_support.h"

namespace campipe::test {

inline std::string bytes_of(const std::string& file) {
  std::ifstream input(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(input), std::istreambuf_iterator<char>()};
}

inline std::string found(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

inline std::string moved(const std::string& location, const std::string& protocol = "HTTP/1.1") {
  return protocol + " 302 Found\r\nCSeq: 1\r\nConnection: close\r\nContent-Length: 0\r\nLocation: " + location +
         "\r\n\r\n";
}

// Answers by path, and closes. Remembers what it was asked for.
class Web {
 public:
  [[nodiscard]] int port() const { return server_.port(); }
  [[nodiscard]] std::string url(const std::string& path) const { return local("http", port(), path); }
  void answer(const std::string& path, const std::string& all) {
    const std::lock_guard lock(mutex_);
    answers_[path] = all;
  }
  [[nodiscard]] int asked() const { return asked_; }

 private:
  void serve(int fd) {
    const std::string request = read_request(fd);
    if (request.empty()) return;
    ++asked_;
    const auto begin = request.find(' ') + 1;
    const std::string path = request.substr(begin, request.find(' ', begin) - begin);
    std::string all;
    {
      const std::lock_guard lock(mutex_);
      const auto known = answers_.find(path);
      all = known != answers_.end() ? known->second : "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n";
    }
    send_all(fd, all);
  }

  std::mutex mutex_;
  std::map<std::string, std::string> answers_;
  std::atomic<int> asked_{0};
  Server server_{[this](int fd, const std::atomic<bool>&) { serve(fd); }};  // the last: it uses the others
};

// Of HLS; complete, unless it is live.
inline std::string playlist(const std::string& lines, bool live = false) {
  return found("#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:4\n" + lines + (live ? "" : "#EXT-X-ENDLIST\n"));
}

}  // namespace campipe::test
