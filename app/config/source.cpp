// A camera's source: its values, and which of its keys mean something for which kind of source.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>

#include "app/config/key_table.h"
#include "app/config/reader.h"
#include "app/config/values.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace {

// Which keys of sources a scope means.
struct ScopeOfSources {
  KeyScope scope;
  SourceKeys keys;
};
constexpr std::array<ScopeOfSources, 6> scopes{{{KeyScope::files, SourceKeys::playback},
                                                {KeyScope::rtsp, SourceKeys::rtsp},
                                                {KeyScope::tls, SourceKeys::tls},
                                                {KeyScope::servers, SourceKeys::redirects},
                                                {KeyScope::devices, SourceKeys::device},
                                                {KeyScope::rates, SourceKeys::rate}}};

// Calls `each` for every key that was given and means nothing for this source.
template <typename Each>
void for_unfit_keys(const GivenCamera& camera, const Each& each) {
  for (const Key& key : keys_of<CameraConfig>()) {
    const auto scope = std::ranges::find(scopes, key.text.scope, &ScopeOfSources::scope);
    if (scope != scopes.end() && camera[key.path].good && !has_keys(camera.value.source.url, scope->keys))
      each(key, scope->keys);
  }
}

// In `defaults`, keys of other kinds of source simply do not apply.
void check_kind(const GivenCamera& camera, Report& report) {
  for_unfit_keys(camera, [&](const KeyInfo& key, SourceKeys keys) {
    const Origin& origin = camera[key.path];
    if (origin.inherited > 0) return;
    report.at_key(*origin.node, "is only for " + sources_with(keys) + ", and this source is none; remove the key");
  });
}

// A device is asked for a size, not for a half of one.
void check_size(const GivenCamera& camera, std::set<const YamlNode*>& reported, Report& report) {
  const Origin& width = camera["capture.width"];
  const Origin& height = camera["capture.height"];
  if (!has_keys(camera.value.source.url, SourceKeys::device) || width.good == height.good) return;
  const YamlNode& given = *(width.good ? width : height).node;
  if (!reported.insert(&given).second) return;
  report.at_key(given,
                std::string("needs `") + (width.good ? "height" : "width") + "` beside it; add it, or remove both");
}

// Of the two, what stands nearer to the camera is to blame.
void check_retries(const GivenCamera& camera, std::set<const YamlNode*>& reported, Report& report) {
  const Origin& interval = camera["retry_interval"];
  const Origin& max = camera["retry_max"];
  if (!interval.good || !max.good || camera.value.retry_interval <= camera.value.retry_max) return;
  const bool blame_max = max.inherited <= interval.inherited;
  const YamlNode& node = blame_max ? *max.node : *interval.node;
  if (!reported.insert(&node).second) return;
  refuse(node,
         blame_max ? "at least `retry_interval`, which is " + shown(*interval.node)
                   : "at most `retry_max`, which is " + shown(*max.node),
         report);
}

void check_url(const GivenCamera& camera, std::set<const YamlNode*>& reported, Report& report) {
  const Origin& source = camera["source"];
  if (!source.good) return;
  // A file's may be on a disk that does not answer.
  const auto problem = report.ask_disk([url = camera.value.source.url] { return check_source(url); });
  if (problem && *problem) {
    if (reported.insert(source.node).second) report.at(*source.node, scrub(**problem, *source.node));
  } else {
    const auto away = report.ask_disk([url = camera.value.source.url] { return source_not_now(url); });
    const auto reason = away.value_or("the source " + shown(*source.node) + " " + Report::does_not_answer);
    if (reason && camera.value.enabled) report.not_now(*source.node, scrub(*reason, *source.node));
    check_kind(camera, report);
    check_size(camera, reported, report);
  }
}

}  // namespace

std::optional<std::string> read_source(const YamlNode& node, Report& report) {
  return read_text(node, "a file, /dev/videoN, a URL or test://pattern?…", report);
}

std::optional<std::string> read_ca_file(const YamlNode& node, Report& report) {
  return read_file_name(node, "a file of certificates (PEM)", report);
}

std::optional<std::string> read_capture_format(const YamlNode& node, Report& report) {
  constexpr std::string_view expected = "FFmpeg's name of a pixel format or codec, such as yuyv422 or mjpeg";
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789_";
  auto text = read_text(node, expected, report);
  if (!text || text->find_first_not_of(allowed) == std::string::npos) return text;
  refuse(node, expected, report);
  return std::nullopt;
}

std::string sources_of(KeyScope scope) {
  const auto found = std::ranges::find(scopes, scope, &ScopeOfSources::scope);
  return found != scopes.end() ? sources_with(found->keys) : "";
}

void settle_source(const GivenCamera& given, CameraConfig& value) {
  if (const YamlNode* source = given["source"].node) value.source.written = written_with_variables(*source);
  const CameraConfig initial;
  for_unfit_keys(given, [&](const Key& key, SourceKeys /*keys*/) { copy_value(key, &value, &initial); });
  // One of them alone moves the other's default out of its way.
  const bool has_interval = given["retry_interval"].good;
  const bool has_max = given["retry_max"].good;
  if (!has_interval) value.retry_interval = std::min(value.retry_interval, value.retry_max);
  if (!has_max) value.retry_max = std::max(value.retry_max, value.retry_interval);
}

void check_sources(const std::vector<GivenCamera>& cameras, Report& report) {
  std::set<const YamlNode*> reported;
  for (const GivenCamera& camera : cameras) {
    if (camera["source"].node != nullptr) {
      check_url(camera, reported, report);
    } else if (!mistyped(*camera.node, "source", key_names<CameraConfig>())) {
      report.at_key(*camera.node, "missing key 'source'");
    }
    check_retries(camera, reported, report);
  }
}

}  // namespace campipe
