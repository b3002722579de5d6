// What a server of HTTP or RTSP asks of who wants in (WWW-Authenticate, RFC 7235), and the answer to Digest (RFC 7616).
//
// FFmpeg (5.1 at least) knows Basic, and Digest with MD5; of several kinds of Digest that a server offers it takes the
// last, and where it does not know that one it sends no answer at all.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace campipe {

struct LoginChallenge {
  std::string scheme;                         // in lower case: "digest"
  std::map<std::string, std::string> fields;  // names in lower case; values without quotes
  // Of Digest, in upper case; "MD5" where none is given.
  [[nodiscard]] std::string algorithm() const;
  // For messages: "Digest with SHA-256".
  [[nodiscard]] std::string text() const;
};

// Of one header's value, which may hold several.
std::vector<LoginChallenge> read_challenges(std::string_view value);

// Whether FFmpeg answers it.
bool is_known_to_ffmpeg(const LoginChallenge& challenge);
// The one of `challenges` that is answered best: one that FFmpeg knows, else one that answer_digest() does, of either
// Digest first. Null: none is known.
const LoginChallenge* best_challenge(const std::vector<LoginChallenge>& challenges);
// For messages: "Digest with SHA-512, Negotiate".
std::string challenges_text(const std::vector<LoginChallenge>& challenges);

struct Login {
  std::string user;
  std::string password;
};
// As a URL holds it, with its escapes resolved; nothing: it holds none.
std::optional<Login> login_of(const std::string& url);

// The value of an Authorization header. `number`: which request it is that this challenge is used for, from 1. `own`: a
// random text (cnonce).
std::string answer_digest(const LoginChallenge& challenge, const Login& login, std::string_view method,
                          std::string_view uri, unsigned number, const std::string& own);
std::string answer_basic(const Login& login);
// A new one for each answer.
std::string random_cnonce();

}  // namespace campipe
