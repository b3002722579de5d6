#include "stages/sinks/stream_headers.h"

extern "C" {
#include <libavcodec/bsf.h>
}

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>

#include "core/ffmpeg.h"

namespace campipe {
namespace {

struct FilterDeleter {
  void operator()(AVBSFContext* filter) const { av_bsf_free(&filter); }
};
using Filter = std::unique_ptr<AVBSFContext, FilterDeleter>;

Filter extractor_of(AVCodecID codec) {
  AVBSFContext* raw = nullptr;
  av_check(av_bsf_alloc(av_bsf_get_by_name("extract_extradata"), &raw), "extract_extradata");
  Filter filter(raw);
  filter->par_in->codec_type = AVMEDIA_TYPE_VIDEO;
  filter->par_in->codec_id = codec;
  av_check(av_bsf_init(filter.get()), "extract_extradata");
  return filter;
}

AvPacket copy_of(std::span<const std::uint8_t> data) {
  AvPacket packet = make_av_packet();
  av_check(av_new_packet(packet.get(), static_cast<int>(data.size())), "no memory for a packet");
  std::ranges::copy(data, packet->data);
  return packet;
}

// Bytes of a packet's ADTS header; 0: it has none.
std::size_t adts_size(std::span<const std::uint8_t> packet) {
  const bool is_adts = packet.size() > 9 && packet[0] == 0xff && (packet[1] & 0xf6) == 0xf0;
  if (!is_adts) return 0;
  const bool has_checksum = (packet[1] & 1) == 0;
  return has_checksum ? 9 : 7;
}

// The AudioSpecificConfig that an ADTS header stands for; none: it is no ADTS.
std::vector<std::uint8_t> aac_headers(std::span<const std::uint8_t> packet) {
  if (adts_size(packet) == 0) return {};
  const unsigned object_type = (packet[2] >> 6U) + 1U;
  const unsigned rate_index = (packet[2] >> 2U) & 15U;
  const unsigned channels = ((packet[2] & 1U) << 2U) | (packet[3] >> 6U);
  const unsigned config = object_type << 11U | rate_index << 7U | channels << 3U;
  return {static_cast<std::uint8_t>(config >> 8U), static_cast<std::uint8_t>(config & 255U)};
}

// RFC 7845's header, as files want it: that of a stream of one or two channels, of which nothing is to be skipped.
std::vector<std::uint8_t> opus_headers(int channels) {
  constexpr std::string_view magic = "OpusHead";
  std::vector<std::uint8_t> headers(magic.begin(), magic.end());
  const std::array<std::uint8_t, 11> rest{1, static_cast<std::uint8_t>(channels), 0, 0, 0x80, 0xbb, 0, 0, 0, 0, 0};
  headers.insert(headers.end(), rest.begin(), rest.end());
  return headers;
}

}  // namespace

bool lacks_headers(const StreamParameters& stream) {
  return stream.extradata.empty() && (stream.codec == "h264" || stream.codec == "hevc");
}

StreamParameters with_headers(StreamParameters stream, std::span<const std::uint8_t> first) {
  if (!lacks_headers(stream) || first.empty()) return stream;
  const Filter filter = extractor_of(avcodec_descriptor_get_by_name(stream.codec.c_str())->id);
  const AvPacket packet = copy_of(first);
  av_check(av_bsf_send_packet(filter.get(), packet.get()), "extract_extradata");
  if (av_bsf_receive_packet(filter.get(), packet.get()) < 0) return stream;  // damaged
  std::size_t size = 0;
  const std::uint8_t* found = av_packet_get_side_data(packet.get(), AV_PKT_DATA_NEW_EXTRADATA, &size);
  if (found != nullptr) stream.extradata.assign(found, found + size);
  return stream;
}

bool lacks_headers(const AudioParameters& audio) {
  return audio.extradata.empty() && (audio.codec == "aac" || audio.codec == "opus");
}

AudioParameters with_headers(AudioParameters audio, std::span<const std::uint8_t> first) {
  if (!lacks_headers(audio)) return audio;
  if (audio.codec == "aac") audio.extradata = aac_headers(first);
  if (audio.codec == "opus" && audio.channels <= 2) audio.extradata = opus_headers(audio.channels);
  return audio;
}

std::span<const std::uint8_t> without_header(const AudioParameters& audio, std::span<const std::uint8_t> packet) {
  return audio.codec == "aac" ? packet.subspan(adts_size(packet)) : packet;
}

}  // namespace campipe
