#include "stages/sources/control_urls.h"

#include <algorithm>

namespace campipe {
namespace {

constexpr std::string_view control = "a=control:";

// Where its path begins; its length, where it has none.
std::size_t path_of(std::string_view url, std::size_t scheme) {
  return std::min(url.find_first_of("/?", scheme + std::string_view("://").size()), url.size());
}

// Empty: the client reads it rightly. `appends`: it would append names to another URL.
std::string whole_url(std::string_view value, std::string_view base, bool of_track, bool appends) {
  const auto scheme = base.find("://");
  if (scheme == std::string_view::npos || value.find("://") != std::string_view::npos) return "";
  if (value == "*") return of_track ? std::string(base) : "";
  if (value.starts_with("//")) return std::string(base.substr(0, scheme + 1)).append(value);
  if (value.starts_with('/')) return std::string(base.substr(0, path_of(base, scheme))).append(value);
  if (value.starts_with('?')) return std::string(base.substr(0, base.find('?'))).append(value);
  return appends ? std::string(base).append(base.ends_with('/') ? "" : "/").append(value) : "";
}

}  // namespace

std::string with_whole_controls(std::string_view description, std::string_view base) {
  std::string changed;
  bool of_track = false;
  bool appends = false;
  while (!description.empty()) {
    const std::size_t size = std::min(description.find('\n'), description.size() - 1) + 1;
    const std::string_view line = description.substr(0, size);
    description.remove_prefix(size);
    of_track = of_track || line.starts_with("m=");
    std::string url;
    if (line.starts_with(control)) {
      const std::string_view rest = line.substr(control.size());
      const auto begin = std::min(rest.find_first_not_of(" \t"), rest.size());
      const auto end = std::min(rest.find_first_of(" \t\r\n", begin), rest.size());
      url = whole_url(rest.substr(begin, end - begin), base, of_track, appends);
      appends = appends || (!of_track && !url.empty());
    }
    changed += url.empty() ? std::string(line) : std::string(control) + url + "\r\n";
  }
  return changed;
}

}  // namespace campipe
