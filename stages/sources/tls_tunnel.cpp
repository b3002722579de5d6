#include "stages/sources/tls_tunnel.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "core/log.h"
#include "core/unique_handle.h"
#include "stages/sources/source_config.h"
#include "stages/sources/source_errors.h"

namespace campipe {
namespace {

using Kind = SourceError::Kind;

constexpr int ask_every_ms = 50;
constexpr std::size_t most_waiting = 65536;  // bytes for FFmpeg that it has not taken yet

struct SessionCloser {
  void operator()(gnutls_session_t session) const { gnutls_deinit(session); }
};
using Session = std::unique_ptr<gnutls_session_int, SessionCloser>;
struct CredentialsCloser {
  void operator()(gnutls_certificate_credentials_t c) const { gnutls_certificate_free_credentials(c); }
};
using Credentials = std::unique_ptr<gnutls_certificate_credentials_st, CredentialsCloser>;
struct AddressCloser {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, AddressCloser>;

void stop_if_over(ReadWatch& watch, const std::string& shown) {
  if (!watch.ask()) return;
  if (watch.interrupted()) throw interrupted_error(shown);
  throw SourceError(Kind::timed_out, shown + " does not answer within " + seconds_text(watch.allowed()) +
                                         " (read_timeout; is the camera on?)");
}

// Asks in any case: a peer that sends a byte now and then keeps no caller waiting in poll().
void wait_for(int fd, short events, ReadWatch& watch, const std::string& shown) {
  pollfd entry{fd, events, 0};
  do {
    stop_if_over(watch, shown);
  } while (::poll(&entry, 1, ask_every_ms) <= 0);
}

// 0, or an errno.
int connect_to(const addrinfo& address, UniqueFd& fd, ReadWatch& watch, const std::string& shown) {
  fd.reset(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  wait_for(fd.get(), POLLOUT, watch, shown);
  int error = 0;
  socklen_t size = sizeof(error);
  return ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

UniqueFd connect_to(const std::string& host, int port, ReadWatch& watch, const std::string& shown) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
    throw unknown_name_error(shown);
  }
  const Addresses addresses(found);
  UniqueFd fd;
  int error = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    error = connect_to(*address, fd, watch, shown);
    if (error == 0) return fd;
  }
  throw SourceError(Kind::refused, shown + " cannot be reached: " + std::strerror(error) + " (is the camera on?)");
}

Credentials trusted(const SourceConfig& config) {
  gnutls_certificate_credentials_t raw = nullptr;
  if (gnutls_certificate_allocate_credentials(&raw) < 0) throw std::bad_alloc();
  Credentials credentials(raw);
  if (!config.verify_certificate) return credentials;
  const std::string& ca_file = config.ca_file;
  const int count = ca_file.empty() ? gnutls_certificate_set_x509_system_trust(raw)
                                    : gnutls_certificate_set_x509_trust_file(raw, ca_file.c_str(), GNUTLS_X509_FMT_PEM);
  if (count < 0 && !ca_file.empty()) {
    throw Error("'" + ca_file + "' holds no certificates (tls: {ca_file}): " + gnutls_strerror(count));
  }
  return credentials;
}

std::string certificate_problem(gnutls_session_t session) {
  gnutls_datum_t text{};
  const unsigned status = gnutls_session_get_verify_cert_status(session);
  if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) < 0) return "";
  std::string problem(std::span(text.data, text.size).begin(), std::span(text.data, text.size).end());
  gnutls_free(text.data);
  problem.erase(problem.find_last_not_of(' ') + 1);
  return problem;
}

bool is_numeric(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

Session shake_hands(int fd, const Credentials& credentials, const std::string& host, bool verify,
                    const std::string& shown, ReadWatch& watch) {
  gnutls_session_t raw = nullptr;
  if (gnutls_init(&raw, GNUTLS_CLIENT | GNUTLS_NONBLOCK) < 0) throw std::bad_alloc();
  Session session(raw);
  gnutls_set_default_priority(raw);
  gnutls_credentials_set(raw, GNUTLS_CRD_CERTIFICATE, credentials.get());
  if (!is_numeric(host)) gnutls_server_name_set(raw, GNUTLS_NAME_DNS, host.data(), host.size());
  if (verify) gnutls_session_set_verify_cert(raw, host.c_str(), 0);
  gnutls_transport_set_int(raw, fd);
  for (int code = gnutls_handshake(raw); code != GNUTLS_E_SUCCESS; code = gnutls_handshake(raw)) {
    if (code == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR || code == GNUTLS_E_CERTIFICATE_ERROR) {
      throw SourceError(Kind::unauthorized,
                        shown + " shows a certificate that is not trusted: " + certificate_problem(raw) +
                            " (set tls: {ca_file: …} to the one that signed it, or "
                            "tls: {verify: false})");
    }
    if (gnutls_error_is_fatal(code) != 0) {
      throw SourceError(Kind::lost, shown + " gives no answer of TLS: " + gnutls_strerror(code));
    }
    const bool writes = gnutls_record_get_direction(raw) == 1;
    wait_for(fd, writes ? POLLOUT : POLLIN, watch, shown);
  }
  return session;
}

UniqueFd listen_here(int& port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* any = static_cast<sockaddr*>(static_cast<void*>(&address));
  if (!fd || ::bind(fd.get(), any, size) != 0 || ::listen(fd.get(), 1) != 0 ||
      ::getsockname(fd.get(), any, &size) != 0) {
    throw system_error("cannot listen on 127.0.0.1", errno);
  }
  port = ntohs(address.sin_port);
  return fd;
}

}  // namespace

