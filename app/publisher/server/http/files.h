// Files as answers: what they are, which part of them is wanted, and whether the browser has them already (RFC 9110).
#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/publisher/server/http/rules.h"
#include "core/unique_handle.h"

namespace campipe {

struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};
enum class RangeWish : std::uint8_t { whole, part, impossible };
// Of a header `Range`; more than one part, or what is no range, is answered with the whole.
RangeWish parse_range(std::string_view header, std::uint64_t file_size, ByteRange& range);

// As headers have it: "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(std::time_t time);
// "video/mp4" of "a.mp4".
std::string type_of_file(std::string_view path);
// Whether a header `If-None-Match` names the tag.
bool matches_etag(std::string_view header, std::string_view etag);

struct FileAnswer {
  HttpAnswer head;  // status and headers, all but Content-Length; where it is an error, with a body
  UniqueFd fd;      // none: nothing is to be sent of it
  ByteRange range;
  // As they were before it was asked how long the file is. A recording that ends is appended to, and then its first
  // bytes change: so they never name what lies behind the end.
  std::vector<char> first_bytes = {};
};
// Opens `answer.file`. For threads that may wait for a disk.
FileAnswer open_file(const HttpAnswer& answer, const HttpFacts& facts, bool download);
// The next bytes, `most` at most; empty: the file is shorter than it was, or cannot be read.
std::vector<char> read_part(const FileAnswer& file, std::uint64_t from, std::size_t most);

}  // namespace campipe
