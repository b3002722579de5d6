#include "app/config/public_address.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "app/config/address.h"

namespace campipe {
namespace {

constexpr std::size_t longest = 256;
constexpr std::string_view marks = ".-_~";

constexpr std::array<std::string_view, 11> own_paths{"/api",        "/camera", "/cameras", "/healthz",
                                                     "/live",       "/login",  "/metrics", "/readyz",
                                                     "/recordings", "/static", "/system"};

bool may_stand_in_path(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         marks.find(c) != std::string_view::npos;
}

}  // namespace

bool is_base_path(const std::string& text) {
  if (!text.starts_with('/') || text.size() > longest) return false;
  std::string_view rest(text);
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the slash
    const std::string_view part = rest.substr(0, rest.find('/'));
    if (part.empty() || part == "." || part == ".." || !std::ranges::all_of(part, may_stand_in_path)) return false;
    rest.remove_prefix(part.size());
  }
  return true;
}

bool is_own_path(std::string_view path) {
  return std::ranges::find(own_paths, path.substr(0, path.find('/', 1))) != own_paths.end();
}

bool is_public_host(const std::string& text) {
  if (text.size() > longest) return false;
  const bool has_port = text.rfind(':') != std::string::npos && !text.ends_with(']');
  const auto place = split_listen_address(has_port ? text : text + ":443");
  return place && !place->host.empty() && place->port != 0;
}

}  // namespace campipe
