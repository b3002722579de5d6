// Passwords, and other secrets, in texts that hold URLs: FFmpeg's log lines, errors, what is shown of a configuration.
#pragma once

#include <string>
#include <string_view>

namespace campipe {

// `text` without the user and password of its URLs ("rtsp://user:secret@host" becomes "rtsp://host"), and with "***"
// for the values of fields that are named like a password ("?password=secret"). Where it is in doubt, it hides more.
std::string without_passwords(const std::string& text);
// A URL in it has a password, or a field that is named like one has a value.
bool holds_password(const std::string& text);
// A name that somebody sent, as an error repeats it: cut first, and without passwords.
std::string shown_name(std::string_view name);
// Of texts by others than campipe: of each URL in `text`, but for test patterns, scheme, host and port only. A path may
// have come from a variable, and a query holds tokens and SRT's streamid, under any name.
std::string redact_urls(const std::string& text);
// Puts `by` in the place of a secret. Something short only where it is a word of its own: a password 'p' cut out of
// every word that has a p would be recognised by what is missing.
void hide_text(std::string& text, std::string_view what, std::string_view by);

}  // namespace campipe
