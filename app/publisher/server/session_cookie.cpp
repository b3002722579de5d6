#include "app/publisher/server/session_cookie.h"

namespace campipe {

std::string session_cookie_text(const std::string& token, const HttpRequest& request, std::chrono::seconds longest) {
  return std::string(session_cookie) + "=" + token + "; Path=" + request.base +
         "/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(longest.count()) +
         (request.secure ? "; Secure" : "");
}

}  // namespace campipe
