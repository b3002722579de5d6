// The Cookie header of a browser that has logged in.
#pragma once

#include <string>

#include "app/publisher/server/session_cookie.h"

namespace campipe::test {

// At the usual port. `token`: the session's.
inline std::string cookie_line(const std::string& token) {
  return "Cookie: " + session_cookie_name(0) + "=" + token + "\r\n";
}

}  // namespace campipe::test
