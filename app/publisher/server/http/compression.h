// Answers as gzip, for those who take it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "app/publisher/server/http/server.h"

struct z_stream_s;  // NOLINT(readability-identifier-naming): zlib's

namespace campipe {

// Whether a header Accept-Encoding (RFC 9110) allows gzip.
bool takes_gzip(std::string_view accept_encoding);
enum class GzipLevel : std::uint8_t { quick = 1, small = 9 };  // zlib's
std::string gzip(std::string_view text, GzipLevel level);
// Adds the headers of an answer that is gzip for those who take it; caches keep both forms apart.
void name_encoding(HttpAnswer& answer, bool is_gzip);
// Compresses a text in parts; a client can read each part as soon as it comes. An object takes 256 KiB of memory.
class GzipStream {
 public:
  GzipStream();
  ~GzipStream();
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  // `text`: not empty.
  std::string add(std::string_view text);

 private:
  const std::unique_ptr<z_stream_s> stream_;
};
// Compresses a body of text, quickly, where `takes_gzip`, it saves something, and its encoding is not named yet.
void compress(HttpAnswer& answer, bool takes_gzip);

}  // namespace campipe
