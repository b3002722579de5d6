#include "app/publisher/server/session_cookie.h"

namespace campipe {

std::string session_cookie_name(std::uint16_t port) {
  return port == 0 ? "campipe_session" : "campipe_session_" + std::to_string(port);
}

std::string session_cookie_text(const std::string& token, const HttpRequest& request, std::chrono::seconds longest) {
  return session_cookie_name(request.port) + "=" + token + "; Path=" + request.base +
         "/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(longest.count()) +
         (request.secure ? "; Secure" : "");
}

}  // namespace campipe
