// A password in a URL whose '/', '?' or '#' ends the host before the password is over.
#pragma once

#include <string>

namespace campipe {

// "rtsp://viewer:2024/secret@10.0.0.11/cam": its host is 'viewer' and its port 2024, which is hardly meant. Hosts in
// numbers and localhost are no user's name.
bool has_unescaped_password(const std::string& url);
// For messages, behind "in a password, ".
inline constexpr const char* password_escapes = "'@' is written %40, ':' %3A, '/' %2F, '?' %3F, '#' %23 and '%' %25";

}  // namespace campipe
