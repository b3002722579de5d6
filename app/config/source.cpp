// A camera's source: its keys, and which of them mean something for which kind of source.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "app/config/settings.h"
#include "stages/sources/numbered_pictures.h"
#include "stages/sources/source_address.h"

namespace campipe {
namespace {

bool read_ca_file(const YamlNode& node, SourceSettings& source, Report& report) {
  auto path = read_text(node, "a file of certificates (PEM)", report);
  if (path && ::access(path->c_str(), R_OK) != 0) {
    report.at(node, "the file " + shown(node) + " cannot be read: " + std::strerror(errno));
    path.reset();
  }
  return set(source.ca_file, node, std::move(path));
}

bool read_capture_rate(const YamlNode& node, SourceSettings& source, Report& report) {
  return set(source.capture_rate, node, read_number(node, {.min = 0.1, .max = 1000, .whole = false}, report));
}

bool read_capture_format(const YamlNode& node, SourceSettings& source, Report& report) {
  constexpr std::string_view expected = "FFmpeg's name of a pixel format or codec, such as yuyv422 or mjpeg";
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789_";
  auto text = read_text(node, expected, report);
  if (text && text->find_first_not_of(allowed) != std::string::npos) {
    refuse(node, expected, report);
    text.reset();
  }
  return set(source.capture_format, node, std::move(text));
}

using SourceKey = Key<SourceSettings>;
constexpr std::array<SourceKey, 2> tls_keys{
    {{"verify", choice_key<&SourceSettings::verify_certificate>}, {"ca_file", read_ca_file}}};
constexpr std::array<SourceKey, 4> capture_keys{{{"width", int_key<&SourceSettings::capture_width, 16, 16384>},
                                                 {"height", int_key<&SourceSettings::capture_height, 16, 16384>},
                                                 {"rate", read_capture_rate},
                                                 {"format", read_capture_format}}};

// What a source is, as far as its keys are concerned.
struct SourceKind {
  bool live = false;
  bool rtsp = false;
  bool with_tls = false;
  bool redirects = false;  // its server may send its reader elsewhere
  bool device = false;
  bool pictures = false;
};

SourceKind kind_of(const std::string& url) {
  const std::string scheme = split_address(url).scheme;
  return {is_live(url),
          scheme == "rtsp" || scheme == "rtsps",
          scheme == "rtsps" || scheme == "https",
          scheme.starts_with("rtsp") || scheme.starts_with("http"),
          is_capture_device(url),
          scheme.empty() && is_numbered_pictures(url)};
}

// In `defaults`, keys of other kinds of source simply do not apply.
template <typename T>
void check_fits(const Setting<T>& setting, bool fits, const std::string& whom, Report& report) {
  if (fits || !setting.value || setting.inherited > 0) return;
  report.at_key(*setting.node, "is only for " + whom + ", and this source is none; remove the key");
}

void check_kind(const CameraSettings& camera, Report& report) {
  const SourceKind kind = kind_of(*camera.url.value);
  const std::string files = "files and test patterns";
  const std::string devices = "capture devices (/dev/videoN)";
  check_fits(camera.loop, !kind.live, files, report);
  check_fits(camera.pace, !kind.live, files, report);
  check_fits(camera.rtsp_transport, kind.rtsp, "sources of rtsp:// and rtsps://", report);
  check_fits(camera.verify_certificate, kind.with_tls, "sources of rtsps:// and https://", report);
  check_fits(camera.ca_file, kind.with_tls, "sources of rtsps:// and https://", report);
  check_fits(camera.allow_redirects, kind.redirects, "sources of rtsp(s):// and http(s)://", report);
  check_fits(camera.capture_width, kind.device, devices, report);
  check_fits(camera.capture_height, kind.device, devices, report);
  check_fits(camera.capture_rate, kind.device || kind.pictures, devices + " and numbered pictures", report);
  check_fits(camera.capture_format, kind.device, devices, report);
}

// A device is asked for a size, not for a half of one.
void check_size(const CameraSettings& camera, std::set<const YamlNode*>& told, Report& report) {
  const auto& [width, height] = std::tie(camera.capture_width, camera.capture_height);
  if (!is_capture_device(*camera.url.value) || width.value.has_value() == height.value.has_value()) return;
  const YamlNode& given = *(width.value ? width : height).node;
  if (!told.insert(&given).second) return;
  report.at_key(given,
                std::string("needs `") + (width.value ? "height" : "width") + "` beside it; add it, or remove both");
}

// Of the two, what stands nearer to the camera is to blame.
void check_retries(const CameraSettings& camera, std::set<const YamlNode*>& told, Report& report) {
  const auto& [interval, max] = std::tie(camera.retry_interval, camera.retry_max);
  if (!interval.value || !max.value || *interval.value <= *max.value) return;
  const bool blame_max = max.inherited <= interval.inherited;
  const YamlNode& node = blame_max ? *max.node : *interval.node;
  if (!told.insert(&node).second) return;
  refuse(node,
         blame_max ? "at least `retry_interval`, which is " + shown(*interval.node)
                   : "at most `retry_max`, which is " + shown(*max.node),
         report);
}

void check_url(const CameraSettings& camera, std::set<const YamlNode*>& told, Report& report) {
  const YamlNode& node = *camera.url.node;
  if (!camera.url.value) return;
  if (const auto problem = check_source(*camera.url.value)) {
    if (told.insert(&node).second) report.at(node, scrub(*problem, node));
  } else {
    check_kind(camera, report);
    check_size(camera, told, report);
  }
}

}  // namespace

bool read_source(const YamlNode& node, SourceSettings& source, Report& report) {
  return set(source.url, node, read_text(node, "a file, /dev/videoN, a URL or test://pattern?…", report));
}

bool read_tls(const YamlNode& node, SourceSettings& source, Report& report) {
  return read_map(node, std::span<const SourceKey>(tls_keys), source, report);
}

bool read_capture(const YamlNode& node, SourceSettings& source, Report& report) {
  return read_map(node, std::span<const SourceKey>(capture_keys), source, report);
}

std::vector<ConfigSection> source_sections() {
  return {{"tls", key_names(std::span<const SourceKey>(tls_keys))},
          {"capture", key_names(std::span<const SourceKey>(capture_keys))}};
}

SourceSettings merge(const SourceSettings& own, const SourceSettings& defaults) {
  SourceSettings merged;
  merged.url = merge(own.url, defaults.url);
  merged.stream = merge(own.stream, defaults.stream);
  merged.audio = merge(own.audio, defaults.audio);
  merged.rtsp_transport = merge(own.rtsp_transport, defaults.rtsp_transport);
  merged.read_timeout = merge(own.read_timeout, defaults.read_timeout);
  merged.retry_interval = merge(own.retry_interval, defaults.retry_interval);
  merged.retry_max = merge(own.retry_max, defaults.retry_max);
  merged.verify_certificate = merge(own.verify_certificate, defaults.verify_certificate);
  merged.ca_file = merge(own.ca_file, defaults.ca_file);
  merged.allow_redirects = merge(own.allow_redirects, defaults.allow_redirects);
  merged.capture_width = merge(own.capture_width, defaults.capture_width);
  merged.capture_height = merge(own.capture_height, defaults.capture_height);
  merged.capture_rate = merge(own.capture_rate, defaults.capture_rate);
  merged.capture_format = merge(own.capture_format, defaults.capture_format);
  merged.loop = merge(own.loop, defaults.loop);
  merged.pace = merge(own.pace, defaults.pace);
  return merged;
}

SourceConfig source_config(const SourceSettings& source) {
  SourceConfig config;
  config.url = source.url.value.value_or("");
  if (source.url.node != nullptr) config.written = written_with_variables(*source.url.node);
  const SourceKind kind = kind_of(config.url);
  config.stream = source.stream.value;
  config.audio = source.audio.value.value_or(config.audio);
  config.read_timeout = source.read_timeout.value.value_or(config.read_timeout);
  if (!kind.live) {
    config.loop = source.loop.value.value_or(config.loop);
    config.pace = source.pace.value.value_or(config.pace);
  }
  if (kind.rtsp) config.rtsp_transport = source.rtsp_transport.value.value_or(config.rtsp_transport);
  if (kind.redirects) config.allow_redirects = source.allow_redirects.value.value_or(false);
  if (kind.with_tls) {
    config.verify_certificate = source.verify_certificate.value.value_or(config.verify_certificate);
    config.ca_file = source.ca_file.value.value_or(config.ca_file);
  }
  if (kind.device) {
    config.capture.width = source.capture_width.value.value_or(0);
    config.capture.height = source.capture_height.value.value_or(0);
    config.capture.format = source.capture_format.value.value_or("");
  }
  if (kind.device || kind.pictures) config.capture.rate = source.capture_rate.value.value_or(0);
  return config;
}

void check_sources(const std::vector<CameraSettings>& cameras, Report& report) {
  std::set<const YamlNode*> told;
  for (const CameraSettings& camera : cameras) {
    if (camera.url.node != nullptr) {
      check_url(camera, told, report);
    } else if (!mistyped(*camera.node, "source", camera_sections().front().keys)) {
      report.at_key(*camera.node, "missing key 'source'");
    }
    check_retries(camera, told, report);
  }
}

}  // namespace campipe
