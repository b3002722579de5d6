#include "stages/sources/login_challenge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

extern "C" {
#include <libavutil/base64.h>
#include <libavutil/md5.h>
#include <libavutil/mem.h>
#include <libavutil/random_seed.h>
#include <libavutil/sha.h>
#include <libavutil/sha512.h>
}

#include "core/ascii_case.h"
#include "core/url_text.h"

namespace campipe {
namespace {

constexpr std::string_view space = " \t\r\n";

struct Freer {
  void operator()(void* memory) const { av_free(memory); }
};

std::string hex(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

const std::uint8_t* bytes_of(const std::string& text) {
  return static_cast<const std::uint8_t*>(static_cast<const void*>(text.data()));
}

std::string md5(const std::string& text) {
  std::array<std::uint8_t, 16> sum{};
  av_md5_sum(sum.data(), bytes_of(text), text.size());
  return hex(sum);
}

std::string sha256(const std::string& text) {
  const std::unique_ptr<AVSHA, Freer> state(av_sha_alloc());
  if (state == nullptr) throw std::bad_alloc();
  std::array<std::uint8_t, 32> sum{};
  av_sha_init(state.get(), 256);
  av_sha_update(state.get(), bytes_of(text), text.size());
  av_sha_final(state.get(), sum.data());
  return hex(sum);
}

std::string sha512_256(const std::string& text) {
  const std::unique_ptr<AVSHA512, Freer> state(av_sha512_alloc());
  if (state == nullptr) throw std::bad_alloc();
  std::array<std::uint8_t, 32> sum{};
  av_sha512_init(state.get(), 256);
  av_sha512_update(state.get(), bytes_of(text), text.size());
  av_sha512_final(state.get(), sum.data());
  return hex(sum);
}

struct Algorithm {
  std::string_view name;
  std::string (*hash)(const std::string&);
};
constexpr std::array algorithms{Algorithm{"MD5", md5}, Algorithm{"SHA-256", sha256},
                                Algorithm{"SHA-512-256", sha512_256}};
constexpr std::string_view of_session = "-SESS";

// Null: it is not known.
const Algorithm* find_algorithm(std::string_view name) {
  if (name.ends_with(of_session)) name.remove_suffix(of_session.size());
  const auto* const found = std::ranges::find(algorithms, name, &Algorithm::name);
  return found != algorithms.end() ? found : nullptr;
}

std::string field(const LoginChallenge& challenge, const std::string& name) {
  const auto found = challenge.fields.find(name);
  return found != challenge.fields.end() ? found->second : "";
}

bool offers(const LoginChallenge& challenge, std::string_view quality) {
  const std::string all = lower_case(field(challenge, "qop"));
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find_first_of(", \t", at), all.size());
    if (all.substr(at, end - at) == quality) return true;
    at = end + 1;
  }
  return false;
}

bool has_quality(const LoginChallenge& challenge) { return !field(challenge, "qop").empty(); }

bool is_answered_here(const LoginChallenge& challenge) {
  const bool quality = !has_quality(challenge) || offers(challenge, "auth") || offers(challenge, "auth-int");
  return challenge.scheme == "digest" && quality && find_algorithm(challenge.algorithm()) != nullptr;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c != '\r' && c != '\n') result += c;
  }
  return result + '"';
}

// Reads a header's value from its beginning on.
class ValueReader {
 public:
  explicit ValueReader(std::string_view text) : rest_(text) {}

  void skip(std::string_view what) { rest_.remove_prefix(std::min(rest_.find_first_not_of(what), rest_.size())); }
  [[nodiscard]] bool over() const { return rest_.empty(); }
  [[nodiscard]] bool is_next(char c) const { return rest_.starts_with(c); }
  std::string word() {
    const std::size_t size = std::min(rest_.find_first_of(" \t\r\n,="), rest_.size());
    const std::string result(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return result;
  }
  // Behind '='.
  std::string value() {
    rest_.remove_prefix(1);
    skip(space);
    if (!is_next('"')) {
      const std::size_t size = std::min(rest_.find_first_of(" \t\r\n,"), rest_.size());
      const std::string result(rest_.substr(0, size));
      rest_.remove_prefix(size);
      return result;
    }
    std::string result;
    std::size_t at = 1;
    for (; at < rest_.size() && rest_[at] != '"'; ++at) {
      if (rest_[at] == '\\' && at + 1 < rest_.size()) ++at;
      result += rest_[at];
    }
    rest_.remove_prefix(std::min(at + 1, rest_.size()));
    return result;
  }
  // Of what is neither.
  void drop() { rest_.remove_prefix(std::min<std::size_t>(1, rest_.size())); }

 private:
  std::string_view rest_;
};

}  // namespace

std::string LoginChallenge::algorithm() const {
  std::string name = field(*this, "algorithm");
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name.empty() ? "MD5" : name;
}

