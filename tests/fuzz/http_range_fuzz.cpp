// A header Range of a file whose size is the first line: what is sent lies within the file.
#include <charconv>

#include "app/publisher/server/http/files.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

void check(std::string header) {
  const std::string first = take_line(header);
  std::uint64_t size = 1000;
  std::from_chars(first.data(), first.data() + first.size(), size);
  ByteRange range;
  const RangeWish wish = parse_range(header, size, range);
  if (wish == RangeWish::impossible) return;
  require(range.begin <= size && range.size <= size - range.begin, "a part lies within the file", header);
  if (wish == RangeWish::whole) {
    require(range.begin == 0 && range.size == size, "the whole is all of it", header);
    return;
  }
  require(range.size > 0, "a part has a byte", header);
  ByteRange again;
  const std::string written =
      "bytes=" + std::to_string(range.begin) + "-" + std::to_string(range.begin + range.size - 1);
  require(
      parse_range(written, size, again) == RangeWish::part && again.begin == range.begin && again.size == range.size,
      "the same when written again", header);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
