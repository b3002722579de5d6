#include "app/publisher/server/http/rules.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "app/config/address.h"
#include "core/ascii_case.h"

namespace campipe {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// None: a broken escape, or a byte that no name has.
std::optional<std::string> decode(std::string_view text, bool is_query) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && is_query) c = ' ';
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      if (c == '/' && !is_query) return std::nullopt;
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 32 || c == 127) return std::nullopt;
    out += c;
  }
  return out;
}

bool has_dots(std::string_view path) {
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    if (part == "." || part == "..") return true;
    path.remove_prefix(std::min(path.size(), part.size() + 1));
  }
  return false;
}

struct Authority {
  std::string host;  // in lower case; IPv6 without its brackets
  std::string port;
};

Authority parse_authority(std::string_view text) {
  const std::string all = lower_case(text);
  const bool in_brackets = all.starts_with('[');
  const std::size_t end = in_brackets ? all.find(']') : 0;
  const std::size_t colon = end == std::string::npos ? end : all.find(':', end);
  std::string host = all.substr(0, colon);
  if (in_brackets && host.size() >= 2 && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {host, colon == std::string::npos ? "" : all.substr(colon + 1)};
}

std::string name_of_machine() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? lower_case(name.data()) : std::string();
}

}  // namespace

std::optional<HttpTarget> parse_target(std::string_view target) {
  const std::string_view raw_path = target.substr(0, target.find('?'));
  std::string_view rest = target.substr(std::min(target.size(), raw_path.size() + 1));
  const auto path = decode(raw_path, false);
  if (!path || !path->starts_with('/') || has_dots(*path)) return std::nullopt;
  HttpTarget parsed{*path, {}, {}};
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::string_view raw_key = item.substr(0, item.find('='));
    const auto key = decode(raw_key, true);
    const auto value = decode(item.substr(std::min(item.size(), raw_key.size() + 1)), true);
    if (!key || !value) return std::nullopt;
    if (!key->empty() && !parsed.query.emplace(*key, *value).second) parsed.duplicate = *key;
  }
  return parsed;
}

std::vector<std::string> cookies_of(std::string_view header, std::string_view name) {
  constexpr std::size_t most_of_a_cookie = 8;
  std::vector<std::string> values;
  while (!header.empty() && values.size() < most_of_a_cookie) {
    std::string_view item = header.substr(0, header.find(';'));
    header.remove_prefix(std::min(header.size(), item.size() + 1));
    while (item.starts_with(' ')) item.remove_prefix(1);
    if (item.starts_with(name) && item.substr(name.size()).starts_with('='))
      values.emplace_back(item.substr(name.size() + 1));
  }
  return values;
}

std::string way_to_root(std::string_view path) {
  const auto deeper = std::ranges::count(path, '/') - 1;
  if (deeper < 1) return "./";
  std::string way;
  for (auto i = deeper; i > 0; --i) way += "../";
  return way;
}

bool is_own_host(std::string_view host, const std::vector<std::string>& own) {
  const std::string name = parse_authority(host).host;
  if (name == "localhost" || name.ends_with(".localhost") || is_address(name)) return true;
  if (std::ranges::any_of(own, [&](const std::string& one) { return parse_authority(one).host == name; })) return true;
  const std::string machine = name_of_machine();
  return !machine.empty() && (name == machine || name == machine + ".local");
}

std::uint16_t port_of(std::string_view host) {
  const std::string text = parse_authority(host).port;
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() ? port : 0;
}

bool is_same_origin(std::string_view origin, std::string_view host) {
  const std::size_t colon = origin.find("://");
  if (colon == std::string_view::npos) return false;
  const std::string scheme = lower_case(origin.substr(0, colon));
  if (scheme != "http" && scheme != "https") return false;
  const std::string usual = scheme == "https" ? "443" : "80";
  Authority from = parse_authority(origin.substr(colon + 3));
  Authority to = parse_authority(host);
  if (from.port.empty()) from.port = usual;
  if (to.port.empty()) to.port = usual;
  return from.host == to.host && from.port == to.port;
}

std::optional<CameraPath> parse_camera_path(std::string_view path) {
  constexpr std::string_view folder = "/cameras/";
  if (!path.starts_with(folder)) return std::nullopt;
  path.remove_prefix(folder.size());
  const std::size_t slash = path.find('/');
  if (slash == 0 || slash == std::string_view::npos) return std::nullopt;
  return CameraPath{std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

ViewerWish parse_viewer_wish(std::string_view text) {
  const auto message = nlohmann::json::parse(text, nullptr, false);
  if (!message.is_object() || !message.contains("type")) return ViewerWish::nothing;
  if (message["type"] == "pause") return ViewerWish::pause;
  return message["type"] == "resume" ? ViewerWish::resume : ViewerWish::nothing;
}

HttpAnswer http_error(int status, const std::string& text) {
  HttpAnswer answer;
  answer.status = status;
  answer.body = nlohmann::json{{"error", text}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return answer;
}

HttpAnswer method_not_allowed(const std::string& allowed) {
  HttpAnswer answer = http_error(405, "this method is not allowed here");
  answer.headers.emplace_back("Allow", allowed);
  return answer;
}

HttpAnswer http_busy(const std::string& why, int retry_after_s) {
  HttpAnswer answer = http_error(503, why);
  answer.headers.emplace_back("Retry-After", std::to_string(retry_after_s));
  return answer;
}

HttpAnswer no_answer_from_disk(const std::string& camera) {
  const std::string of = camera.empty() ? "recordings" : "the recordings of " + camera;
  return http_busy("the disk with " + of + " does not answer", 10);
}

}  // namespace campipe
