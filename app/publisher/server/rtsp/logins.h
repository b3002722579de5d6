// Checks what RTSP clients send by Basic before GStreamer sees the request (publisher/server/rtsp/channel.h).
//
// GStreamer asks who may come in on the thread that serves all clients, and wants to know at once. A password takes
// tens of milliseconds (access.h), which strangers can make that thread spend again and again. So a request waits in
// its channel until a thread of ours has checked it, and GStreamer gets what was found. Those wait in turns: behind a
// place from which many passwords come, others wait for one of them.
#pragma once

#include <gst/rtsp/gstrtspmessage.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "app/publisher/server/access.h"
#include "app/publisher/server/login_limit.h"

namespace campipe {

// Compared where a user has no secret, so that the time does not reveal who has one.
inline constexpr const char* nobodys_secret = "a user without a secret cannot log in by this";

// What a request's header Authorization holds; nothing: it is not Basic, or there is none.
std::optional<BasicLogin> basic_login(const GstRTSPMessage& request);

// Of one request.
struct RtspLogin {
  RtspLogin(BasicLogin what, std::string from) : given(std::move(what)), address(std::move(from)) {}

  const BasicLogin given;
  const std::string address;
  std::atomic<bool> done = false;
  // When it is done.
  std::optional<Identity> identity = {};  // nothing: it is wrong
  int retry_after_s = 0;                  // of a wrong one; 0: it may be tried again at once
};

class RtspLogins {
 public:
  // `wake` is called when one is done, by the thread that checks them. `access` outlives this. `now`: the clock by
  // which waits end.
  RtspLogins(Access& access, std::function<void()> wake, std::function<Clock::time_point()> now = Clock::now);
  ~RtspLogins();  // waits for the one that is being checked
  RtspLogins(const RtspLogins&) = delete;
  RtspLogins& operator=(const RtspLogins&) = delete;

  // For a whole message from `address`; null: there is nothing to be checked. Does not wait: what is not known at once
  // is done later, or never, if its waiter gives it up.
  std::shared_ptr<const RtspLogin> check(std::string_view message, const std::string& address);

  [[nodiscard]] Access& access() { return access_; }
  // Until a user may try by Digest; 0: at once, also from where others guess, if the response was right from there
  // within the last minutes. (What was wrong by Basic counts as well; of the passwords Access has its own.)
  [[nodiscard]] int digest_wait_s(const std::string& address, const std::string& user);
  void digest_was(bool right, const std::string& address, const std::string& user);

 private:
  struct Waiting {
    std::weak_ptr<RtspLogin> login;
    std::string network;
  };

  void enqueue(const std::shared_ptr<RtspLogin>& login);
  std::shared_ptr<RtspLogin> take_next();  // with the mutex held
  void run(const std::stop_token& stop);
  bool has_secret(const RtspLogin& login);
  void finish(RtspLogin& login, const Access::Result& result);
  int secret_wait_s(const std::string& address);
  void secret_failed(const std::string& address);

  Access& access_;
  const std::function<void()> wake_;
  const std::function<Clock::time_point()> now_;
  std::mutex mutex_;
  LoginLimit secrets_;
  std::map<std::pair<std::string, std::string>, Clock::time_point> right_;  // when, of a network's user, by Digest
  // By turn: the first of each network that waits, then the second of each …
  std::multimap<std::uint64_t, Waiting> waiting_;
  std::uint64_t turn_ = 0;  // the one that is on
  std::string checking_;    // whose network's it is; empty: none
  std::condition_variable_any changed_;
  std::jthread thread_;
};

}  // namespace campipe
