// The one place where libav's messages arrive. They go to campipe's log as messages of level debug (a damaged or odd
// file is not campipe's error; what matters of it is reported by libav's caller), or to the one who captures them:
// libav's codes alone do not distinguish an unknown name from an untrusted certificate.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace campipe {

// Sends libav's messages here from now on. Idempotent; any thread.
void install_libav_log();

// Warnings and errors of libav, line by line. At most 16 KiB of them are kept: a peer may make libav complain without
// end, and what is behind that is neither kept nor logged.
class LibavMessages {
 public:
  struct Line {
    int level;  // AV_LOG_ERROR, …: less is worse
    std::string text;
  };
  // Makes of a line what may be logged of it.
  using Redact = std::function<std::string(const std::string&)>;

  // They are kept only.
  LibavMessages() = default;
  // They are logged, too.
  explicit LibavMessages(Redact redact) : redact_(std::move(redact)) {}

  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }
  // The first errors, in one line; empty: there are none.
  [[nodiscard]] std::string errors() const;
  // The first message, of whatever level, that contains one of `texts`; empty: none does.
  [[nodiscard]] std::string find_any(std::initializer_list<std::string_view> texts) const;
  [[nodiscard]] bool has(std::string_view text) const { return !find_any({text}).empty(); }
  void clear();

  // From libav's log: a piece of a line, with the line's end if it is the last.
  void add(int level, std::string_view piece);

 private:
  void end_line();

  Redact redact_;
  std::vector<Line> lines_;  // the last one may still grow
  bool open_ = false;        // it does
  std::size_t size_ = 0;     // bytes, since clear()
};

// As long as it lives, what libav logs on this thread goes to `messages` instead of the log, and the hints (below) are
// those since then. One at a time on a thread; other threads' messages go to the log.
class LibavCapture {
 public:
  explicit LibavCapture(LibavMessages& messages);
  ~LibavCapture();
  LibavCapture(const LibavCapture&) = delete;
  LibavCapture& operator=(const LibavCapture&) = delete;
};

// What libav logs on this thread in messages of the lowest levels alone. For the words of an error, never for a
// decision: another version may have other words, and then these are empty.
struct LibavHints {
  std::string redirect;                 // where the newest answer of HTTP sends its reader
  std::string format;                   // the container that was found last
  std::vector<std::string> challenges;  // the logins that servers of HTTP offered (WWW-Authenticate)
};
// Since the last call.
LibavHints take_libav_hints();

}  // namespace campipe
