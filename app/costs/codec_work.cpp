#include "app/costs/codec_work.h"
#include "stages/encoders/encoder_config.h"

#include <algorithm>
#include <array>

namespace campipe {
namespace {

constexpr std::int64_t usual_bitrate = 4'000'000;  // of EncoderConfig

struct Preset {
  std::string_view name;
  double x264;
  double x265;
};
// Measured beside superfast on frames of 1280x720 (`calibrate-costs --check` prints how far off they are).
constexpr std::array presets{
    Preset{"ultrafast", 0.65, 0.7}, Preset{"superfast", 1, 1},  Preset{"veryfast", 1.7, 1.2},
    Preset{"faster", 2.9, 1.2},     Preset{"fast", 4.6, 1.5},   Preset{"medium", 5.7, 1.85},
    Preset{"slow", 11.3, 4.5},      Preset{"slower", 14.5, 23}, Preset{"veryslow", 26, 34},
};

// What takes about as long, for codecs that are not measured.
std::string_view like(std::string_view codec) {
  if (codec == "pattern" || codec == "h264" || codec == "mjpeg") return codec;
  if (codec == "mpeg4" || codec == "mpeg2video" || codec == "vp8") return "h264";
  if (codec.starts_with("rawvideo")) return "pattern";
  return "hevc";
}

}  // namespace

std::string decode_work_name(std::string_view codec) { return "decode/" + std::string(like(codec)); }

std::string encode_work_name(std::string_view encoder) { return "encode/" + std::string(encoder); }

double preset_factor(std::string_view encoder, std::string_view preset) {
  const auto found = std::ranges::find(presets, preset, &Preset::name);
  if (found == presets.end()) return 1;
  if (encoder == "libx264") return found->x264;
  return encoder == "libx265" ? found->x265 : 1;
}

Work decode_work(std::string_view codec, const FrameFormat& format) {
  return {decode_work_name(codec), megapixels(format)};
}

Work encode_work(const std::string& encoder, const EncoderConfig& config, const FrameFormat& format, double rate) {
  Work work{encode_work_name(encoder), megapixels(format), usual_bits_a_pixel, preset_factor(encoder, config.preset)};
  if (!config.crf) {
    const double pixels = 1e6 * work.megapixels * (rate > 0 ? rate : probed_rate);
    work.parameter = static_cast<double>(config.bitrate.value_or(usual_bitrate)) / std::max(pixels, 1.0);
  }
  return work;
}

Work copy_work(const FrameFormat& format) { return {"copy", megapixels(format)}; }
Work upload_work(const FrameFormat& format) { return {"upload", megapixels(format)}; }
Work download_work(const FrameFormat& format) { return {"download", megapixels(format)}; }

}  // namespace campipe
