#include "core/error.h"
#include "stages/sources/file_source.h"
#include "stages/sources/pattern_source.h"

namespace campipe {
namespace {

bool has_scheme(const std::string& url) { return url.find("://") != std::string::npos; }

}  // namespace

std::unique_ptr<Source> open_source(const SourceConfig& config, const Source::Interrupt& interrupt) {
  if (is_pattern(config.url)) return open_pattern_source(config.url);
  return open_file_source(config.url, interrupt);
}

std::optional<std::string> check_source(const std::string& url) {
  if (is_pattern(url)) return check_pattern(url);
  if (has_scheme(url)) {
    return "this version reads files and test://pattern?width=…&height=…&rate=…, not '" +
           url.substr(0, url.find("://")) + "://'";
  }
  return check_file(url);
}

}  // namespace campipe
