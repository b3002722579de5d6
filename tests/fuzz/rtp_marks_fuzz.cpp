// What a camera sends over RTSP's connection and by UDP, in pieces: for each, a byte that says over which, one of how
// much was asked for, one of how much came, and that. Whatever it is, a mark is one of a packet that came.
#include "stages/sources/rtp_marks.h"

#include <algorithm>
#include <span>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

void check(std::vector<std::uint8_t> bytes) {
  std::span<std::uint8_t> input(bytes);
  RtpMarks marks;
  while (input.size() > 3) {
    const unsigned way = input[0];
    const std::size_t asked = input[1] + std::size_t{1};
    const std::size_t count = std::min({static_cast<std::size_t>(input[2]), asked, input.size() - 3});
    const auto data = input.subspan(3, count);
    input = input.subspan(3 + count);
    marks.forget_newest();
    if ((way & 1U) != 0) {
      marks.on_datagram(static_cast<int>(way >> 4U), data);
      require(!marks.newest() || data.size() >= 12, "a packet has a head");
    } else if (!data.empty()) {
      marks.on_bytes(static_cast<int>(way >> 6U), asked, data);
    }
    require(!marks.newest() || marks.newest()->flow > 0, "a flow has a number");
  }
  for (const auto& packets : marks.take_flows()) {
    require(std::ranges::adjacent_find(packets, {}, &RtpMark::timestamp) == packets.end(), "a timestamp is there once");
    require(std::ranges::is_sorted(packets, {}, &RtpMark::received), "packets are in the order in which they came");
  }
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check({data, data + size});
  return 0;
}
