// Numbers with units, as a configuration has them: what is read is finite, and the same when it is written again.
#include "app/config/units.h"

#include <cmath>

#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

void check(const std::string& text) {
  if (const auto number = parse_number(text)) {
    require(std::isfinite(*number), "a number is finite", text);
    require(parse_number(number_text(*number)) == number, "a number is the same again", text);
  }
  if (const auto time = parse_time(text)) {
    const auto again = parse_time(time_text(*time));
    require(again.has_value(), "a time can be read again", time_text(*time));
    // Doubles are exact up to 2^53 ns, which is 104 days.
    const bool is_exact = std::abs(time->count()) < std::int64_t{1} << 53;
    require(!is_exact || again == time, "a time is the same again", text);
  }
  if (const auto size = parse_size(text)) require(parse_size(std::to_string(*size)).has_value(), "a size", text);
  if (const auto rate = parse_bitrate(text)) require(parse_size(text) == rate, "a rate is read as a size is", text);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
