#include "app/control/sent_stream.h"
#include "app/config/camera_config.h"
#include "core/orientation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace campipe {
namespace {

constexpr auto in_browsers = "h264";

bool browsers_know(const std::string& pixels) {
  constexpr std::array<std::string_view, 3> known{"", "yuv420p", "yuvj420p"};
  return std::ranges::find(known, pixels) != known.end();
}

}  // namespace

bool may_be_untimed(const SourceStream& stream) { return stream.codec != nullptr && stream.codec->video_delay > 0; }

SentStream sent_stream(const SourceStream& stream, const AVPacket* first) {
  if (stream.codec == nullptr) return {stream.decoder, "", stream.rotation};
  const char* pixels = av_get_pix_fmt_name(static_cast<AVPixelFormat>(stream.codec->format));
  // As in AVI and in raw streams, where only a decoder finds out.
  const bool untimed = first != nullptr && first->pts == AV_NOPTS_VALUE && may_be_untimed(stream);
  return {avcodec_get_name(stream.codec->codec_id), pixels != nullptr ? pixels : "", stream.rotation, untimed,
          stream.hides_references};
}

bool is_possible(const SentStream& sends) {
  const bool known = avcodec_descriptor_get_by_name(sends.codec.c_str()) != nullptr &&
                     (sends.pixels.empty() || av_get_pix_fmt(sends.pixels.c_str()) != AV_PIX_FMT_NONE);
  const bool turned = is_orientation(sends.rotation);
  return known && turned;
}

bool plays_everywhere(const SentStream& sends) {
  return browsers_play(sends) && sends.rotation == 0 && !sends.untimed && !sends.cut;
}

bool browsers_play(const SentStream& sends) { return sends.codec == in_browsers && browsers_know(sends.pixels); }

bool fits(const CameraConfig& camera, const SentStream& sends) {
  return camera.for_browsers ? browsers_play(sends) : plays_everywhere(sends);
}

std::string describe(const SentStream& sends) {
  if (sends.codec != in_browsers) return sends.codec + ", which browsers do not play";
  if (!browsers_know(sends.pixels)) return sends.codec + " of " + sends.pixels + ", which browsers do not play";
  if (sends.untimed) return sends.codec + " with B-frames and without their times";
  if (sends.cut) return sends.codec + " that its edit list cuts between key frames";
  if (sends.rotation != 0) {
    const int turn = turn_of(sends.rotation);
    return fmt::format("{}{}{}, which not all players show", sends.codec,
                       turn != 0 ? fmt::format(" turned by {}°", turn) : "",
                       is_mirrored(sends.rotation) ? turn != 0 ? " and mirrored" : " that is mirrored" : "");
  }
  return sends.codec;
}

CameraConfig resolved(const CameraConfig& asked, const std::optional<SentStream>& sends) {
  CameraConfig config = asked;
  const bool as_begun = !sends || fits(asked, *sends);
  if (is_auto(asked.encode)) config.encode.codec = as_begun ? "copy" : in_browsers;
  if (!asked.for_browsers || as_begun) return config;
  config.outputs.push_back(made_for_browsers());
  config.for_browsers = false;
  return config;
}

bool depends_on_stream(const CameraConfig& asked) {
  return !(resolved(asked, SentStream{"none", "", 0}) == resolved(asked, std::nullopt));
}

std::string outcome(const CameraConfig& asked, const SentStream& sends) {
  if (!fits(asked, sends) && asked.for_browsers) {
    return "sends " + describe(sends) + ": while they watch, h264 is encoded for them (output `browser`)";
  }
  if (fits(asked, sends)) return sends.codec + " is passed on as it comes";
  return "sends " + describe(sends) + ": encoded as h264 (set `encode: {codec: copy}` to keep it as it comes)";
}

}  // namespace campipe
