#include "stages/sources/io_beginning.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

#include "core/ascii_case.h"

namespace campipe {

int read_more(AVIOContext& io, std::string& text, std::size_t size) {
  const std::size_t before = text.size();
  text.resize(before + size);
  const int count =
      avio_read(&io, static_cast<unsigned char*>(static_cast<void*>(&text[before])), static_cast<int>(size));
  text.resize(before + static_cast<std::size_t>(std::max(count, 0)));
  return count < 0 && count != AVERROR_EOF ? count : 0;
}

int read_some(AVIOContext& io, std::string& text) {
  std::array<unsigned char, 16384> buffer;
  const int count = avio_read_partial(&io, buffer.data(), static_cast<int>(buffer.size()));
  // So libavformat reports the end of an answer by HTTP that has no length.
  const bool end = count == AVERROR_EOF || (count == AVERROR(EIO) && avio_size(&io) <= 0);
  if (count < 0) return end ? 0 : count;
  text.append(static_cast<const char*>(static_cast<const void*>(buffer.data())), static_cast<std::size_t>(count));
  return count;
}

void put_back(AVIOContext& io, std::string_view text, std::size_t read) {
  const auto rest = static_cast<std::size_t>(io.buf_end - io.buf_ptr);
  const std::size_t size = std::max<std::size_t>(text.size() + rest, static_cast<std::size_t>(io.buffer_size));
  auto* buffer = static_cast<unsigned char*>(av_malloc(size));
  if (buffer == nullptr) throw std::bad_alloc();
  std::copy(text.begin(), text.end(), buffer);
  std::copy(io.buf_ptr, io.buf_end, buffer + text.size());
  av_free(io.buffer);
  io.buffer = io.buf_ptr = buffer;
  io.buf_end = buffer + text.size() + rest;
  io.buffer_size = static_cast<int>(size);
  io.eof_reached = 0;
  if (text.size() == read) return;
  io.pos += static_cast<std::int64_t>(text.size()) - static_cast<std::int64_t>(read);
  io.seekable = 0;
}

std::string content_type(AVIOContext& io) {
  std::uint8_t* value = nullptr;
  if (av_opt_get(&io, "mime_type", AV_OPT_SEARCH_CHILDREN, &value) < 0 || value == nullptr) return "";
  std::string type = lower_case(static_cast<const char*>(static_cast<const void*>(value)));
  av_free(value);
  return type;
}

}  // namespace campipe
