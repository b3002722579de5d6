#include "stages/sources/accepted_media.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>
#include <vector>

extern "C" {
#include <libavutil/avstring.h>
}

#include "core/error.h"
#include "core/libav_options.h"
#include "core/media_limits.h"
#include "core/printable.h"
#include "stages/sources/many_units.h"

namespace campipe {
namespace {

constexpr std::array<std::string_view, 34> file_formats{
    "mov",       "matroska",     "mpegts", "flv",  "avi",    "asf",       "ogg",      "mpeg",     "mpegvideo",
    "m4v",       "h261",         "h263",   "h264", "hevc",   "av1",       "obu",      "ivf",      "vc1",
    "mjpeg",     "mpjpeg",       "gif",    "apng", "image2", "jpeg_pipe", "png_pipe", "bmp_pipe", "webp_pipe",
    "tiff_pipe", "yuv4mpegpipe", "nut",    "mxf",  "dv",     "wtv",       "dhav"};

// With those of HLS's pieces that hold sound alone.
constexpr std::array<std::string_view, 27> stream_formats{
    "rtsp",  "rtp",       "hls", "mpegts", "mov",  "matroska", "flv", "live_flv", "mpjpeg",
    "mjpeg", "jpeg_pipe", "avi", "asf",    "ogg",  "mpeg",     "m4v", "h263",     "h264",
    "hevc",  "av1",       "obu", "ivf",    "dhav", "aac",      "mp3", "ac3",      "eac3"};

constexpr std::array video{
    AV_CODEC_ID_H264,      AV_CODEC_ID_HEVC,       AV_CODEC_ID_AV1,        AV_CODEC_ID_VP8,       AV_CODEC_ID_VP9,
    AV_CODEC_ID_MJPEG,     AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG4,     AV_CODEC_ID_H261,
    AV_CODEC_ID_H263,      AV_CODEC_ID_H263P,      AV_CODEC_ID_FLV1,       AV_CODEC_ID_MSMPEG4V1, AV_CODEC_ID_MSMPEG4V2,
    AV_CODEC_ID_MSMPEG4V3, AV_CODEC_ID_WMV1,       AV_CODEC_ID_WMV2,       AV_CODEC_ID_WMV3,      AV_CODEC_ID_VC1,
    AV_CODEC_ID_THEORA,    AV_CODEC_ID_PRORES,     AV_CODEC_ID_DNXHD,      AV_CODEC_ID_DVVIDEO,   AV_CODEC_ID_FFV1,
    AV_CODEC_ID_HUFFYUV,   AV_CODEC_ID_FFVHUFF,    AV_CODEC_ID_UTVIDEO,    AV_CODEC_ID_MAGICYUV,  AV_CODEC_ID_RAWVIDEO,
    AV_CODEC_ID_V210,      AV_CODEC_ID_JPEG2000,   AV_CODEC_ID_JPEGLS,     AV_CODEC_ID_GIF,       AV_CODEC_ID_APNG,
    AV_CODEC_ID_PNG,       AV_CODEC_ID_BMP,        AV_CODEC_ID_WEBP,       AV_CODEC_ID_TIFF,      AV_CODEC_ID_QTRLE,
    AV_CODEC_ID_CINEPAK};

constexpr std::array audio{
    AV_CODEC_ID_AAC,        AV_CODEC_ID_AAC_LATM,   AV_CODEC_ID_MP2,          AV_CODEC_ID_MP3,
    AV_CODEC_ID_AC3,        AV_CODEC_ID_EAC3,       AV_CODEC_ID_OPUS,         AV_CODEC_ID_VORBIS,
    AV_CODEC_ID_FLAC,       AV_CODEC_ID_ALAC,       AV_CODEC_ID_PCM_MULAW,    AV_CODEC_ID_PCM_ALAW,
    AV_CODEC_ID_PCM_U8,     AV_CODEC_ID_PCM_S16LE,  AV_CODEC_ID_PCM_S16BE,    AV_CODEC_ID_PCM_S24LE,
    AV_CODEC_ID_PCM_S24BE,  AV_CODEC_ID_PCM_S32LE,  AV_CODEC_ID_PCM_S32BE,    AV_CODEC_ID_PCM_F32LE,
    AV_CODEC_ID_ADPCM_G722, AV_CODEC_ID_ADPCM_G726, AV_CODEC_ID_ADPCM_G726LE, AV_CODEC_ID_ADPCM_IMA_WAV,
    AV_CODEC_ID_ADPCM_MS,   AV_CODEC_ID_G723_1,     AV_CODEC_ID_AMR_NB,       AV_CODEC_ID_AMR_WB,
    AV_CODEC_ID_SPEEX,      AV_CODEC_ID_WMAV1,      AV_CODEC_ID_WMAV2};

template <typename List, typename T>
bool contains(const List& list, const T& value) {
  return std::ranges::find(list, value) != list.end();
}

std::string comma_separated(std::span<const std::string_view> names) {
  std::string list;
  for (const std::string_view name : names) list += (list.empty() ? "" : ",") + std::string(name);
  return list;
}

// A codec may have several decoders, which libav knows by names of their own.
std::string names_of_decoders() {
  std::string list;
  void* place = nullptr;
  while (const AVCodec* codec = av_codec_iterate(&place)) {
    if (av_codec_is_decoder(codec) == 0 || (!contains(video, codec->id) && !contains(audio, codec->id))) continue;
    list += (list.empty() ? "" : ",") + std::string(codec->name);
  }
  return list;
}

// As libav's fields take it: `input` frees it.
char* duplicate(const std::string& text) {
  char* copy = av_strdup(text.c_str());
  if (copy == nullptr) throw std::bad_alloc();
  return copy;
}

// As long as it lives, what this thread reads of an input is counted: its context has no room for more than its
// protocol. One at a time.
class CountedReading {
 public:
  explicit CountedReading(const AVFormatContext& input) : io_(is_counted(*input.iformat) ? input.pb : nullptr) {
    if (io_ == nullptr || io_->read_packet == nullptr) return;
    read_ = std::exchange(io_->read_packet, read);
    of_this_thread = this;
  }
  ~CountedReading() {
    if (read_ == nullptr) return;
    of_this_thread = nullptr;
    io_->read_packet = read_;
  }
  CountedReading(const CountedReading&) = delete;
  CountedReading& operator=(const CountedReading&) = delete;

