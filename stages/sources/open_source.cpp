// What there is to ask of any source, by its address: its kind knows.
#include <algorithm>

#include "core/passwords.h"
#include "core/written_url.h"
#include "stages/sources/source_config.h"
#include "stages/sources/source_end.h"
#include "stages/sources/source_kind.h"

namespace campipe {

bool is_live(const std::string& url) { return source_kind_of(url).live; }

bool can_end(const SourceConfig& config) {
  const SourceKind& kind = source_kind_of(config.url);
  return kind.can_end != nullptr && kind.can_end(config);
}

std::chrono::nanoseconds longest_pause(const SourceConfig& config) {
  const SourceKind& kind = source_kind_of(config.url);
  return kind.longest_pause != nullptr ? kind.longest_pause(config) : std::chrono::nanoseconds(0);
}

std::string shown_url(const std::string& url) {
  std::string shown = without_passwords(url);
  // Not redact_urls(): in a URL by itself a quote does not end the query.
  if (source_kind_of(url).hides_query) shown.resize(std::min(shown.find_first_of("?#"), shown.size()));
  return shown;
}

std::string shown_url(const SourceConfig& config) { return shown_url(written_url(config)); }

std::unique_ptr<Source> open_source(const SourceConfig& config, const Source::Interrupt& interrupt) {
  return source_kind_of(config.url).open(config, interrupt);
}

std::optional<std::string> check_source(const std::string& url) { return source_kind_of(url).check(url); }

std::optional<std::string> source_not_now(const std::string& url) {
  const SourceKind& kind = source_kind_of(url);
  return kind.not_now != nullptr ? kind.not_now(url) : std::nullopt;
}

}  // namespace campipe
