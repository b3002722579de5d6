#include "app/control/known_stream.h"

#include <utility>

#include "core/ffmpeg.h"

namespace campipe {
namespace {

constexpr int largest_side = 65536;
constexpr double highest_rate = 10'000;

bool is_side(int size) { return size >= 0 && size <= largest_side; }
bool is_rate(double rate) { return rate >= 0 && rate <= highest_rate; }

}  // namespace

// A container may announce what it likes: what cannot be is unknown.
KnownStream known_stream(const SourceStream& stream) {
  KnownStream known{stream.decoder, stream.width, stream.height, stream.frame_rate};
  if (stream.codec != nullptr) {
    const AVCodecDescriptor* codec = avcodec_descriptor_get(stream.codec->codec_id);
    known.codec = codec == nullptr ? "" : codec->name;
    known.width = stream.codec->width;
    known.height = stream.codec->height;
  }
  if (stream.rotation % 180 != 0) std::swap(known.width, known.height);
  if (!is_side(known.width) || !is_side(known.height)) known.width = known.height = 0;
  if (!is_rate(known.rate)) known.rate = 0;
  return known;
}

bool is_possible(const KnownStream& stream) {
  const bool known = stream.codec.empty() || stream.codec == "pattern" ||
                     avcodec_descriptor_get_by_name(stream.codec.c_str()) != nullptr;
  return known && is_side(stream.width) && is_side(stream.height) && is_rate(stream.rate);
}

}  // namespace campipe
