#include "stages/sources/source_address.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/ascii_case.h"
#include "core/unescaped_password.h"
#include "core/url_text.h"
#include "stages/sources/source_kind.h"

namespace campipe {
namespace {

constexpr std::string_view mark = "://";

void read_port(std::string_view text, SourceAddress& address) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  address.bad_port = error != std::errc{} || end != text.data() + text.size() || port < 1 || port > 65535;
  if (!address.bad_port) address.port = port;
}

}  // namespace

SourceAddress split_address(const std::string& url) {
  SourceAddress address;
  const auto at = url.find(mark);
  if (at == std::string::npos) return address;
  address.scheme = lower_case(std::string_view(url).substr(0, at));
  std::string_view rest = std::string_view(url).substr(at + mark.size());
  if (const auto question = rest.find('?'); question != std::string_view::npos) {
    address.query = rest.substr(question + 1);
  }
  rest = rest.substr(0, rest.find_first_of("/?#"));
  if (const auto user = rest.rfind('@'); user != std::string_view::npos) rest = rest.substr(user + 1);
  if (const auto bracket = rest.find(']'); rest.starts_with('[') && bracket != std::string_view::npos) {
    address.host = rest.substr(1, bracket - 1);
    if (rest.substr(bracket + 1).starts_with(':')) read_port(rest.substr(bracket + 2), address);
    return address;
  }
  const auto colon = rest.rfind(':');
  address.host = rest.substr(0, colon);
  if (colon != std::string_view::npos) read_port(rest.substr(colon + 1), address);
  return address;
}

std::string with_small_scheme(const std::string& url) {
  const auto at = std::min(url.find(mark), url.size());
  return at < url.size() ? lower_case(std::string_view(url).substr(0, at)) + url.substr(at) : url;
}

bool same_origin(const std::string& a, const std::string& b) {
  const SourceAddress one = split_address(a);
  const SourceAddress other = split_address(b);
  const SourceScheme* scheme = find_source_scheme(one.scheme);
  if (scheme == nullptr || one.scheme != other.scheme || one.bad_port || other.bad_port) return false;
  const auto port_of = [&](const SourceAddress& address) { return address.port > 0 ? address.port : scheme->port; };
  return lower_case(one.host) == lower_case(other.host) && port_of(one) == port_of(other);
}

std::string redirected(const std::string& url, const std::string& location) {
  const auto begin = url.find(mark) + mark.size();
  const auto path = std::min(url.find_first_of("/?#", begin), url.size());
  if (location.starts_with("//")) return redirected(url, url.substr(0, begin - 2) + location);
  if (location.starts_with('/')) return url.substr(0, path) + location;
  if (location.find(mark) == std::string::npos) {
    const std::string_view folder = std::string_view(url).substr(0, std::min(url.find_first_of("?#"), url.size()));
    const auto slash = folder.rfind('/');
    return (slash > begin && slash != std::string_view::npos ? url.substr(0, slash) : url.substr(0, path)) + "/" +
           location;
  }
  if (!same_origin(url, location)) return location;
  const std::string_view host = std::string_view(location).substr(location.find(mark) + mark.size());
  const auto rest = std::min(host.find_first_of("/?#"), host.size());
  return url.substr(0, path) + std::string(host.substr(rest));
}

// A name with a dot is one of a host where more follows: alone it is a file's.
std::optional<std::string> likely_url(const std::string& path) {
  const SourceAddress address = split_address("rtsp://" + path);
  const std::string& host = address.host;
  const std::size_t slash = path.find('/');
  const bool more = slash != std::string::npos || address.port > 0 || path.find('@') < slash;
  const bool number = is_host_in_numbers(host);
  const bool literal = path.starts_with('[') && host.find(':') != std::string::npos;
  const bool name =
      host.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") == std::string::npos &&
      host.find_first_not_of('.') != std::string::npos && !host.starts_with('.');
  const bool dotted = host.find('.') != std::string::npos;
  if (!number && !literal && !(name && (address.port > 0 || (dotted && more)))) return std::nullopt;
  const std::string shown = literal ? "[" + host + "]" : host;
  const std::string port = address.port > 0 ? ":" + std::to_string(address.port) : "";
  return "rtsp://" + shown + port + (slash != std::string::npos ? "/…" : "");
}

std::optional<std::string> check_stream_url(const std::string& url) {
  const SourceAddress address = split_address(url);
  const SourceScheme* scheme = find_source_scheme(address.scheme);
  if (scheme == nullptr) return unknown_scheme_text(address.scheme);
  const std::string expected = ", expected " + std::string(scheme->example);
  // Not shown: what stands where the port belongs may be a password.
  if (address.bad_port) {
    return "the port of this " + address.scheme + ":// source is not a number from 1 to 65535" + expected +
           " (in a password, " + password_escapes + ")";
  }
  if (has_unescaped_password(url)) {
    return "this " + address.scheme + ":// source has '@' behind its host and port" + expected + " (in a password, " +
           password_escapes + "; an '@' of a path or query is written %40)";
  }
  if (address.host.starts_with('['))
    return "the host of this " + address.scheme + ":// source has '[' without ']'" + expected;
  if (scheme->needs_host && address.host.empty()) return "'" + address.scheme + "://' has no host" + expected;
  if (scheme->needs_port && address.port < 0) return "'" + shown_url(url) + "' has no port" + expected;
  return std::nullopt;
}

}  // namespace campipe