// Passes bytes on, on a thread of its own, until either side closes.
class TlsTunnel::Relay {
 public:
  Relay(const std::string& host, int port, const SourceConfig& config, const std::string& shown, ReadWatch& watch)
      : credentials_(trusted(config)),
        remote_(connect_to(host, port, watch, shown)),
        session_(shake_hands(remote_.get(), credentials_, host, config.verify_certificate, shown, watch)),
        listener_(listen_here(port_)),
        stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!stop_) throw system_error("eventfd", errno);
    thread_ = std::jthread([this] { run(); });
  }
  ~Relay() {
    const std::uint64_t one = 1;
    if (::write(stop_.get(), &one, sizeof(one)) < 0) spdlog::error("a TLS tunnel cannot be stopped");
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  [[nodiscard]] int port() const { return port_; }

 private:
  void run() {
    if (!accept_one()) return;
    while (pass_on()) {
    }
    local_.reset();
  }

  bool accept_one() {
    std::array<pollfd, 2> entries{{{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    while (::poll(entries.data(), entries.size(), -1) < 0 && errno == EINTR) {
    }
    local_.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    listener_.reset();
    return static_cast<bool>(local_);
  }

  // Waits for either side once. False: it is over.
  bool pass_on() {
    const bool more = gnutls_record_check_pending(session_.get()) > 0 && to_local_.size() < most_waiting;
    short local_events = to_remote_.size() < most_waiting ? POLLIN : 0;
    if (!to_local_.empty()) local_events |= POLLOUT;
    short remote_events = to_local_.size() < most_waiting ? POLLIN : 0;
    if (!to_remote_.empty()) remote_events |= POLLOUT;
    std::array<pollfd, 3> entries{
        {{local_.get(), local_events, 0}, {remote_.get(), remote_events, 0}, {stop_.get(), POLLIN, 0}}};
    if (::poll(entries.data(), entries.size(), more ? 0 : -1) < 0) return errno == EINTR;
    if (entries[2].revents != 0) return false;
    return receive_local() && send_remote() && receive_remote() && send_local();
  }

  bool receive_local() {
    if (to_remote_.size() >= most_waiting) return true;
    const ssize_t count = ::recv(local_.get(), buffer_.data(), buffer_.size(), 0);
    if (count > 0) to_remote_.insert(to_remote_.end(), buffer_.begin(), buffer_.begin() + count);
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
  }

  bool send_remote() {
    if (to_remote_.empty()) return true;
    // What was begun is in GnuTLS's hands, and must be gone on with before anything else is sent.
    const ssize_t count = begun_ ? gnutls_record_send(session_.get(), nullptr, 0)
                                 : gnutls_record_send(session_.get(), to_remote_.data(), to_remote_.size());
    begun_ = count == GNUTLS_E_AGAIN || count == GNUTLS_E_INTERRUPTED;
    if (count > 0) to_remote_.erase(to_remote_.begin(), to_remote_.begin() + count);
    return count > 0 || gnutls_error_is_fatal(static_cast<int>(count)) == 0;
  }

  bool receive_remote() {
    if (to_local_.size() >= most_waiting) return true;
    const ssize_t count = gnutls_record_recv(session_.get(), buffer_.data(), buffer_.size());
    if (count > 0) to_local_.insert(to_local_.end(), buffer_.begin(), buffer_.begin() + count);
    return count > 0 || (count < 0 && gnutls_error_is_fatal(static_cast<int>(count)) == 0);
  }

  bool send_local() {
    if (to_local_.empty()) return true;
    const ssize_t count = ::send(local_.get(), to_local_.data(), to_local_.size(), MSG_NOSIGNAL);
    if (count > 0) to_local_.erase(to_local_.begin(), to_local_.begin() + count);
    return count > 0 || errno == EAGAIN || errno == EINTR;
  }

  Credentials credentials_;
  UniqueFd remote_;
  Session session_;
  int port_ = 0;
  UniqueFd listener_;
  UniqueFd stop_;
  UniqueFd local_;
  std::vector<char> to_remote_;
  bool begun_ = false;  // to send to_remote_'s first bytes
  std::vector<char> to_local_;
  std::array<char, 16384> buffer_{};
  std::jthread thread_;  // the last: it ends before what it uses
};

TlsTunnel::TlsTunnel(const std::string& host, int port, const SourceConfig& config, const std::string& shown,
                     ReadWatch& watch)
    : relay_(std::make_unique<Relay>(host, port, config, shown, watch)) {}

TlsTunnel::~TlsTunnel() = default;

int TlsTunnel::port() const { return relay_->port(); }

std::string TlsTunnel::url_for(const std::string& url) const {
  const auto begin = url.find("://") + 3;
  const auto end = std::min(url.find_first_of("/?#", begin), url.size());
  const std::string authority = url.substr(begin, end - begin);
  const auto at = authority.rfind('@');
  const std::string user = at != std::string::npos ? authority.substr(0, at + 1) : "";
  return "rtsp://" + user + "127.0.0.1:" + std::to_string(port()) + url.substr(end);
}

}  // namespace campipe
