// Who may come in: every request passes here before anything looks at it. Thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/config/address.h"
#include "app/publisher/server/access.h"
#include "app/publisher/server/http/rules.h"
#include "app/publisher/server/http/server.h"

namespace campipe {

class HttpGate {
 public:
  // `access` and `routes` must outlive it.
  // `is_door`: of a node of a cluster. Who comes in there is another node, which names the user; TLS has seen to that,
  // or, without TLS, that the address is one of this machine.
  HttpGate(const ServerConfig& config, Access& access, const std::vector<HttpServer::Route>& routes,
           bool is_door = false);

  struct Passed {
    HttpRequest request;
    const HttpServer::Route* route = nullptr;  // null: of a camera
    std::optional<CameraPath> camera;
    bool looks_itself = false;  // what answers it looks all the time at what its sender may do
  };
  struct Verdict {
    std::optional<HttpAnswer> refusal;
    Passed passed;
    bool unclear = false;  // of judge_quickly(): check_password() is needed
  };

  // `facts.body` is moved into the request. All but the passwords that need argon2id.
  [[nodiscard]] Verdict judge_quickly(HttpFacts facts) const;
  // For those: this takes its time, and is not for the thread that serves all.
  [[nodiscard]] Access::Result check_password(const HttpFacts& facts) const;
  // With what check_password() found just now.
  [[nodiscard]] Verdict judge(HttpFacts facts, const Access::Result& checked) const;
  // Equal for equal credentials, which it does not reveal.
  [[nodiscard]] std::string key_of(const HttpFacts& facts) const;
  // For those who watch for hours: whether they still may.
  [[nodiscard]] bool still_may(const Passed& passed) const;
  // The same, of one camera.
  [[nodiscard]] bool may_view(const Identity& identity, const std::string& camera) const;
  // Sets the sender of a request that came from `address`. One of `trusted_proxies` names the sender, and may name the
  // path below which it shows the rig.
  void note_peer(HttpFacts& facts, const std::string& address, bool tls) const;
  [[nodiscard]] bool has_users() const { return access_.required(); }
  [[nodiscard]] bool is_proxy(const std::string& address) const;

 private:
  [[nodiscard]] bool is_our_page(const HttpFacts& facts) const;
  [[nodiscard]] std::optional<HttpAnswer> refuse_stranger(const HttpFacts& facts) const;
  [[nodiscard]] const HttpServer::Route* find_route(const std::string& path) const;
  using CheckAuthorization = std::function<std::optional<Access::Result>(const HttpFacts&)>;
  [[nodiscard]] Verdict judge_by(HttpFacts facts, const CheckAuthorization& check) const;
  bool identify(const HttpFacts& facts, const CheckAuthorization& check, Verdict& verdict) const;
  bool identify_for_node(const HttpFacts& facts, Verdict& verdict) const;
  [[nodiscard]] std::optional<HttpAnswer> refuse_forgery(const HttpFacts& facts, const Passed& passed) const;

  const bool is_door_;
  const bool has_tls_;
  std::string base_;
  std::vector<std::string> hosts_;      // of `http_hosts`
  std::vector<std::string> own_hosts_;  // those, and that of `http_address`
  std::vector<AddressRange> proxies_;
  Access& access_;
  const std::vector<HttpServer::Route>& routes_;
};

}  // namespace campipe
