#include "app/commands/api_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/c_callback.h"
#include "core/curl.h"
#include "core/error.h"

namespace campipe {
namespace {

// Null: it is none.
curl::Url parse_url(const std::string& text) {
  curl::Url url(curl_url());
  if (url && curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) url.reset();
  return url;
}

// A part of a URL; empty where there is none.
std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return {};
  std::string result = text;
  curl_free(text);
  return result;
}

bool is_loopback(const std::string& host) {
  in_addr address{};
  const bool ipv4 = ::inet_pton(AF_INET, host.c_str(), &address) == 1;
  return host == "localhost" || host == "[::1]" || (ipv4 && ntohl(address.s_addr) >> 24U == 127);
}

std::string no_answer(CURLcode code, const char* detail, const std::string& url) {
  const std::string reason = *detail != '\0' ? detail : curl_easy_strerror(code);
  switch (code) {
    case CURLE_COULDNT_CONNECT:
      return fmt::format("no campipe answers at {}: is it running with http_address set? ({})", url, reason);
    case CURLE_COULDNT_RESOLVE_HOST:
      return fmt::format("no campipe answers at {}: {}", url, reason);
    case CURLE_OPERATION_TIMEDOUT:
      return fmt::format("{} did not answer in time ({})", url, reason);
    case CURLE_PEER_FAILED_VERIFICATION:
      return fmt::format(
          "the certificate of {} is not to be trusted: {}; give the one that signed it by --ca-file, and "
          "the name in the certificate in --url",
          url, reason);
    case CURLE_SSL_CACERT_BADFILE:
      return fmt::format("--ca-file: {}", reason);
    case CURLE_SSL_CONNECT_ERROR:
      return fmt::format("{} speaks no TLS: is it http:// there? ({})", url, reason);
    case CURLE_GOT_NOTHING:
      return fmt::format("{} closed the connection: has the rig ended, or does it speak TLS (https://)? ({})", url,
                         reason);
    case CURLE_WRITE_ERROR:
      return fmt::format("{} answers with more than campipe ever would", url);
    default:
      return fmt::format("no campipe answers at {}: {}", url, reason);
  }
}

}  // namespace

