// HTTP to the members of an etcd cluster, by libcurl: one request at a time, with a deadline, and streams of lines.
// Certificates are checked, proxies and redirects are not used. A link that is dead is found within 3.1 s, by TCP's own
// probes.
//
// One thread, but for the stop token: a stop requested by any thread ends what waits at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/clock.h"

namespace campipe {

// PEM files. All empty: as the system trusts, and without a certificate of one's own.
struct EtcdTls {
  std::string ca = {};           // whom to trust instead of the system's authorities
  std::string certificate = {};  // that this client shows
  std::string key = {};          // the certificate's
  friend bool operator==(const EtcdTls&, const EtcdTls&) = default;
};

struct EtcdServers {
  std::vector<std::string> urls;  // of members: "http://HOST:2379", without a path; at least one
  EtcdTls tls = {};
};

struct HttpOutcome {
  enum class Kind : std::uint8_t {
    answered,   // with any status
    not_sent,   // the server has not seen the request: it cannot be reached, or its certificate is not good
    no_answer,  // the server may have seen it
    stopped     // by the token; the server may have seen it
  };
  Kind kind = Kind::not_sent;
  int status = 0;
  std::string body{};
  std::string problem{};  // where there is no answer, for people
};

class EtcdHttp {
 public:
  // Throws Error where libcurl cannot be used. TLS files are looked at with each connection: what is wrong with them is
  // a problem of the outcome.
  explicit EtcdHttp(EtcdTls tls, std::stop_token stop = {});
  ~EtcdHttp();
  EtcdHttp(const EtcdHttp&) = delete;
  EtcdHttp& operator=(const EtcdHttp&) = delete;

  // `once`: the server gets it at most once. libcurl repeats a request by itself when a connection that was kept open
  // turns out dead, so a new one is made.
  HttpOutcome post(const std::string& url, const std::string& body, Deadline until, bool once);

  // A request whose answer is a stream of lines: begins it, and gives up the one before. next_line() returns a line, or
  // nothing when `until` has come, the token asks to stop or the stream is over: then ended() says why.
  void open_stream(const std::string& url, const std::string& body);
  std::optional<std::string> next_line(Deadline until);
  [[nodiscard]] bool ended() const;
  [[nodiscard]] const std::string& end_reason() const;
  void close_stream();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace campipe
