// Where passwords of requests are checked: one at a time, so that strangers cannot take more of the machine; in turns
// of the networks that they come from; equal ones together. Of the serving thread, but for the check itself. Only for
// the files that use Boost.Beast.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "app/publisher/server/access.h"
#include "app/publisher/server/fair_threads.h"
#include "app/publisher/server/login_limit.h"
#include "core/clock.h"

namespace campipe {

class HttpDoor {
 public:
  // What `work` returns; nothing: no place is left, or it was not its turn within ten seconds. A network has few
  // places, and one that has none has a place kept, so that none keeps the others out.
  template <typename Work>
  boost::asio::awaitable<std::optional<std::invoke_result_t<Work>>> run(const std::string& address, Work work) {
    using Result = std::invoke_result_t<Work>;
    const Place place(*this, address);
    if (!place) co_return std::nullopt;
    const auto latest = Clock::now() + longest_wait;
    const auto in_time = [&]() -> std::optional<Result> {
      if (Clock::now() > latest) return std::nullopt;  // who sent it may have gone
      return work();
    };
    std::optional<std::optional<Result>> done = co_await thread_.run(network_of(address), in_time);
    if (!done) co_return std::nullopt;
    co_return std::move(*done);
  }
  // What `look` returns; nothing: as run(), or it failed. `key`: stands for the credentials; while the same ones of the
  // same network are being checked, that result is waited for, without a place and without a check. The arguments must
  // outlive the wait.
  boost::asio::awaitable<std::optional<Access::Result>> check(const std::string& key, const std::string& address,
                                                              const std::function<Access::Result()>& look);
  // When the serving thread has ended.
  void join() { thread_.join(); }

 private:
  static constexpr auto longest_wait = std::chrono::seconds(10);

  // For as long as it lives.
  class Place {
   public:
    Place(HttpDoor& door, const std::string& address);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    explicit operator bool() const { return taken_; }

   private:
    HttpDoor& door_;
    const std::string network_;
    bool taken_ = false;
  };
  struct Check {
    explicit Check(const boost::asio::any_io_executor& executor)
        : done(executor, boost::asio::steady_timer::time_point::max()) {}
    boost::asio::steady_timer done;
    std::optional<Access::Result> result;  // nothing: it failed
  };
  class Running;

  FairThreads thread_{1, 1};
  std::map<std::string, int> places_;  // taken, by network
  std::map<std::string, std::shared_ptr<Check>> checks_;
};

}  // namespace campipe
