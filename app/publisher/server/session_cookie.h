// The cookie that carries a session's token.
#pragma once

#include <chrono>
#include <string>

#include "app/publisher/server/http/server.h"

namespace campipe {

inline constexpr const char* session_cookie = "campipe_session";

// The value of a header Set-Cookie in the answer to `request`. `longest` 0: the browser forgets it.
std::string session_cookie_text(const std::string& token, const HttpRequest& request, std::chrono::seconds longest);

}  // namespace campipe
