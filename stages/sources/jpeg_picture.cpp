#include "stages/sources/jpeg_picture.h"

namespace campipe {
namespace {

constexpr unsigned end_of_image = 0xd9;

bool is_alone(unsigned marker) { return marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8); }
// Baseline, progressive and so on; among them are tables and a reserved marker.
bool begins_frame(unsigned marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

}  // namespace

bool begins_as_jpeg(std::string_view data) { return data.starts_with("\xff\xd8\xff"); }

std::optional<JpegPicture> find_jpeg(std::string_view data) {
  if (!begins_as_jpeg(data)) return std::nullopt;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned>(static_cast<unsigned char>(data[at])); };
  const auto word = [&](std::size_t at) { return byte(at) << 8 | byte(at + 1); };
  JpegPicture picture;
  for (std::size_t at = 2; at + 1 < data.size();) {
    // Between segments there may be any number of 0xff; within a scan, whatever is no marker.
    if (byte(at) != 0xff || byte(at + 1) == 0xff || byte(at + 1) == 0) {
      ++at;
      continue;
    }
    const unsigned marker = byte(at + 1);
    at += 2;
    if (marker == end_of_image) {
      picture.size = at;
      return picture.width > 0 && picture.height > 0 ? std::optional(picture) : std::nullopt;
    }
    if (is_alone(marker)) continue;
    if (at + 1 >= data.size()) return std::nullopt;
    const std::size_t size = word(at);
    if (size < 2) return std::nullopt;
    if (begins_frame(marker) && size >= 8 && at + 7 <= data.size()) {
      picture.height = static_cast<int>(word(at + 3));
      picture.width = static_cast<int>(word(at + 5));
    }
    at += size;  // behind the start of a scan its data follow, in which only markers count
  }
  return std::nullopt;
}

std::optional<JpegPicture> find_jpeg(std::string_view data, std::size_t known) {
  if (data.find("\xff\xd9", known > 0 ? known - 1 : 0) == std::string_view::npos) return std::nullopt;
  return find_jpeg(data);
}

}  // namespace campipe
