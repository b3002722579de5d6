#include "app/cluster/etcd_http.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <regex>
#include <utility>

#include "core/c_callback.h"
#include "core/curl.h"
#include "core/error.h"
#include "core/line_buffer.h"

namespace campipe {
namespace {

constexpr long connect_ms = 1000;  // within the deadline: a member that is off must leave time for the next one

// libcurl's own option has a default of nine seconds at the least. Probes that fail end the connection.
int probe_link(void* /*ours*/, curl_socket_t socket, curlsocktype /*type*/) {
  constexpr int on = 1;
  constexpr int seconds = 1;
  constexpr int probes = 3;
  const bool set = ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) == 0 &&
                   ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds) == 0 &&
                   ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof seconds) == 0 &&
                   ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes) == 0;
  return set ? CURL_SOCKOPT_OK : CURL_SOCKOPT_ERROR;
}

// The connection failed before a byte of the request can have been sent.
bool is_before_sending(CURLcode code, CURL* easy) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return true;
    default:
      break;
  }
  curl_off_t ready = 0;
  curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &ready);
  return ready == 0;
}

}  // namespace

struct EtcdHttp::State {
  State(EtcdTls given, std::stop_token token)
      : tls(std::move(given)), stop(std::move(token)), on_stop(stop, Wake{this}) {}
  ~State() { end(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  template <typename Value>
  void set(CURLoption option, Value value) {
    curl::set(easy, option, value);
  }

  void set_up() {
    easy = curl::make_easy();
    curl::add_line(headers, "Content-Type: application/json");
    // A member without a leader answers at once, instead of after seconds or never.
    curl::add_line(headers, "Grpc-Metadata-Hasleader: true");
    curl::add_line(headers, "Expect:");  // large bodies do not wait to be asked for
    set(CURLOPT_HTTPHEADER, headers.get());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_PROXY, "");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_USERAGENT, "campipe/" CAMPIPE_VERSION);
    set(CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
    set(CURLOPT_SOCKOPTFUNCTION, c_callback<probe_link, CURL_SOCKOPT_ERROR>);
    set(CURLOPT_WRITEFUNCTION, c_callback<curl::collect, 0>);
    set(CURLOPT_ERRORBUFFER, error.data());
    if (!tls.ca.empty()) {
      set(CURLOPT_CAINFO, tls.ca.c_str());
      set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // else Debian's libcurl trusts /etc/ssl/certs as well
    }
    if (!tls.certificate.empty()) set(CURLOPT_SSLCERT, tls.certificate.c_str());
    if (tls.key.empty()) return;
    set(CURLOPT_SSLKEY, tls.key.c_str());
    set(CURLOPT_KEYPASSWD, "");  // else the terminal may be asked for it
  }

  // What comes is appended to `to`.
  void begin(const std::string& url, const std::string& request, long limit_ms, bool fresh, std::string& to) {
    end();
    to.clear();
    set(CURLOPT_WRITEDATA, &to);
    error[0] = '\0';
    over = false;
    reason.clear();
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.size()));
    set(CURLOPT_COPYPOSTFIELDS, request.c_str());
    set(CURLOPT_TIMEOUT_MS, limit_ms);
    set(CURLOPT_FRESH_CONNECT, fresh ? 1L : 0L);
    const CURLMcode code = curl_multi_add_handle(multi.get(), easy.get());
    if (code != CURLM_OK) curl::fail(curl_multi_strerror(code));
    busy = true;
  }

  void end() {
    if (busy) curl_multi_remove_handle(multi.get(), easy.get());
    busy = false;
  }

  // Does what can be done without waiting. The result: of the transfer, once it is over.
  std::optional<CURLcode> progress() {
    int running = 0;
    curl_multi_perform(multi.get(), &running);
    int left = 0;
    const CURLMsg* message = curl_multi_info_read(multi.get(), &left);
    if (message == nullptr || message->msg != CURLMSG_DONE) return std::nullopt;
    return message->data.result;
  }

  // Until there is something to be done, `until` has come or a stop was requested: that wakes up the next wait, too.
  void wait(Deadline until) {
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    const auto wait_ms = static_cast<int>(std::clamp<std::int64_t>(rest.count(), 0, 60'000));
    curl_multi_poll(multi.get(), nullptr, 0, wait_ms, nullptr);
  }

  [[nodiscard]] std::string describe(CURLcode code) const {
    // "Failed to connect to … after 12 ms": what is logged when it changes must not change each time.
    static const std::regex duration(" after [0-9]+ (ms|milliseconds)");
    return error[0] != '\0' ? std::regex_replace(error.data(), duration, "") : curl_easy_strerror(code);
  }
  [[nodiscard]] int status() const {
    long value = 0;
    curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &value);
    return static_cast<int>(value);
  }

  // Thread-safe by libcurl's promise.
  struct Wake {
    State* state;
    void operator()() const { curl_multi_wakeup(state->multi.get()); }
  };

  EtcdTls tls;
  std::stop_token stop;
  curl::Multi multi = curl::make_multi();
  curl::List headers;
  curl::Easy easy;
  std::array<char, CURL_ERROR_SIZE> error{};
  std::string body;  // of the answer
  LineBuffer lines;  // of a stream, which have not been taken yet
  bool busy = false;
  bool over = true;
  std::string reason;
  std::stop_callback<Wake> on_stop;  // last: it uses the others
};

EtcdHttp::EtcdHttp(EtcdTls tls, std::stop_token stop)
    : state_(std::make_unique<State>(std::move(tls), std::move(stop))) {
  state_->set_up();
}
EtcdHttp::~EtcdHttp() = default;

HttpOutcome EtcdHttp::post(const std::string& url, const std::string& body, Deadline until, bool once) {
  State& s = *state_;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  if (left <= 0) return {HttpOutcome::Kind::not_sent, 0, {}, "there was no time left to ask"};
  s.begin(url, body, left, once, s.body);
  std::optional<CURLcode> code;
  while (!s.stop.stop_requested() && !(code = s.progress())) s.wait(until);
  s.end();
  if (!code) return {HttpOutcome::Kind::stopped, 0, {}, "stopped"};
  if (*code == CURLE_OK) return {HttpOutcome::Kind::answered, s.status(), std::move(s.body)};
  const bool unsent = is_before_sending(*code, s.easy.get());
  return {unsent ? HttpOutcome::Kind::not_sent : HttpOutcome::Kind::no_answer, 0, {}, s.describe(*code)};
}

void EtcdHttp::open_stream(const std::string& url, const std::string& body) {
  state_->lines.clear();
  state_->begin(url, body, 0, true, state_->lines.text());
}

std::optional<std::string> EtcdHttp::next_line(Deadline until) {
  State& s = *state_;
  while (!s.stop.stop_requested()) {
    if (!s.over) {
      if (const auto code = s.progress()) {
        s.over = true;
        s.end();
        s.reason = *code == CURLE_OK ? "the member ended it, with HTTP status " + std::to_string(s.status())
                                     : s.describe(*code);
      }
    }
    if (auto line = s.lines.next()) return line;
    if (s.over || Clock::now() >= until) return std::nullopt;
    s.wait(until);
  }
  return std::nullopt;
}

bool EtcdHttp::ended() const { return state_->over && !state_->lines.has_line(); }
const std::string& EtcdHttp::end_reason() const { return state_->reason; }
void EtcdHttp::close_stream() {
  state_->end();
  state_->over = true;
  state_->lines.clear();
}

}  // namespace campipe
