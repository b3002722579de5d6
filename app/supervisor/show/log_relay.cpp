#include "app/supervisor/show/log_relay.h"

namespace campipe {
namespace {

constexpr int most_chunks = 64;  // in one turn of the loop
constexpr std::size_t longest_line = 64UL * 1024;

}  // namespace

// A process that logs without end, or a line without end, holds up no other.
void LogRelay::pass_on() {
  for (int chunk = 0; chunk < most_chunks; ++chunk) {
    const std::string_view read = pipe_.read();
    if (read.empty()) return;
    rest_.append(read);
    std::size_t begin = 0;
    for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
      view_.log_line(rest_.substr(begin, end - begin));
      begin = end + 1;
    }
    rest_.erase(0, begin);
    if (rest_.size() <= longest_line) continue;
    view_.log_line(rest_);
    rest_.clear();
  }
}

}  // namespace campipe
