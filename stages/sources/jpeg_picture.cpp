#include "stages/sources/jpeg_picture.h"

#include <algorithm>

#include "core/jpeg_frame.h"

namespace campipe {
namespace {

constexpr unsigned end_of_image = 0xd9;

bool is_alone(unsigned marker) { return marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8); }

}  // namespace

bool begins_as_jpeg(std::string_view data) { return data.starts_with("\xff\xd8\xff"); }

std::optional<JpegPicture> JpegFinder::find(std::string_view data) {
  if (is_none_ || !begins_as_jpeg(data)) return std::nullopt;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned>(static_cast<unsigned char>(data[at])); };
  const auto word = [&](std::size_t at) { return byte(at) << 8 | byte(at + 1); };
  while (at_ + 1 < data.size()) {
    // Between segments there may be any number of 0xff; within a scan, whatever is no marker.
    if (byte(at_) != 0xff || byte(at_ + 1) == 0xff || byte(at_ + 1) == 0) {
      at_ = std::min(data.find('\xff', at_ + 1), data.size());
      continue;
    }
    const unsigned marker = byte(at_ + 1);
    const std::size_t at = at_ + 2;
    if (marker == end_of_image) {
      picture_.size = at;
      is_none_ = picture_.width == 0 || picture_.height == 0;
      return is_none_ ? std::nullopt : std::optional(picture_);
    }
    if (is_alone(marker)) {
      at_ = at;
      continue;
    }
    if (at + 1 >= data.size()) return std::nullopt;
    const std::size_t size = word(at);
    is_none_ = size < 2;
    if (is_none_) return std::nullopt;
    if (begins_jpeg_frame(marker) && size >= 8) {
      if (at + 7 > data.size()) return std::nullopt;
      picture_.height = static_cast<int>(word(at + 3));
      picture_.width = static_cast<int>(word(at + 5));
    }
    at_ = at + size;  // behind the start of a scan its data follow, in which only markers count
  }
  return std::nullopt;
}

std::optional<JpegPicture> find_jpeg(std::string_view data) { return JpegFinder().find(data); }

}  // namespace campipe
