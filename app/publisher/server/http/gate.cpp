#include "app/publisher/server/http/gate.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "app/config/address.h"
#include "app/config/public_address.h"
#include "app/publisher/server/http/compression.h"
#include "app/publisher/server/http/live_place.h"
#include "app/publisher/server/session_cookie.h"
#include "core/passwords.h"

namespace campipe {
namespace {

bool only_reads(const std::string& method) { return method == "GET" || method == "HEAD"; }

bool fits(const std::string& path, const std::string& prefix) {
  if (!path.starts_with(prefix)) return false;
  return prefix.ends_with('/') || path.size() == prefix.size() || path[prefix.size()] == '/';
}

// Where a person waits, the page in which to log in; else the reason. `path`: below http_base.
HttpAnswer want_login(const HttpFacts& facts, const std::string& path) {
  const bool is_page = facts.fetch.mode == "navigate" ||
                       (facts.fetch.mode.empty() && facts.accept.find("text/html") != std::string::npos);
  if (facts.method == "GET" && is_page) {
    HttpAnswer answer;
    answer.status = 303;
    answer.type = "text/plain";
    answer.headers.emplace_back("Location", way_to_root(path) + "login");
    return answer;
  }
  HttpAnswer answer = http_error(401, "log in first");
  // In a browser this would open its own dialogue over the page's.
  if (facts.fetch.mode.empty() && !facts.browser)
    answer.headers.emplace_back("WWW-Authenticate", "Basic realm=\"campipe\", charset=\"UTF-8\"");
  return answer;
}

// Relative addresses of a page need the slash. `target`: with its query.
HttpAnswer with_end(const std::string& base, const std::string& target) {
  HttpAnswer answer;
  answer.status = 308;
  answer.type = "text/plain";
  const std::size_t query = std::min(target.find('?'), target.size());
  answer.headers.emplace_back("Location", "." + base.substr(base.rfind('/')) + "/" + target.substr(query));
  return answer;
}

HttpAnswer too_many(int retry_after_s) {
  HttpAnswer answer = http_error(429, "too many failed logins; try again in " + std::to_string(retry_after_s) + " s");
  answer.headers.emplace_back("Retry-After", std::to_string(retry_after_s));
  return answer;
}

}  // namespace

HttpGate::HttpGate(const ServerConfig& config, Access& access, const std::vector<HttpServer::Route>& routes,
                   bool is_door)
    : is_door_(is_door),
      has_tls_(config.tls.has_value()),
      base_(config.http_base),
      hosts_(config.http_hosts),
      own_hosts_(hosts_),
      access_(access),
      routes_(routes) {
  const auto address = split_listen_address(config.http_address);
  if (address && !address->host.empty()) own_hosts_.push_back(address->host);
  for (const std::string& proxy : config.trusted_proxies) {
    if (const auto range = parse_address_range(proxy)) proxies_.push_back(*range);
  }
}

HttpGate::Verdict HttpGate::judge(HttpFacts facts, const Access::Result& checked) const {
  return judge_by(std::move(facts), [&checked](const HttpFacts&) { return std::optional(checked); });
}

Access::Result HttpGate::check_password(const HttpFacts& facts) const {
  return access_.check_authorization(facts.credentials.authorization, facts.address);
}

std::string HttpGate::key_of(const HttpFacts& facts) const { return access_.key_of(facts.credentials.authorization); }

HttpGate::Verdict HttpGate::judge_quickly(HttpFacts facts) const {
  return judge_by(std::move(facts), [this](const HttpFacts& given) {
    return access_.check_authorization_quickly(given.credentials.authorization, given.address);
  });
}

HttpGate::Verdict HttpGate::judge_by(HttpFacts facts, const CheckAuthorization& check) const {
  Verdict verdict;
  Passed& passed = verdict.passed;
  verdict.refusal = refuse_stranger(facts);
  if (verdict.refusal) return verdict;
  auto target = parse_target(facts.target);
  if (!target) {
    verdict.refusal = http_error(400, "there is nothing at this address");
    return verdict;
  }
  if (!target->duplicate.empty()) {
    verdict.refusal = http_error(400, "duplicate parameter '" + shown_name(target->duplicate) + "'");
    return verdict;
  }
  passed.request.base = facts.base;
  if (!base_.empty() && target->path == base_) {
    verdict.refusal = with_end(base_, facts.target);
    return verdict;
  }
  if (!base_.empty() && target->path.starts_with(base_ + "/")) {
    passed.request.base = base_;
    target->path.erase(0, base_.size());
  }
  passed.request.path = std::move(target->path);
  passed.request.query = std::move(target->query);
  passed.request.is_head = facts.method == "HEAD";
  passed.request.method = passed.request.is_head ? "GET" : facts.method;
  passed.request.address = facts.address;
  passed.request.port = port_of(facts.host);
  passed.request.secure = facts.secure;
  passed.request.takes_gzip = takes_gzip(facts.accept_encoding);
  passed.request.from_node = is_door_;
  passed.camera = parse_camera_path(passed.request.path);
  if (!passed.camera) passed.route = find_route(passed.request.path);
  if (!(is_door_ ? identify_for_node(facts, verdict) : identify(facts, check, verdict))) return verdict;
  verdict.refusal = refuse_forgery(facts, passed);
  if (verdict.refusal) return verdict;
  if (!passed.camera && passed.route == nullptr) {
    verdict.refusal = http_error(404, "there is nothing at this address");
  } else if (passed.camera && !passed.request.identity.may(Permission::view, passed.camera->camera)) {
    verdict.refusal = http_error(404, no_such_stream);  // as for one that does not exist
  }
  passed.request.body = std::move(facts.body);
  return verdict;
}

// A proxy that passes on a `Host` of its own leaves only the page's origin to compare.
bool HttpGate::is_our_page(const HttpFacts& facts) const {
  return is_same_origin(facts.origin, facts.host) ||
         std::ranges::any_of(hosts_, [&](const std::string& host) { return is_same_origin(facts.origin, host); });
}

// A page of another site, opened in the browser of a user, must not get in with that user's login.
std::optional<HttpAnswer> HttpGate::refuse_stranger(const HttpFacts& facts) const {
  // Browsers send the origin of modules, too. They are anybody's, and without them nobody reads what is wrong.
  const bool is_static = only_reads(facts.method) && !facts.upgrade &&
                         (facts.target.starts_with("/static/") || facts.target.starts_with(base_ + "/static/"));
  if (!facts.origin.empty() && !is_our_page(facts) && !is_static) {
    return http_error(403,
                      "requests from other sites' pages are refused. If this is the rig's own page behind a proxy: the "
                      "proxy has to pass on `Host`, or `http_hosts` has to name the host");
  }
  if (facts.fetch.site == "cross-site" && (facts.upgrade || !only_reads(facts.method))) {
    return http_error(403, "requests from other sites' pages are refused");
  }
  if (is_door_ && (!facts.origin.empty() || !facts.fetch.site.empty() || !facts.fetch.mode.empty()))
    return http_error(403, "this is for the other nodes of the cluster, and no browser is one");
  // No host: a request of HTTP/1.0, as monitors of load balancers make; no browser does.
  const bool is_known_otherwise = is_door_ ? has_tls_ : access_.required();
  if (is_known_otherwise || facts.host.empty() || is_own_host(facts.host, own_hosts_)) return std::nullopt;
  return http_error(403,
                    "without users, this is reached only by address, as localhost, by the machine's name, or by "
                    "the hosts that http_address and http_hosts name");
}

const HttpServer::Route* HttpGate::find_route(const std::string& path) const {
  const HttpServer::Route* best = nullptr;
  for (const HttpServer::Route& route : routes_) {
    if (fits(path, route.prefix) && (best == nullptr || route.prefix.size() > best->prefix.size())) best = &route;
  }
  return best;
}

// False: `verdict` has the refusal.
bool HttpGate::identify(const HttpFacts& facts, const CheckAuthorization& check, Verdict& verdict) const {
  Passed& passed = verdict.passed;
  HttpRequest& request = passed.request;
  if (!access_.required()) {
    const auto result =
        facts.credentials.authorization.empty() ? Access::Result() : check(facts).value_or(Access::Result());
    request.identity = result.identity.value_or(Identity::visitor());
    return true;
  }
  for (const SessionKind kind : {SessionKind::login, SessionKind::wall}) {
    for (const std::string& token : cookies_of(facts.credentials.cookie, session_cookie_name(request.port, kind))) {
      auto identity = access_.find_session(token);
      if (!identity) continue;
      request.identity = std::move(*identity);
      request.session = token;
      return true;
    }
  }
  if (passed.route != nullptr && passed.route->anyone) return true;
  auto result = facts.credentials.authorization.empty() ? Access::Result() : check(facts);
  verdict.unclear = !result;
  if (!result) return false;
  if (!result->identity) {
    const bool waits = result->refusal == Access::Refusal::too_many;
    verdict.refusal = waits ? too_many(result->retry_after_s) : want_login(facts, request.path);
    return false;
  }
  request.identity = std::move(*result->identity);
  return true;
}

// Without TLS whoever has an account on this machine could name any user.
bool HttpGate::identify_for_node(const HttpFacts& facts, Verdict& verdict) const {
  Identity& identity = verdict.passed.request.identity;
  if (!has_tls_ && access_.required()) {
    verdict.refusal = http_error(403, "this node has users: it lets other nodes in with `cluster.tls` only");
  } else if (!facts.node.user.empty()) {
    const auto user = access_.identity_of(facts.node.user);
    if (user)
      identity = *user;
    else
      verdict.refusal = http_error(403, "the camera's node has no such user");
  } else if (facts.node.visitor == "1") {
    identity = Identity::visitor();
    if (access_.required()) verdict.refusal = http_error(403, "the camera's node has users, and this one has none");
  } else if (facts.node.own == "1") {
    identity = Identity::node();
  } else {
    verdict.refusal = http_error(403, "the request names no user");
  }
  return !verdict.refusal;
}

// A browser sends its cookie with whatever page makes it send a request; only our own page knows the token.
std::optional<HttpAnswer> HttpGate::refuse_forgery(const HttpFacts& facts, const Passed& passed) const {
  if (passed.request.session.empty() || only_reads(facts.method)) return std::nullopt;
  if (passed.route != nullptr && passed.route->anyone) return std::nullopt;
  if (access_.is_csrf_token(passed.request.session, facts.credentials.csrf)) return std::nullopt;
  return http_error(403, "the header X-CSRF-Token is missing or wrong; load the page again");
}

bool HttpGate::still_may(const Passed& passed) const {
  const Identity& identity = passed.request.identity;
  if (passed.camera) return may_view(identity, passed.camera->camera);
  if (passed.route != nullptr && passed.route->anyone) return true;
  return passed.looks_itself ? access_.still_valid(identity) : access_.still_may_all(identity);
}

bool HttpGate::may_view(const Identity& identity, const std::string& camera) const {
  return access_.still_may(identity, Permission::view, camera);
}

bool HttpGate::is_proxy(const std::string& address) const {
  if (is_door_) return true;
  return std::ranges::any_of(proxies_, [&](const AddressRange& range) { return range.contains(address); });
}

// The last one in the header is whom our own proxy saw; it may be a proxy of ours as well. What is written before the
// first stranger may be that stranger's invention.
void HttpGate::note_peer(HttpFacts& facts, const std::string& address, bool tls) const {
  facts.address = address;
  facts.secure = tls;
  if (is_door_ && is_address(facts.forwarded.addresses)) facts.address = facts.forwarded.addresses;
  if (is_door_ || !is_proxy(address)) return;
  facts.base = is_base_path(facts.forwarded.prefix) ? facts.forwarded.prefix : base_;
  facts.secure = tls || facts.forwarded.proto == "https";
  std::string_view rest = facts.forwarded.addresses;
  while (!rest.empty() && is_proxy(facts.address)) {
    const std::size_t comma = rest.rfind(',');
    std::string_view last = comma == std::string_view::npos ? rest : rest.substr(comma + 1);
    rest = rest.substr(0, comma == std::string_view::npos ? 0 : comma);
    while (last.starts_with(' ')) last.remove_prefix(1);
    while (last.ends_with(' ')) last.remove_suffix(1);
    if (!is_address(std::string(last))) return;
    facts.address = last;
  }
}

}  // namespace campipe
