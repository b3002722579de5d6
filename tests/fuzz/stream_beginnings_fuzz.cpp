// The beginning of what a server of HTTP sends, which is looked at before libavformat sees it: what is put back is what
// came, but for a boundary before the first part of multipart.
#include <algorithm>
#include <new>

#include "core/ffmpeg.h"
#include "stages/sources/flv_video.h"
#include "stages/sources/jpeg_picture.h"
#include "stages/sources/multipart.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

struct Sent {
  std::string_view rest;

  static int read(void* opaque, std::uint8_t* buffer, int size) {
    std::string_view& rest = static_cast<Sent*>(opaque)->rest;
    if (rest.empty()) return AVERROR_EOF;
    const std::size_t count = std::min(rest.size(), static_cast<std::size_t>(size));
    std::copy_n(rest.data(), count, buffer);
    rest.remove_prefix(count);
    return static_cast<int>(count);
  }
};

// All that can be read behind `look`.
template <typename Look>
std::string behind(const std::string& input, const Look& look) {
  constexpr int buffer_size = 64;
  Sent sent{input};
  auto* buffer = static_cast<std::uint8_t*>(av_malloc(buffer_size));
  AVIOContext* io = avio_alloc_context(buffer, buffer_size, 0, &sent, Sent::read, nullptr, nullptr);
  if (io == nullptr) throw std::bad_alloc();
  look(*io);
  std::string all(input.size() + 1024, '\0');
  const int count =
      avio_read(io, static_cast<unsigned char*>(static_cast<void*>(all.data())), static_cast<int>(all.size()));
  all.resize(static_cast<std::size_t>(std::max(count, 0)));
  av_freep(static_cast<void*>(&io->buffer));
  avio_context_free(&io);
  return all;
}

void check(const std::string& input) {
  require(behind(input, [](AVIOContext& io) { unknown_flv_video(io); }) == input, "FLV is as it was", input);
  const std::string multipart = behind(input, [](AVIOContext& io) { begin_with_boundary(io); });
  const bool is_end_of_it = input.ends_with(multipart);
  const bool with_boundary = multipart.starts_with("--") && multipart.find('\n') != std::string::npos &&
                             input.ends_with(multipart.substr(multipart.find('\n') + 1));
  require(is_end_of_it || with_boundary, "multipart is as it was behind its first boundary", input);
  for (const std::string& data : {input, "\xff\xd8\xff" + input}) {
    const auto picture = find_jpeg(data);
    require(!picture || picture->size <= data.size(), "a picture is in what came", input);
  }
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
