// Passwords in texts that hold URLs: FFmpeg's log lines, errors, what is shown of a configuration.
#pragma once

#include <string>

namespace campipe {

// `text` without the user and password of its URLs ("rtsp://user:secret@host" becomes "rtsp://host"), and with "***"
// for the values of fields that are named like a password ("?password=secret"). Where it is in doubt, it hides more.
std::string without_passwords(const std::string& text);
// Of texts by others than campipe: of each URL in `text`, but for test patterns, scheme, host and port only. A path may
// have come from a variable, and a query holds tokens and SRT's streamid, under any name.
std::string redact_urls(const std::string& text);

}  // namespace campipe
