#include "stages/sources/jpeg_size.h"

#include <algorithm>
#include <new>
#include <span>

#include "core/big_endian.h"
#include "core/jpeg_frame.h"
#include "core/media_limits.h"
#include "stages/sources/rtsp_dialogue.h"

namespace campipe {
namespace {

constexpr int block = 8;
constexpr int most_said = 255 * block;
constexpr int said_modulo = 256 * block;

// What a header says of a side that is longer than it can say.
bool may_stand_for(int said, int side) {
  return side > most_said && said == (side + block - 1) / block * block % said_modulo;
}

}  // namespace

void announce_jpeg_sizes(AVFormatContext& input, const RtspDialogue& dialogue) {
  for (AVStream* stream : std::span(input.streams, input.nb_streams)) {
    AVCodecParameters& codec = *stream->codecpar;
    const RtspTrack* track = codec.codec_id == AV_CODEC_ID_MJPEG ? dialogue.track_at(stream->id) : nullptr;
    if (track == nullptr || refused_size(track->width, track->height)) continue;
    codec.width = track->width;
    codec.height = track->height;
    // With a format, too, nothing has to be decoded, which would not go without a size.
    if (std::max(codec.width, codec.height) > most_said) codec.format = AV_PIX_FMT_YUVJ420P;
  }
}

bool complete_jpeg_size(AVPacket& packet, AVCodecParameters& codec) {
  const auto frame = find_jpeg_frame({packet.data, static_cast<std::size_t>(std::max(packet.size, 0))});
  if (!frame) return true;  // none that anybody could show
  const std::uint8_t* header = packet.data + *frame;
  const int width = static_cast<int>(get_big_endian(header + JpegFrame::width, 2));
  const int height = static_cast<int>(get_big_endian(header + JpegFrame::height, 2));
  const bool cut = may_stand_for(width, codec.width) || may_stand_for(height, codec.height);
  if (width > 0 && height > 0 && !cut) return true;
  if (codec.width <= 0 || codec.height <= 0) return false;
  if (av_packet_make_writable(&packet) < 0) throw std::bad_alloc();
  put_big_endian(static_cast<unsigned>(codec.width), 2, packet.data + *frame + JpegFrame::width);
  put_big_endian(static_cast<unsigned>(codec.height), 2, packet.data + *frame + JpegFrame::height);
  constexpr std::uint8_t halved_columns = 0x21;  // as RFC 2435 has them: of colour half the columns, or rows as well
  codec.format =
      packet.data[*frame + JpegFrame::sampling] == halved_columns ? AV_PIX_FMT_YUVJ422P : AV_PIX_FMT_YUVJ420P;
  return true;
}

}  // namespace campipe
