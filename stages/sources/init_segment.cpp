#include "stages/sources/init_segment.h"

#include <algorithm>
#include <new>
#include <string_view>

#include "core/avio_owner.h"
#include "core/big_endian.h"
#include "core/c_callback.h"
#include "core/ffmpeg.h"
#include "stages/sources/accepted_media.h"

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t box_header = 8;

std::string_view type_of(Bytes box) { return {static_cast<const char*>(static_cast<const void*>(box.data() + 4)), 4}; }

int read_segment(void* from, std::uint8_t* buffer, int size) {
  auto& rest = *static_cast<Bytes*>(from);
  const std::size_t count = std::min(rest.size(), static_cast<std::size_t>(size));
  if (count == 0) return AVERROR_EOF;
  std::ranges::copy(rest.first(count), buffer);
  rest = rest.subspan(count);
  return static_cast<int>(count);
}

}  // namespace

std::size_t init_segment_size(Bytes head, std::size_t& seen) {
  for (;;) {
    if (seen + box_header > head.size()) return seen + box_header;
    const Bytes box = head.subspan(seen);
    const std::string_view type = type_of(box);
    const std::uint64_t size = get_big_endian(box.data(), 4);
    const bool begins = type == "ftyp" || type == "styp" || type == "moov";
    if ((seen == 0 && !begins) || type == "moof" || type == "mdat") return 0;
    if (size < box_header || size > longest_init_segment - seen) return 0;
    if (type == "moov") return seen + size;
    seen += size;
  }
}

InitHeaders headers_in(Bytes init_segment) {
  constexpr int buffer_size = 4096;
  Bytes rest = init_segment;
  const AvioOwner io = open_avio(buffer_size, &rest, c_callback<read_segment, AVERROR_EXTERNAL>, nullptr);
  AVFormatContext* context = avformat_alloc_context();
  if (context == nullptr) throw std::bad_alloc();
  context->pb = io.get();
  limit_media(*context, formats_of_streams(), "");
  if (avformat_open_input(&context, nullptr, av_find_input_format("mov"), nullptr) < 0) return {};
  const AvInput input(context);
  InitHeaders headers;
  for (unsigned i = 0; i < input->nb_streams; ++i) {
    const AVCodecParameters& codec = *input->streams[i]->codecpar;
    const bool is_video = codec.codec_type == AVMEDIA_TYPE_VIDEO;
    std::optional<TrackHeader>& header = is_video ? headers.video : headers.audio;
    if ((!is_video && codec.codec_type != AVMEDIA_TYPE_AUDIO) || header) continue;
    header = {codec.codec_id,
              {codec.extradata, codec.extradata + std::max(codec.extradata_size, 0)},
              input->streams[i]->time_base.den};
  }
  return headers;
}

}  // namespace campipe
