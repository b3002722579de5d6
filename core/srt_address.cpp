#include "core/srt_address.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "core/url_text.h"

namespace campipe {
namespace {

constexpr std::size_t shortest_passphrase = 10;  // SRTO_PASSPHRASE
constexpr std::size_t longest_passphrase = 79;

struct Field {
  std::string_view text;
  std::string_view name;
  std::string_view value;
};

std::vector<Field> fields_of(std::string_view url) {
  std::vector<Field> fields;
  const auto question = url.find('?');
  if (question == std::string_view::npos) return fields;
  for (std::string_view rest = url.substr(question + 1); !rest.empty();) {
    const std::string_view field = rest.substr(0, rest.find('&'));
    const auto equal = field.find('=');
    fields.push_back({field, field.substr(0, equal), equal == std::string_view::npos ? "" : field.substr(equal + 1)});
    rest.remove_prefix(std::min(field.size() + 1, rest.size()));
  }
  return fields;
}

// As a field of a query: '+' is a space, as it is for FFmpeg.
std::string decoded(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return percent_decoded(spaced);
}

template <std::size_t count>
bool is_one_of(std::string_view value, const std::array<std::string_view, count>& values) {
  return std::ranges::find(values, value) != values.end();
}

}  // namespace

SrtAddress read_srt_address(const std::string& url) {
  SrtAddress address;
  address.url = url.substr(0, url.find('?'));
  char separator = '?';
  for (const Field& field : fields_of(url)) {
    if (field.name == "passphrase") {
      address.passphrase = decoded(field.value);
      continue;
    }
    address.url += separator + std::string(field.text);
    separator = '&';
  }
  return address;
}

std::optional<std::string> srt_problem(const std::string& url) {
  const SrtAddress address = read_srt_address(url);
  if (address.passphrase &&
      (address.passphrase->size() < shortest_passphrase || address.passphrase->size() > longest_passphrase)) {
    return "the passphrase of this srt:// address has " + std::to_string(address.passphrase->size()) +
           " characters; SRT takes 10 to 79 (in it, '&' is written %26, '#' %23, '+' %2B and '%' %25)";
  }
  for (const Field& field : fields_of(url)) {
    if (field.name == "pbkeylen" && !is_one_of<3>(field.value, {"16", "24", "32"})) {
      return "pbkeylen of this srt:// address is not 16, 24 or 32";
    }
    if (field.name == "mode" && !is_one_of<3>(field.value, {"caller", "listener", "rendezvous"})) {
      return "mode of this srt:// address is not caller, listener or rendezvous";
    }
  }
  return std::nullopt;
}

}  // namespace campipe
