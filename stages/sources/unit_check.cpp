#include "stages/sources/unit_check.h"

#include <algorithm>
#include <span>
#include <utility>

#include "stages/sources/unit_parser.h"

namespace campipe {
namespace {

// Its first byte may be left to the unit before it.
bool has_long_start_code(const AVPacket& packet) {
  constexpr std::size_t zeros = 3;
  return packet.size > 3 && std::ranges::count(std::span(packet.data, zeros), 0) == zeros;
}

}  // namespace

void UnitCheck::restart() {
  context_ = context_for_parser(stream_);
  parser_.reset(av_parser_init(stream_.codec_id));
  held_ = 0;
}

UnitCheck::Answer UnitCheck::add(const AVPacket& packet) {
  int left = packet.size;  // that is in no unit yet
  for (int at = 0; parser_ && at < packet.size;) {
    std::uint8_t* data = nullptr;
    int size = 0;
    const int used = av_parser_parse2(parser_.get(), context_.get(), &data, &size, packet.data + at, packet.size - at,
                                      AV_NOPTS_VALUE, AV_NOPTS_VALUE, -1);
    if (used < 0 || (used == 0 && size == 0)) break;
    at += used;
    if (size == 0) continue;
    if (held_ > 0) {
      const int beyond = size - std::exchange(held_, 0);
      if (beyond != 0 && (beyond != 1 || !has_long_start_code(packet))) return Answer::goes_on_before;
      left -= beyond;
    } else {
      // The end of a sequence ends a unit, too.
      if (size != left) return Answer::several;
      left = 0;
    }
  }
  if (held_ > 0) return Answer::goes_on_before;
  if (parser_) held_ = left;
  return Answer::unit;
}

}  // namespace campipe
