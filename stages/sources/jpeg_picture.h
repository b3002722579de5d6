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

// Finds the one that data begin with which come in pieces: what was looked at is not looked at again.
class JpegFinder {
 public:
  // As find_jpeg(). `data`: those of the call before, and more.
  std::optional<JpegPicture> find(std::string_view data);

 private:
  JpegPicture picture_;
  std::size_t at_ = 2;  // the next marker stands there, or behind it
  bool is_none_ = false;
};

}  // namespace campipe
