// The other side of a running rig's API (docs/api.md), for campipe's own commands: HTTP by libcurl, with certificates
// checked, without proxies, and redirects not followed. One thread.
#pragma once

#include <poll.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/clock.h"

namespace campipe {

struct ApiAddress {
  std::string url = "http://127.0.0.1:8080";
  std::string user = {};      // empty: none is sent
  std::string password = {};  // sent as HTTP Basic, and never shown
  std::string token = {};     // of the rig (core/rig_token.h), sent where there is no user, and never shown
  std::string ca_file = {};   // certificates to trust instead of the system's
};

struct ApiAnswer {
  int status = 0;
  std::string body;
};

class ApiClient {
 public:
  // Throws Error for a URL that check_api_url() refuses.
  explicit ApiClient(ApiAddress address);
  ~ApiClient();
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  [[nodiscard]] const ApiAddress& address() const;
  // The host is this machine, or the way there is encrypted.
  [[nodiscard]] bool keeps_secrets() const;

  // Waits for the answer, at most `patience`. `path`: e.g. "/api/v1/status"; `method`: GET, or POST (with `body`,
  // which is JSON). Throws Error, with what to do, where there is no answer (nothing listens, certificates, too late)
  // or one of another program. Answers that refuse are answers.
  ApiAnswer ask(const std::string& method, const std::string& path, std::chrono::milliseconds patience,
                const std::string& body = "{}");

  // The same for those who wait for other things too: start() begins a request, and gives up one that is under way;
  // wait() returns its answer, or nothing once one of `others` has events (in `revents`) or `until` is over. Throws
  // like ask(). Without a request it only waits.
  void start(const std::string& method, const std::string& path, std::chrono::milliseconds patience,
             const std::string& body = "{}");
  std::optional<ApiAnswer> wait(std::span<pollfd> others, Deadline until);
  [[nodiscard]] bool busy() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A name as one part of a path, whatever is in it. Throws Error where there is no memory.
std::string in_path(const std::string& name);

// The port of a URL of this machine; nothing: it is of another one.
std::optional<std::uint16_t> port_of_this_machine(const std::string& url);

// What is wrong with a URL; empty: it is http(s)://HOST[:PORT][/PATH], and holds no user: other users of the machine
// could read the password in the list of processes.
std::string check_api_url(const std::string& url);

// Why `answer` is not what was asked for, with what to do about it; its own {"error"} or {"errors"} if it has them.
std::string explain(const ApiAnswer& answer, const ApiAddress& address);

}  // namespace campipe
