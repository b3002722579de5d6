// Headers that decide whose a request is: the first line is Host, the second Origin, the third Cookie, the fourth
// If-None-Match.
#include "app/publisher/server/http/files.h"
#include "app/publisher/server/http/rules.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

void check_hosts(const std::string& host, const std::string& origin) {
  const auto mark = origin.find("://");
  if (is_same_origin(origin, host)) {
    require(mark != std::string::npos, "an origin has a scheme", origin);
    require(is_own_host(origin.substr(mark + 3), {}) == is_own_host(host, {}),
            "one of the same origin is ours as the host is", origin + " " + host);
  }
  if (!contains(host, ":") && !contains(host, "[")) {
    require(!is_own_host(host + ".other.example", {}), "a name below another's is not ours", host);
    require(!is_same_origin("http://" + host + ".other.example", host), "nor of the same origin", host);
    require(is_same_origin("http://" + host, host), "a host is of its own origin", host);
  }
}

void check_cookie(const std::string& header) {
  const std::string name = "campipe_session";
  for (const std::string& value : cookies_of(header, name)) {
    require(!contains(value, ";"), "a cookie ends before the next", header);
    require(contains(header, name + "=" + value), "a cookie stands in the header", header);
  }
}

void check_etag(const std::string& header) {
  const std::string tag = "\"120-1.5\"";
  const bool named = contains(header, tag) || contains(header, "*");
  require(!matches_etag(header, tag) || named, "a tag that matches stands in the header", header);
  require(matches_etag(header + "," + tag, tag) && matches_etag(tag + "," + header, tag), "a tag is found", header);
}

void check(std::string input) {
  const std::string host = take_line(input);
  check_hosts(host, take_line(input));
  check_cookie(take_line(input));
  check_etag(input);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
