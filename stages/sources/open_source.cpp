#include <algorithm>

#include "core/error.h"
#include "core/passwords.h"
#include "core/written_url.h"
#include "stages/sources/file_source.h"
#include "stages/sources/pattern_source.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_end.h"
#include "stages/sources/stream_source.h"

namespace campipe {
namespace {

bool has_scheme(const std::string& url) { return url.find("://") != std::string::npos; }

}  // namespace

bool is_live(const std::string& url) { return is_stream_url(url) || is_capture_device(url); }

bool can_end(const SourceConfig& config) {
  if (is_live(config.url)) return split_address(config.url).scheme.starts_with("http");
  return !config.loop && (!is_pattern(config.url) || pattern_ends(config.url));
}

std::string shown_url(const std::string& url) {
  std::string shown = without_passwords(url);
  // Not redact_urls(): in a URL by itself a quote does not end the query.
  if (is_stream_url(url)) shown.resize(std::min(shown.find_first_of("?#"), shown.size()));
  return shown;
}

std::string shown_url(const SourceConfig& config) { return shown_url(written_url(config)); }

std::unique_ptr<Source> open_source(const SourceConfig& config, const Source::Interrupt& interrupt) {
  if (is_pattern(config.url)) return open_pattern_source(config.url);
  if (is_live(config.url)) return open_stream_source(config, interrupt);
  return open_file_source(config, interrupt);
}

std::optional<std::string> check_source(const std::string& url) {
  if (is_pattern(url)) return check_pattern(url);
  if (is_capture_device(url)) return check_capture_device(url);
  if (has_scheme(url)) return check_stream_url(url);
  return check_file(url);
}

}  // namespace campipe
