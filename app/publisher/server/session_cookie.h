// The cookies that carry a session's token. A wall's is another one than that of a login: a link with the token of a
// wall takes nobody's login away.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "app/publisher/server/http/server.h"
#include "app/publisher/server/sessions.h"

namespace campipe {

// For a page at this port of its host, as the browser sees it; 0: at the usual one. A browser sends a host's cookies to
// all of its ports, where there may be other rigs.
std::string session_cookie_name(std::uint16_t port, SessionKind kind = SessionKind::login);

// The value of a header Set-Cookie in the answer to `request`. `longest` 0: the browser forgets it.
std::string session_cookie_text(const std::string& token, const HttpRequest& request, SessionKind kind,
                                std::chrono::seconds longest);

}  // namespace campipe
