// Where a JPEG picture ends, and how large it is, without decoding it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace campipe {

struct JpegPicture {
  std::size_t size = 0;  // bytes
  int width = 0;
  int height = 0;
};

bool begins_as_jpeg(std::string_view data);
// The one that `data` begins with; nothing: it has not come whole, or is none.
std::optional<JpegPicture> find_jpeg(std::string_view data);
// The same, where it had not come whole in the first `known` bytes: looked at only where its end may have come since.
std::optional<JpegPicture> find_jpeg(std::string_view data, std::size_t known);

}  // namespace campipe