std::string LoginChallenge::text() const {
  std::string name = scheme;
  if (!name.empty()) name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  if (scheme != "digest") return name;
  const bool odd = has_quality(*this) && !offers(*this, "auth");
  return name + " with " + algorithm() + (odd ? " and qop=" + field(*this, "qop") : "");
}

std::vector<LoginChallenge> read_challenges(std::string_view value) {
  std::vector<LoginChallenge> all;
  for (ValueReader reader(value);;) {
    reader.skip(" \t\r\n,");
    if (reader.over()) return all;
    const std::string word = reader.word();
    reader.skip(space);
    if (word.empty()) {
      reader.drop();
    } else if (!reader.is_next('=')) {
      all.push_back({lower_case(word), {}});
    } else {
      const std::string text = reader.value();
      if (!all.empty()) all.back().fields.emplace(lower_case(word), text);
    }
  }
}

bool is_known_to_ffmpeg(const LoginChallenge& challenge) {
  if (challenge.scheme == "basic") return true;
  const std::string algorithm = challenge.algorithm();
  return challenge.scheme == "digest" && (algorithm == "MD5" || algorithm == "MD5-SESS") &&
         (!has_quality(challenge) || offers(challenge, "auth"));
}

const LoginChallenge* best_challenge(const std::vector<LoginChallenge>& challenges) {
  const auto find = [&](const auto& fits) {
    const auto found = std::ranges::find_if(challenges, fits);
    return found != challenges.end() ? &*found : nullptr;
  };
  const auto is_digest = [](const LoginChallenge& one) { return one.scheme == "digest"; };
  const LoginChallenge* best =
      find([&](const LoginChallenge& one) { return is_digest(one) && is_known_to_ffmpeg(one); });
  if (best == nullptr) best = find(is_answered_here);
  if (best == nullptr) best = find(is_known_to_ffmpeg);
  return best;
}

std::string challenges_text(const std::vector<LoginChallenge>& challenges) {
  std::string text;
  for (const LoginChallenge& challenge : challenges) text += (text.empty() ? "" : ", ") + challenge.text();
  return text;
}

std::optional<Login> login_of(const std::string& url) {
  const auto mark = url.find("://");
  if (mark == std::string::npos) return std::nullopt;
  std::string_view authority = std::string_view(url).substr(mark + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  const auto at = authority.rfind('@');
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const std::string_view user = authority.substr(0, at);
  const auto colon = user.find(':');
  return Login{percent_decoded(user.substr(0, colon)),
               colon != std::string_view::npos ? percent_decoded(user.substr(colon + 1)) : std::string()};
}

std::string answer_digest(const LoginChallenge& challenge, const Login& login, std::string_view method,
                          std::string_view uri, unsigned number, const std::string& own) {
  const std::string name = challenge.algorithm();
  const Algorithm* algorithm = find_algorithm(name);
  if (algorithm == nullptr) return "";
  const auto hash = algorithm->hash;
  const std::string realm = field(challenge, "realm");
  const std::string nonce = field(challenge, "nonce");
  std::string who = hash(login.user + ":" + realm + ":" + login.password);
  if (name.ends_with(of_session)) who = hash(who + ":" + nonce + ":" + own);
  const bool quality = has_quality(challenge);
  const bool with_body = quality && !offers(challenge, "auth");
  std::string what = std::string(method) + ":" + std::string(uri);
  if (with_body) what += ":" + hash("");  // no request has one
  const std::string qop = with_body ? "auth-int" : "auth";
  const std::string count = fmt::format("{:08x}", number);
  const std::string middle = quality ? nonce + ":" + count + ":" + own + ":" + qop : nonce;
  const std::string response = hash(who + ":" + middle + ":" + hash(what));
  std::string answer = "Digest username=" + quoted(login.user) + ", realm=" + quoted(realm) +
                       ", nonce=" + quoted(nonce) + ", uri=" + quoted(std::string(uri)) + ", response=\"" + response +
                       "\"";
  if (challenge.fields.contains("algorithm")) answer += ", algorithm=" + field(challenge, "algorithm");
  if (challenge.fields.contains("opaque")) answer += ", opaque=" + quoted(field(challenge, "opaque"));
  if (quality || name.ends_with(of_session)) answer += ", cnonce=" + quoted(own);
  if (quality) answer += ", qop=" + qop + ", nc=" + count;
  return answer;
}

std::string answer_basic(const Login& login) {
  const std::string text = login.user + ":" + login.password;
  std::string encoded(AV_BASE64_SIZE(text.size()), '\0');
  const int size = static_cast<int>(encoded.size());
  if (av_base64_encode(encoded.data(), size, bytes_of(text), static_cast<int>(text.size())) == nullptr) return "";
  return "Basic " + std::string(encoded.c_str());
}

std::string random_cnonce() { return fmt::format("{:08x}{:08x}", av_get_random_seed(), av_get_random_seed()); }

}  // namespace campipe
