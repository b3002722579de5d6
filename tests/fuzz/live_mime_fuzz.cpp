// What browsers are told of a stream, out of the headers that a camera sent: nothing but letters and digits.
#include "app/publisher/server/live/mime.h"

#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string mime = campipe::mime_of_init_segment({data, size});
  if (mime.empty()) return 0;
  constexpr std::string_view begin = "video/mp4; codecs=\"";
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.";
  campipe::fuzz::require(mime.starts_with(begin) && mime.ends_with('"'), "a MIME type", mime);
  const std::string codec = mime.substr(begin.size(), mime.size() - begin.size() - 1);
  campipe::fuzz::require(codec.find_first_not_of(allowed) == std::string::npos, "a codec's name", mime);
  return 0;
}