  [[nodiscard]] bool are_too_many() const { return units_.are_too_many(); }

 private:
  // Sound that is not compressed has such bytes, too, and the others' containers are made for files.
  static bool is_counted(const AVInputFormat& format) {
    return av_match_name(format.name, "mpegts,mpeg,h264,hevc,flv,live_flv") != 0;
  }
  static int read(void* opaque, std::uint8_t* to, int size) {
    const int count = of_this_thread->read_(opaque, to, size);
    if (count > 0) of_this_thread->units_.take({to, static_cast<std::size_t>(count)});
    return of_this_thread->are_too_many() ? AVERROR_INVALIDDATA : count;
  }

  static thread_local CountedReading* of_this_thread;

  AVIOContext* io_;
  int (*read_)(void* opaque, std::uint8_t* to, int size) = nullptr;  // its protocol's
  UnitsInBytes units_;
};
thread_local CountedReading* CountedReading::of_this_thread = nullptr;

}  // namespace

std::span<const std::string_view> formats_of_files() { return file_formats; }
std::span<const std::string_view> formats_of_streams() { return stream_formats; }
std::span<const AVCodecID> accepted_video() { return video; }
std::span<const AVCodecID> accepted_audio() { return audio; }

void limit_media(AVFormatContext& input, std::span<const std::string_view> formats, const std::string& protocols) {
  static const std::string decoders = names_of_decoders();
  input.format_whitelist = duplicate(comma_separated(formats));
  input.codec_whitelist = duplicate(decoders);
  input.protocol_whitelist = duplicate(protocols);
}

void limit_pieces(AVFormatContext& hls) {
  std::vector<std::string_view> formats(stream_formats.begin(), stream_formats.end());
  std::erase_if(formats, [](std::string_view name) { return name == "hls" || name.starts_with("rt"); });
  av_freep(static_cast<void*>(&hls.format_whitelist));
  hls.format_whitelist = duplicate(comma_separated(formats));
}

int find_stream_info(AVFormatContext& input) {
  const CountedReading counted(input);
  std::vector<AVDictionary*> options;  // of each stream
  for (unsigned i = 0; i < input.nb_streams; ++i) {
    LibavOptions one;
    one.set("max_pixels", most_pixels);
    options.push_back(one.release());
  }
  const int code = avformat_find_stream_info(&input, options.data());
  for (AVDictionary* one : options) const LibavOptions owned(one);
  return counted.are_too_many() ? AVERROR_INVALIDDATA : code;
}

void require_accepted_video(const AVCodecParameters& stream, const std::string& name) {
  const std::string codec = avcodec_get_name(stream.codec_id);
  if (stream.codec_id == AV_CODEC_ID_NONE) {
    std::array<char, AV_FOURCC_MAX_STRING_SIZE> letters{};
    const bool number = stream.codec_tag < 256;
    const std::string tag =
        number ? std::to_string(stream.codec_tag) : av_fourcc_make_string(letters.data(), stream.codec_tag);
    throw Error("'" + name + "' has video of a codec that this FFmpeg does not know" +
                (stream.codec_tag != 0 ? " (its container calls it '" + printable(tag) + "')" : ""));
  }
  if (!contains(video, stream.codec_id)) {
    throw Error("'" + name + "' has video of the codec '" + codec +
                "', which campipe does not take (docs/configuration.md lists those that it does)");
  }
  if (stream.width == 0 && stream.height == 0) return;  // not known yet
  if (const auto problem = refused_size(stream.width, stream.height)) throw Error("'" + name + "' " + *problem);
}

bool is_accepted_audio(AVCodecID codec) { return contains(audio, codec); }

}  // namespace campipe
