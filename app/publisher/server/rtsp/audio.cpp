#include "app/publisher/server/rtsp/audio.h"

#include <algorithm>
#include <array>

#include "app/publisher/server/rtsp/gst_handles.h"

namespace campipe {
namespace {

struct Form {
  std::string_view codec;
  const char* payloader;
  const char* settings;
  const char* caps;
};
// Those without a number of their own have that of the payloader. Not MP2 and MP3: rtpmpapay makes a list without a
// packet of a frame that is larger than one, which gst-rtsp-server does not survive (seen with 1.22).
constexpr std::array<Form, 4> forms{{
    {"aac", "rtpmp4gpay", "pt=97", "audio/mpeg,mpegversion=4,stream-format=raw,framed=true"},
    {"opus", "rtpopuspay", "pt=97", "audio/x-opus,channel-mapping-family=0"},
    {"pcm_mulaw", "rtppcmupay", "", "audio/x-mulaw"},
    {"pcm_alaw", "rtppcmapay", "", "audio/x-alaw"},
}};

const Form* form_of(const AudioParameters& audio) {
  const auto* found = std::ranges::find(forms, audio.codec, &Form::codec);
  return found == forms.end() ? nullptr : found;
}

// RFC 3551 has numbers for G.711 of 8 kHz only; more than two channels of Opus need a description that players do not
// read.
bool fits(const AudioParameters& audio) {
  if (audio.codec.starts_with("pcm_")) return audio.sample_rate == 8000 && audio.channels == 1;
  if (audio.codec == "aac") return audio.extradata.size() >= 2;
  return audio.codec != "opus" || audio.channels <= 2;
}

}  // namespace

bool has_rtsp_form(const AudioParameters& audio) {
  const Form* form = form_of(audio);
  if (form == nullptr || !fits(audio)) return false;
  const GObjectPtr<GstElementFactory> payloader(gst_element_factory_find(form->payloader));
  return payloader != nullptr;
}

// RTP time is the packets' own, not what would follow from how many samples there were.
std::string rtsp_payloader(const AudioParameters& audio) {
  const Form& form = *form_of(audio);
  return std::string(form.payloader) + " name=pay1 perfect-rtptime=false " + form.settings;
}

void set_rtsp_caps(GstAppSrc* source, const AudioParameters& audio) {
  const GstCapsPtr caps(gst_caps_from_string(form_of(audio)->caps));
  gst_caps_set_simple(caps.get(), "rate", G_TYPE_INT, audio.sample_rate, "channels", G_TYPE_INT, audio.channels,
                      nullptr);
  if (audio.codec == "aac") {
    GstBuffer* config = gst_buffer_new_memdup(audio.extradata.data(), audio.extradata.size());
    gst_caps_set_simple(caps.get(), "codec_data", GST_TYPE_BUFFER, config, nullptr);
    gst_buffer_unref(config);
  }
  gst_app_src_set_caps(source, caps.get());
}

}  // namespace campipe
