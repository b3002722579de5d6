#include "stages/sinks/frame_size.h"

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "core/av_parser.h"
#include "core/big_endian.h"
#include "core/bit_reader.h"
#include "core/extradata.h"
#include "core/jpeg_frame.h"
#include "core/media_limits.h"

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

// With the zeros behind it that libavcodec reads.
std::vector<std::uint8_t> padded(Bytes bytes) {
  std::vector<std::uint8_t> copy(bytes.begin(), bytes.end());
  copy.resize(bytes.size() + AV_INPUT_BUFFER_PADDING_SIZE);
  return copy;
}

SentFormat parsed(AVCodecID codec, Bytes extradata, Bytes packet) {
  const AvParser parser(av_parser_init(codec));
  if (!parser) return {};
  const AvCodecContext context(avcodec_alloc_context3(nullptr));
  if (!context) throw std::bad_alloc();
  context->codec_id = codec;
  if (!extradata.empty()) set_extradata(*context, extradata);
  parser->flags |= PARSER_FLAG_COMPLETE_FRAMES;
  const std::vector<std::uint8_t> data = padded(packet);
  std::uint8_t* frame = nullptr;
  int size = 0;
  av_parser_parse2(parser.get(), context.get(), &frame, &size, data.data(), static_cast<int>(packet.size()),
                   AV_NOPTS_VALUE, AV_NOPTS_VALUE, 0);
  const bool in_parser = parser->width > 0 && parser->height > 0;
  const int pixels = parser->format >= 0 && parser->format < AV_PIX_FMT_NB ? parser->format : AV_PIX_FMT_NONE;
  return {in_parser ? parser->width : context->width, in_parser ? parser->height : context->height,
          static_cast<AVPixelFormat>(pixels)};
}

SentFormat in_jpeg(Bytes packet) {
  const auto frame = find_jpeg_frame(packet);
  if (!frame) return {};
  const std::uint8_t* header = &packet[*frame];
  return {static_cast<int>(get_big_endian(header + JpegFrame::width, 2)),
          static_cast<int>(get_big_endian(header + JpegFrame::height, 2)), AV_PIX_FMT_NONE};
}

// ISO/IEC 13818-2, 6.2.2.1, with the upper bits in 6.2.2.3.
SentFormat in_mpeg2(Bytes packet) {
  constexpr std::array<std::uint8_t, 4> sequence{0, 0, 1, 0xb3};
  constexpr std::array<std::uint8_t, 4> extension{0, 0, 1, 0xb5};
  const auto found = std::ranges::search(packet, sequence);
  const Bytes rest(found.end(), packet.end());
  if (found.empty() || rest.size() < 3) return {};
  unsigned width = rest[0] << 4U | rest[1] >> 4U;
  unsigned height = (rest[1] & 15U) << 8U | rest[2];
  const auto more = std::ranges::search(rest, extension);
  const Bytes bits(more.end(), rest.end());
  if (bits.size() >= 4 && bits[0] >> 4U == 1) {
    width |= ((bits[1] & 1U) << 1U | bits[2] >> 7U) << 12U;
    height |= (bits[2] >> 5U & 3U) << 12U;
  }
  return {static_cast<int>(width), static_cast<int>(height), AV_PIX_FMT_NONE};
}

// The uncompressed header of VP9, 6.2, up to frame_size().
SentFormat in_vp9(Bytes packet) {
  BitReader in(packet, BitReader::Of::plain_bytes);
  if (in.bits(2) != 2) return {};
  const unsigned profile = in.bits(1) | in.bits(1) << 1U;
  if (profile == 3) in.skip(1);
  if (in.bits(1) != 0) return {};  // a frame that was shown before
  if (in.bits(1) != 0) return {};  // no key frame
  in.skip(2);
  if (in.bits(24) != 0x498342) return {};
  if (profile >= 2) in.skip(1);
  constexpr unsigned rgb = 7;
  const bool subsampled_apart = profile == 1 || profile == 3;
  if (in.bits(3) != rgb) {
    in.skip(subsampled_apart ? 4 : 1);
  } else if (subsampled_apart) {
    in.skip(1);
  }
  const int width = static_cast<int>(in.bits(16)) + 1;
  const int height = static_cast<int>(in.bits(16)) + 1;
  return in.has_ended() ? SentFormat{} : SentFormat{width, height, AV_PIX_FMT_NONE};
}

SentFormat found_in(AVCodecID codec, Bytes extradata, Bytes packet) {
  switch (codec) {
    case AV_CODEC_ID_MJPEG:
      return in_jpeg(packet);
    case AV_CODEC_ID_MPEG1VIDEO:
    case AV_CODEC_ID_MPEG2VIDEO:
      return in_mpeg2(packet);
    case AV_CODEC_ID_VP9:
      return in_vp9(packet);
    case AV_CODEC_ID_H264:
    case AV_CODEC_ID_HEVC:
    case AV_CODEC_ID_MPEG4:
    case AV_CODEC_ID_AV1:
    case AV_CODEC_ID_VP8:
      return parsed(codec, extradata, packet);
    default:
      return {};
  }
}

}  // namespace

std::optional<SentFormat> format_in(AVCodecID codec, Bytes extradata, Bytes packet) {
  const SentFormat found = found_in(codec, extradata, packet);
  const bool is_size = found.width > 0 && found.height > 0 && !refused_size(found.width, found.height);
  return is_size ? std::optional(found) : std::nullopt;
}

}  // namespace campipe
