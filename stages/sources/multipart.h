// The beginning of a multipart stream (MJPEG of cameras), as libavformat takes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/avio_owner.h"
#include "core/ffmpeg.h"

namespace campipe {

// `type`: a content type, in lower case.
bool is_multipart(std::string_view type);
// libavformat takes no stream for multipart whose first part has no boundary before its headers, or some text: it reads
// a boundary first, and no such text.
void begin_with_boundary(AVIOContext& io);

// The heads of parts as libavformat takes them: it reads JPEG of the type "image/jpeg" alone, and cameras also call it
// "image/jpg", "image/jpeg;size=…" or nothing at all. Everything else passes as it is, whatever it is.
class PartHeads {
 public:
  // In any pieces. Returns what can be passed on of these, and of what was taken before.
  std::string take(std::string_view bytes);
  // Nothing follows.
  std::string rest() { return without_start(std::exchange(waiting_, {})); }

 private:
  std::string without_start(std::string text);

  std::string waiting_ = "\n";  // what may be the beginning of a head; the stream's beginning is that of a line
  bool at_start_ = true;        // that first byte has not been passed on
};

// Reads `from` (below 0: fails) through PartHeads, and closes it. Owned by one source.
class MultipartInput {
 public:
  explicit MultipartInput(AVIOContext* from);
  ~MultipartInput();
  MultipartInput(const MultipartInput&) = delete;
  MultipartInput& operator=(const MultipartInput&) = delete;

  // Valid as long as this is. libavformat must not close it (AVFMT_FLAG_CUSTOM_IO).
  [[nodiscard]] AVIOContext* io() const { return io_.get(); }

 private:
  static int read(void* self, std::uint8_t* to, int size);
  int hand_out(std::uint8_t* to, int size);

  AVIOContext* from_;
  AvioOwner io_;
  PartHeads heads_;
  std::string ready_;
  std::size_t served_ = 0;
};

}  // namespace campipe
