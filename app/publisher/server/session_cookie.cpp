#include "app/publisher/server/session_cookie.h"

namespace campipe {

std::string session_cookie_name(std::uint16_t port, SessionKind kind) {
  const std::string name = kind == SessionKind::wall ? "campipe_wall" : "campipe_session";
  return port == 0 ? name : name + "_" + std::to_string(port);
}

std::string session_cookie_text(const std::string& token, const HttpRequest& request, SessionKind kind,
                                std::chrono::seconds longest) {
  return session_cookie_name(request.port, kind) + "=" + token + "; Path=" + request.base +
         "/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(longest.count()) +
         (request.secure ? "; Secure" : "");
}

}  // namespace campipe
