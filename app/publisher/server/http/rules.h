// What is accepted of a request, as plain functions: its target, where it comes from, what it wants to see. All of
// it is bytes from outside.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/publisher/server/http/server.h"

namespace campipe {

// The headers that matter here, and what else is known before anything is decided.
struct HttpFacts {
  std::string method;
  std::string target;
  std::string address;  // the peer's
  bool secure = false;
  std::string host;
  std::string origin;
  struct Fetch {  // Sec-Fetch-…: browsers send it
    std::string mode;
    std::string site;
  } fetch;
  struct Forwarded {  // X-Forwarded-…: of any sender, unless a proxy of ours sent it
    std::string addresses;
    std::string proto;
    std::string prefix;
  } forwarded;
  std::string base;  // HttpRequest::base
  struct Credentials {
    std::string cookie;
    std::string authorization;
    std::string csrf;
  } credentials;
  struct Conditions {  // what of a file is sent
    std::string range;
    std::string if_range;
    std::string if_none_match;
  } conditions;
  struct Node {  // Campipe-…: for whom another node of the cluster asks. Counts at a node's door only
    std::string user;
    std::string visitor;  // "1": for whoever comes to a node without users
    std::string own;      // "1": for itself
  } node;
  std::string accept;
  std::string accept_encoding;
  std::string body;
  bool browser = false;  // its User-Agent is one. Browsers send Sec-Fetch-… over TLS and to loopback alone
  bool upgrade = false;  // to WebSocket
};

struct HttpTarget {
  std::string path;  // decoded
  std::map<std::string, std::string> query;
  std::string duplicate;  // a parameter that stands there twice; empty: there is none
};
// From a path to the root, as a relative address: "./" from "/system", "../" from "/camera/dock". A browser behind a
// proxy may see both below another path.
std::string way_to_root(std::string_view path);
// None: it is no path from the root, or has parts ("..", bytes below 32, a '/' in disguise) that no path of ours has.
std::optional<HttpTarget> parse_target(std::string_view target);

// The values of a cookie in a header `Cookie`, eight at most. Several may have one name: those of another path or of
// the whole site, which another server of the host may have set.
std::vector<std::string> cookies_of(std::string_view header, std::string_view name);

// Whether a header `Host` names this machine: a loopback name, any address as such, one of `own` (hosts, whose ports do
// not matter), or the machine's own name. A foreign page whose name server gives this machine's address for its own
// name does not.
bool is_own_host(std::string_view host, const std::vector<std::string>& own);
// The port in a header `Host`; 0: there is none.
std::uint16_t port_of(std::string_view host);
// Whether a header `Origin` is of the same host and port as `Host`.
bool is_same_origin(std::string_view origin, std::string_view host);

// What of a camera is asked for by /cameras/NAME/WHAT.
struct CameraPath {
  std::string camera;
  std::string what;
};
std::optional<CameraPath> parse_camera_path(std::string_view path);

// What a viewer asks for over the WebSocket. Other messages are ignored.
enum class ViewerWish : std::uint8_t { nothing, pause, resume };
ViewerWish parse_viewer_wish(std::string_view text);

// {"error": text}
HttpAnswer http_error(int status, const std::string& text);
// 405. `allowed`: what is, for the header Allow.
HttpAnswer method_not_allowed(const std::string& allowed = "GET, HEAD");
HttpAnswer http_busy(const std::string& why, int retry_after_s);
// `camera`: whose recordings lie there; empty: that is not known.
HttpAnswer no_answer_from_disk(const std::string& camera);

}  // namespace campipe
