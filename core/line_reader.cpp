#include "core/line_reader.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace campipe {

LineReader::LineReader(UniqueFd fd, std::uint64_t from, std::uint64_t to)
    : fd_(std::move(fd)), read_(from), to_(to), failed_(!fd_) {}

// False: there is no more.
bool LineReader::fill() {
  if (!fd_ || read_ >= to_) return false;
  buffer_.erase(0, std::exchange(begin_, 0));
  const std::size_t before = buffer_.size();
  buffer_.resize(before + static_cast<std::size_t>(std::min<std::uint64_t>(longest_line, to_ - read_)));
  const ssize_t got = ::pread(fd_.get(), buffer_.data() + before, buffer_.size() - before, static_cast<off_t>(read_));
  buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  read_ += buffer_.size() - before;
  failed_ = failed_ || got < 0;
  return got > 0;
}

LineReader::Next LineReader::next(std::string& line) {
  for (std::size_t searched = begin_;;) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      const std::size_t begin = std::exchange(begin_, end + 1);
      searched = begin_;
      if (std::exchange(skipping_, false)) continue;  // the end of the one that is left out
      if (end - begin >= longest_line) return Next::too_long;
      line.assign(buffer_, begin, end - begin);
      return Next::line;
    }
    if (buffer_.size() - begin_ >= longest_line) {
      begin_ = buffer_.size();
      return std::exchange(skipping_, true) ? Next::skipped : Next::too_long;
    }
    const std::size_t unsearched = buffer_.size() - begin_;
    if (!fill()) break;
    searched = unsearched;
  }
  if (begin_ == buffer_.size() || skipping_ || std::exchange(over_, true)) return Next::end;
  line.assign(buffer_, begin_);
  return Next::unended;
}

}  // namespace campipe
