// Passwords in texts that hold URLs: FFmpeg's log lines, errors, what is shown of a configuration.
#pragma once

#include <string>

namespace campipe {

// `text` without the user and password of its URLs ("rtsp://user:secret@host" becomes "rtsp://host"), and with "***"
// for the values of fields that are named like a password ("?password=secret"). Where it is in doubt, it hides more.
std::string without_passwords(const std::string& text);

}  // namespace campipe
