// Where passwords of requests are checked: how many at a time, and equal ones together. Of the serving thread, but for
// the check itself. Only for the files that use Boost.Beast.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "app/publisher/server/access.h"

namespace campipe {

class HttpDoor {
 public:
  // A place among those whose passwords are being checked, for as long as it lives. Each network has a few, so that no
  // single one keeps the others out.
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

  // What `look` returns, called by the pool; nothing: no place is left, or it failed. `key`: stands for the
  // credentials; while the same ones of the same network are being checked, that result is waited for, without a place
  // and without a check. The arguments must outlive the wait.
  boost::asio::awaitable<std::optional<Access::Result>> check(boost::asio::thread_pool& pool, const std::string& key,
                                                              const std::string& address,
                                                              const std::function<Access::Result()>& look);

 private:
  struct Check {
    explicit Check(const boost::asio::any_io_executor& executor)
        : done(executor, boost::asio::steady_timer::time_point::max()) {}
    boost::asio::steady_timer done;
    std::optional<Access::Result> result;  // nothing: it failed
  };
  class Running;

  std::map<std::string, int> places_;  // taken, by network
  std::map<std::string, std::shared_ptr<Check>> checks_;
};

}  // namespace campipe
