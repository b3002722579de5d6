#include "stages/sources/source_kind.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "core/nearest_name.h"
#include "stages/sources/source_address.h"
#include "stages/sources/source_config.h"

namespace campipe {
namespace {

// In a function, so that it exists before the first file registers, whatever the order of initialisation.
std::vector<SourceKind>& kinds() {
  static std::vector<SourceKind> all;
  return all;
}

bool takes_others(const SourceKind& kind) { return kind.schemes.empty() && kind.takes == nullptr; }

bool has_scheme(const SourceKind& kind, std::string_view name) {
  return std::ranges::find(kind.schemes, name, &SourceScheme::name) != kind.schemes.end();
}

// "a", "a and b", "a, b and c"
std::string enumerated(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace

SourceKindRegistration::SourceKindRegistration(const SourceKind& kind) {
  for (const SourceKind& other : kinds()) {
    const auto also = [&](const SourceScheme& scheme) { return has_scheme(other, scheme.name); };
    if (other.name == kind.name || (takes_others(other) && takes_others(kind)) ||
        std::ranges::any_of(kind.schemes, also))
      throw std::logic_error("two kinds of sources, '" + std::string(other.name) + "' and '" + std::string(kind.name) +
                             "', have the same name or addresses");
  }
  const auto order = [](const SourceKind& one) { return std::tuple(one.place, one.name); };
  kinds().insert(std::ranges::upper_bound(kinds(), order(kind), {}, order), kind);
}

std::span<const SourceKind> source_kinds() { return kinds(); }

const SourceKind& source_kind_of(const std::string& url) {
  const std::string scheme = split_address(url).scheme;
  for (const SourceKind& kind : kinds()) {
    if (kind.takes != nullptr ? kind.takes(url) : has_scheme(kind, scheme)) return kind;
  }
  return *std::ranges::find_if(kinds(), takes_others);
}

const SourceScheme* find_source_scheme(std::string_view name) {
  for (const SourceKind& kind : kinds()) {
    const auto found = std::ranges::find(kind.schemes, name, &SourceScheme::name);
    if (found != kind.schemes.end()) return &*found;
  }
  return nullptr;
}

std::string unknown_scheme_text(const std::string& name) {
  std::vector<std::string_view> names;
  std::vector<std::string_view> written;
  for (const SourceKind& kind : kinds()) {
    for (const SourceScheme& scheme : kind.schemes) {
      names.push_back(scheme.name);
      if (kind.written.empty()) written.push_back(scheme.name);
    }
    if (!kind.written.empty()) written.push_back(kind.written);
  }
  return "there is no kind of source '" + name + "://'" + suggestion(name, names) +
         " (files are given as paths; there are " + enumerated(written) + ")";
}

bool has_keys(const std::string& url, SourceKeys keys) {
  return std::ranges::any_of(source_kind_of(url).keys, [&](const SourceKeysOf& of) {
    return of.keys == keys && (of.fits == nullptr || of.fits(url));
  });
}

std::string sources_with(SourceKeys keys) {
  std::vector<std::string_view> whom;
  for (const SourceKind& kind : kinds()) {
    for (const SourceKeysOf& of : kind.keys) {
      if (of.keys == keys) whom.push_back(of.whom);
    }
  }
  const bool urls = !whom.empty() && whom.front().ends_with("://");
  return (urls ? "sources of " : "") + enumerated(whom);
}

bool copied_by_default(const SourceConfig& config) {
  const SourceKind& kind = source_kind_of(config.url);
  return kind.no_copy.empty() && (kind.copied_by_default == nullptr || kind.copied_by_default(config));
}

bool keeps_time(const SourceConfig& config) { return is_live(config.url) || config.pace == Pace::realtime; }

}  // namespace campipe
