// `codec: copy`: which keys have no meaning beside it; and `codec: auto`: which keep a stream from being copied.
#include <algorithm>
#include <set>

#include "app/config/settings.h"
#include "stages/sources/pattern_source.h"
#include "stages/sources/source_address.h"

namespace campipe {
namespace {

// What a map further out says for other cameras does not matter; what goes over `copy`, or stands beside it, does.
class CopyCheck {
 public:
  explicit CopyCheck(Report& report) : report_(report) {}

  void check(const NamedStream& named) {
    const StreamSettings& stream = *named.stream;
    const EncodeSettings& encode = stream.encode;
    codec_ = &encode.codec;
    refuse(encode.encoder);
    refuse(encode.preset);
    refuse(encode.bitrate);
    refuse(encode.crf);
    refuse(encode.gop);
    refuse(encode.latency);
    refuse(encode.threads);
    refuse(encode.options);
    const bool only_motion = stream.filters.value && stream.filters.value->size() == motion_filters(stream).size();
    if (!only_motion)
      refuse(stream.filters,
             "codec `copy` goes with no filter but `motion`; remove the others, or move them to one of `outputs` with "
             "another codec");
    refuse(stream.rate);
    if (named.stream == named.camera && skips_for_nobody(*named.camera)) refuse(named.camera->on_corrupt);
    refuse(stream.snapshot.path);
    refuse(stream.snapshot.every);
    if (named.camera->url.value && is_pattern(*named.camera->url.value)) {
      tell(*codec_->node, "a test pattern has nothing to copy, since no camera encoded it");
    }
  }

 private:
  // Damaged frames can be left out of what is decoded only.
  static bool skips_for_nobody(const CameraSettings& camera) {
    const auto outputs = camera.outputs.value.value_or(std::vector<OutputSettings>());
    const auto copied = [](const OutputSettings& output) { return is_copy(output.encode); };
    return camera.on_corrupt.value == OnCorrupt::skip && std::ranges::all_of(outputs, copied);
  }

  template <typename T>
  void refuse(const Setting<T>& setting,
              const std::string& why =
                  "does not go with codec `copy`, for which nothing is decoded or encoded; remove it, or move it to "
                  "one of `outputs` with another codec") {
    if (setting.node == nullptr || setting.inherited > codec_->inherited || !told_.insert(setting.node).second) return;
    report_.at_key(*setting.node, why);
  }

  void tell(const YamlNode& node, const std::string& message) {
    if (told_.insert(&node).second) report_.at(node, message);
  }

  Report& report_;
  const Setting<std::string>* codec_ = nullptr;
  std::set<const YamlNode*> told_;
};

}  // namespace

std::vector<FilterConfig> motion_filters(const StreamSettings& stream) {
  std::vector<FilterConfig> filters = stream.filters.value.value_or(std::vector<FilterConfig>());
  std::erase_if(filters, [](const FilterConfig& filter) { return filter.name != "motion"; });
  return filters;
}

bool is_plain(const CameraSettings& camera) {
  const EncodeSettings& encode = camera.encode;
  const auto given = [](const auto&... settings) { return ((settings.node != nullptr) || ...); };
  const bool for_encoder = given(encode.encoder, encode.preset, encode.bitrate, encode.crf, encode.gop, encode.latency,
                                 encode.threads, encode.options);
  const bool changed = camera.filters.value.value_or(std::vector<FilterConfig>()).size() > 0 ||
                       camera.rate.value.value_or(0) > 0 || camera.on_corrupt.value == OnCorrupt::skip;
  const std::string url = camera.url.value.value_or("");
  const bool raw = is_pattern(url) || (is_capture_device(url) && camera.capture_format.value != "h264");
  return !for_encoder && !changed && !given(camera.snapshot.path) && !raw;
}

void check_copies(const std::vector<CameraSettings>& cameras, Report& report) {
  CopyCheck check(report);
  for (const NamedStream& named : streams_of(cameras)) {
    if (is_copy(named.stream->encode)) check.check(named);
  }
}

}  // namespace campipe
