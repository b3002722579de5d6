#include "stages/sinks/stream_headers.h"

extern "C" {
#include <libavcodec/bsf.h>
}

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include "core/ffmpeg.h"
#include "core/start_codes.h"
#include "stages/sinks/frame_size.h"
#include "stages/sinks/parameter_sets.h"

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

bool tells_headers(const AVCodecParameters& codec) {
  const std::span<const std::uint8_t> bytes(codec.extradata, static_cast<std::size_t>(codec.extradata_size));
  if (bytes.empty()) return false;
  const bool is_h264 = codec.codec_id == AV_CODEC_ID_H264;
  if ((!is_h264 && codec.codec_id != AV_CODEC_ID_HEVC) || bytes[0] == 1) return true;  // 1: as files have it
  constexpr unsigned h264_set = 7;
  constexpr unsigned hevc_set = 33;
  constexpr std::ptrdiff_t shortest_set = 5;
  for (auto rest = std::ranges::search(bytes, start_code); !rest.empty();) {
    const std::span<const std::uint8_t> unit(rest.end(), bytes.end());
    rest = std::ranges::search(unit, start_code);
    if (rest.begin() - unit.begin() < shortest_set) continue;
    const unsigned type = is_h264 ? unit[0] & 31U : (unit[0] >> 1U) & 63U;
    if (type == (is_h264 ? h264_set : hevc_set)) return true;
  }
  return false;
}

bool lacks_headers(const StreamParameters& stream) {
  return (stream.codec == "h264" || stream.codec == "hevc") && (stream.extradata.empty() || stream.format.width <= 0);
}

std::vector<std::uint8_t> headers_in(AVCodecID codec, std::span<const std::uint8_t> packet) {
  if (packet.empty()) return {};
  const AvPacket copy = copy_of(packet);
  const Filter filter = extractor_of(codec);
  av_check(av_bsf_send_packet(filter.get(), copy.get()), "extract_extradata");
  if (av_bsf_receive_packet(filter.get(), copy.get()) < 0) return {};  // damaged
  std::size_t size = 0;
  const std::uint8_t* found = av_packet_get_side_data(copy.get(), AV_PKT_DATA_NEW_EXTRADATA, &size);
  if (found == nullptr) return {};
  return {found, found + size};
}

StreamParameters with_headers(StreamParameters stream, std::span<const std::uint8_t> first) {
  const AVCodecDescriptor* codec = avcodec_descriptor_get_by_name(stream.codec.c_str());
  if (first.empty() || codec == nullptr || !ParameterSets::has(codec->id)) return stream;
  const ParameterSets announced(codec->id, stream.extradata);
  ParameterSets sets = announced;
  sets.take(first);
  sets.begin_at(first);
  const bool is_news = sets != announced && sets.complete();
  if (!is_news && !lacks_headers(stream)) return stream;
  const std::vector<std::uint8_t> extradata = is_news ? sets.extradata() : stream.extradata;
  const auto format = format_in(codec->id, extradata, first);
  if (!format) return stream;
  stream.extradata = extradata;
  stream.format.width = format->width;
  stream.format.height = format->height;
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
