// The lines of a file that is not trusted: one that never ends costs no memory, and no call takes long. Used by
// one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/unique_handle.h"

namespace campipe {

class LineReader {
 public:
  static constexpr std::size_t longest_line = std::size_t{1} << 16U;  // with its end
  enum class Next : std::uint8_t {
    line,
    unended,   // the last one, which has no end (yet)
    too_long,  // the beginning of one, which is left out
    skipped,   // more of that one
    end,       // also of a file that cannot be read, and of none
  };

  LineReader() = default;
  // From one byte of a regular file until another, or its end.
  explicit LineReader(UniqueFd fd, std::uint64_t from = 0, std::uint64_t to = UINT64_MAX);

  // `line` is filled where there is one, without its end. A call reads two times longest_line at most.
  Next next(std::string& line);
  // Behind what next() has returned, but for one that is unended: where to go on when the file has grown.
  [[nodiscard]] std::uint64_t position() const { return read_ - (buffer_.size() - begin_); }
  // It could not be read to its end.
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  bool fill();

  UniqueFd fd_;
  std::string buffer_;
  std::size_t begin_ = 0;   // of what is not returned yet
  std::uint64_t read_ = 0;  // as far as the file is in the buffer
  std::uint64_t to_ = 0;
  bool skipping_ = false;
  bool failed_ = false;
  bool over_ = false;  // the one without an end has been returned
};

}  // namespace campipe
