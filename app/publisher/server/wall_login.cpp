#include "app/publisher/server/wall_login.h"

#include <string>

#include "app/config/token_hash.h"
#include "app/publisher/server/http/rules.h"
#include "app/publisher/server/session_cookie.h"
#include "core/url_text.h"

namespace campipe {
namespace {

// Relative to the page's address: a proxy may have the rig below a path.
std::string address_without_token(const HttpRequest& request) {
  std::string query;
  for (const auto& [key, value] : request.query) {
    if (key != "token") query += (query.empty() ? "?" : "&") + percent_encoded(key) + "=" + percent_encoded(value);
  }
  return "./" + query;
}

}  // namespace

bool brings_token(const HttpRequest& request) {
  return request.method == "GET" && !request.is_head && request.path == "/" && request.query.contains("token");
}

HttpAnswer log_in_wall(const HttpRequest& request, Access& access) {
  const std::string& token = request.query.at("token");
  HttpAnswer answer;
  answer.status = 303;
  answer.type = "text/plain; charset=utf-8";
  answer.headers = {{"Cache-Control", "no-store"}, {"Location", address_without_token(request)}};
  if (!access.required()) return answer;
  const auto identity = token.size() >= shortest_token ? access.check_token(token) : std::nullopt;
  if (!identity) {
    answer.headers.back().second = "./login?token=unknown";
  } else if (request.identity.user != identity->user || !access.is_wall(request.identity)) {
    const Access::Session session = access.open_session(*identity, SessionKind::wall);
    if (session.token.empty()) {
      const std::string most = std::to_string(Sessions::most_of_a_user);
      return http_busy(most + " screens are on with this token; make another user's", 60);
    }
    answer.headers.emplace_back("Set-Cookie",
                                session_cookie_text(session.token, request, SessionKind::wall, session.longest));
  }
  return answer;
}

void renew_wall_cookie(const HttpRequest& request, Access& access, HttpAnswer& answer) {
  if (request.is_head || request.path != "/" || !access.is_wall(request.identity)) return;
  const auto longest = access.longest_session(SessionKind::wall);
  answer.headers.emplace_back("Set-Cookie", session_cookie_text(request.session, request, SessionKind::wall, longest));
}

}  // namespace campipe