struct ApiClient::State {
  explicit State(ApiAddress given) : address(std::move(given)) {
    const std::string problem = check_api_url(address.url);
    if (!problem.empty()) throw Error("--url: " + problem);
    while (address.url.ends_with('/')) address.url.pop_back();
    easy = curl::make_easy();
    multi = curl::make_multi();
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_PROXY, "");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_ACCEPT_ENCODING, "");
    set(CURLOPT_USERAGENT, "campipe/" CAMPIPE_VERSION);
    curl::add_line(headers, "Content-Type: application/json");
    if (address.user.empty() && !address.token.empty())
      curl::add_line(headers, "Authorization: Bearer " + address.token);
    set(CURLOPT_HTTPHEADER, headers.get());
    set(CURLOPT_WRITEFUNCTION, c_callback<curl::collect, 0>);
    set(CURLOPT_WRITEDATA, &body);
    set(CURLOPT_ERRORBUFFER, error.data());
    if (!address.ca_file.empty()) set(CURLOPT_CAINFO, address.ca_file.c_str());
    if (!address.user.empty()) {
      set(CURLOPT_USERNAME, address.user.c_str());
      set(CURLOPT_PASSWORD, address.password.c_str());
    }
  }
  ~State() { stop(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  template <typename Value>
  void set(CURLoption option, Value value) {
    curl::set(easy, option, value);
  }

  void stop() {
    if (busy) curl_multi_remove_handle(multi.get(), easy.get());
    busy = false;
  }

  // Of the request, if it is over. Throws Error where it failed.
  std::optional<ApiAnswer> finished() {
    int left = 0;
    const CURLMsg* message = curl_multi_info_read(multi.get(), &left);
    if (message == nullptr || message->msg != CURLMSG_DONE) return std::nullopt;
    const CURLcode code = message->data.result;  // `message` goes with the handle
    stop();
    if (code != CURLE_OK) throw Error(no_answer(code, error.data(), address.url));
    long status = 0;
    curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
    return ApiAnswer{static_cast<int>(status), std::move(body)};
  }

  ApiAddress address;
  curl::List headers;
  curl::Easy easy;
  curl::Multi multi;
  std::vector<char> error = std::vector<char>(CURL_ERROR_SIZE);
  std::string body;
  bool busy = false;
};

ApiClient::ApiClient(ApiAddress address) : state_(std::make_unique<State>(std::move(address))) {}
ApiClient::~ApiClient() = default;

const ApiAddress& ApiClient::address() const { return state_->address; }
bool ApiClient::keeps_secrets() const {
  const auto url = parse_url(state_->address.url);
  return part_of(url.get(), CURLUPART_SCHEME) == "https" || is_loopback(part_of(url.get(), CURLUPART_HOST));
}
bool ApiClient::busy() const { return state_->busy; }

void ApiClient::start(const std::string& method, const std::string& path, std::chrono::milliseconds patience,
                      const std::string& body) {
  State& s = *state_;
  s.stop();
  s.body.clear();
  s.error[0] = '\0';
  s.set(CURLOPT_URL, (s.address.url + path).c_str());
  if (method == "POST") {
    s.set(CURLOPT_COPYPOSTFIELDS, body.c_str());
  } else {
    s.set(CURLOPT_HTTPGET, 1L);
  }
  s.set(CURLOPT_TIMEOUT_MS, static_cast<long>(patience.count()));
  const CURLMcode code = curl_multi_add_handle(s.multi.get(), s.easy.get());
  if (code != CURLM_OK) curl::fail(curl_multi_strerror(code));
  s.busy = true;
}

std::optional<ApiAnswer> ApiClient::wait(std::span<pollfd> others, Deadline until) {
  State& s = *state_;
  std::vector<curl_waitfd> fds;
  for (const pollfd& other : others) fds.push_back({other.fd, CURL_WAIT_POLLIN, 0});
  for (;;) {
    int running = 0;
    if (s.busy) curl_multi_perform(s.multi.get(), &running);
    if (auto answer = s.busy ? s.finished() : std::nullopt) return answer;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    const auto wait_ms = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    int ready = 0;
    curl_multi_poll(s.multi.get(), fds.data(), static_cast<unsigned>(fds.size()), wait_ms, &ready);
    bool other_ready = false;
    for (std::size_t i = 0; i < fds.size(); ++i) {
      others[i].revents = fds[i].revents;
      other_ready = other_ready || fds[i].revents != 0;
    }
    if (other_ready || Clock::now() >= until) return std::nullopt;
  }
}

ApiAnswer ApiClient::ask(const std::string& method, const std::string& path, std::chrono::milliseconds patience,
                         const std::string& body) {
  start(method, path, patience, body);
  for (;;) {
    if (auto answer = wait({}, Clock::now() + patience)) return *std::move(answer);
  }
}

std::string in_path(const std::string& name) {
  const std::unique_ptr<char, decltype(&curl_free)> text(
      curl_easy_escape(nullptr, name.data(), static_cast<int>(name.size())), curl_free);
  if (!text) throw Error("libcurl cannot be used: out of memory");
  return text.get();
}

std::optional<std::uint16_t> port_of_this_machine(const std::string& text) {
  const curl::Url url = parse_url(text);
  if (!url || !is_loopback(part_of(url.get(), CURLUPART_HOST))) return std::nullopt;
  char* port = nullptr;
  if (curl_url_get(url.get(), CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK) return std::nullopt;
  std::uint16_t number = 0;
  const std::string_view digits = port;
  const bool good = std::from_chars(digits.begin(), digits.end(), number).ec == std::errc{};
  curl_free(port);
  return good ? std::optional(number) : std::nullopt;
}

std::string check_api_url(const std::string& text) {
  const curl::Url url = parse_url(text);
  const auto part = [&](CURLUPart which) { return url ? part_of(url.get(), which) : std::string(); };
  // What was given is not shown where it may hold a password.
  if (!part(CURLUPART_USER).empty() || !part(CURLUPART_PASSWORD).empty()) {
    return "no user and password in it: give --user NAME, and the password in CAMPIPE_PASSWORD";
  }
  const std::string scheme = part(CURLUPART_SCHEME);
  const bool more = !part(CURLUPART_QUERY).empty() || !part(CURLUPART_FRAGMENT).empty();
  if ((scheme != "http" && scheme != "https") || more) return "expected http://HOST:PORT or https://HOST:PORT";
  return {};
}

std::string explain(const ApiAnswer& answer, const ApiAddress& address) {
  if (answer.status == 401) {
    return address.user.empty()
               ? address.url + " lets in only users that it knows: give --user NAME"
               : fmt::format("{} does not let '{}' in: wrong user or password", address.url, address.user);
  }
  const auto json = nlohmann::json::parse(answer.body, nullptr, false);
  const auto given = json.is_object() ? json.find("error") : json.end();
  if (json.is_object() && given != json.end() && given->is_string()) {
    return fmt::format("{}: {}", address.url, given->get<std::string>());
  }
  if (answer.status == 429) return address.url + ": too many failed logins; try again in a minute";
  if (answer.status == 403) return fmt::format("{} does not permit '{}' to do this", address.url, address.user);
  return fmt::format("{} answers with HTTP status {}: is it a campipe?", address.url, answer.status);
}

}  // namespace campipe
