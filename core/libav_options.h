// The one owner of libav's dictionaries: options for its functions, which take out those that they know.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

extern "C" {
#include <libavutil/dict.h>
}

namespace campipe {

class LibavOptions {
 public:
  LibavOptions() = default;
  // Takes it over.
  explicit LibavOptions(AVDictionary* taken) : options_(taken) {}
  static LibavOptions copy_of(const AVDictionary* options);
  // "a=1:b=2", with the quotes and escapes that FFmpeg takes; up to what it cannot read.
  static LibavOptions parse(const std::string& text);
  ~LibavOptions() { av_dict_free(&options_); }
  LibavOptions(LibavOptions&& other) noexcept : options_(other.release()) {}
  LibavOptions(const LibavOptions&) = delete;
  LibavOptions& operator=(const LibavOptions&) = delete;

  void set(const char* key, const std::string& value) { av_dict_set(&options_, key, value.c_str(), 0); }
  void set(const char* key, std::int64_t value) { av_dict_set_int(&options_, key, value, 0); }
  // For a function of libav.
  [[nodiscard]] AVDictionary** get() { return &options_; }
  // Names and values; behind such a function, those that it did not know.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> entries() const;
  // The caller frees it.
  [[nodiscard]] AVDictionary* release() { return std::exchange(options_, nullptr); }

 private:
  AVDictionary* options_ = nullptr;
};

}  // namespace campipe
