#include "core/srt_address.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "core/ffmpeg.h"
#include "core/url_text.h"

namespace campipe {
namespace {

constexpr std::size_t shortest_passphrase = 10;  // SRTO_PASSPHRASE
constexpr std::size_t longest_passphrase = 79;
constexpr std::size_t longest_stream_id = 512;  // SRTO_STREAMID
constexpr std::string_view stream_id = "streamid";

struct Field {
  std::string_view text;
  std::string_view name;
  std::string_view value;
};

bool is_option(std::string_view name) {
  const AVClass* of_srt = avio_protocol_get_class("srt");
  if (of_srt == nullptr) return true;
  return av_opt_find(static_cast<void*>(&of_srt), std::string(name).c_str(), nullptr, 0, AV_OPT_SEARCH_FAKE_OBJ) !=
         nullptr;
}

std::vector<Field> fields_of(std::string_view url) {
  std::vector<Field> fields;
  const auto question = url.find('?');
  if (question == std::string_view::npos) return fields;
  for (std::string_view rest = url.substr(question + 1); !rest.empty();) {
    std::string_view field = rest.substr(0, rest.find('&'));
    const auto equal = field.find('=');
    while (field.substr(0, equal) == stream_id && field.size() < rest.size()) {
      const std::string_view next = rest.substr(field.size() + 1);
      const auto end = next.find('&');
      const std::string_view name = next.substr(0, std::min(end, next.find('=')));
      if (name.empty() || is_option(name)) break;
      field = rest.substr(0, field.size() + 1 + std::min(end, next.size()));
    }
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
    if (field.name == stream_id) {
      address.stream_id = decoded(field.value);
      address.written_stream_ids.emplace_back(field.value);
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
  if (address.stream_id && address.stream_id->size() > longest_stream_id) {
    return "the streamid of this srt:// address has " + std::to_string(address.stream_id->size()) +
           " characters; SRT takes 512";
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
