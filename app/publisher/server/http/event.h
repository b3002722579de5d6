// What a coroutine of the serving thread waits for, and other threads announce to it. Only for the files that use
// Boost.Beast.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

#include <functional>
#include <memory>
#include <utility>

#include "core/clock.h"

namespace campipe {

class HttpEvent : public std::enable_shared_from_this<HttpEvent> {
 public:
  explicit HttpEvent(std::shared_ptr<boost::asio::io_context> io) : io_(std::move(io)), timer_(*io_) {}

  // Wakes the serving thread from another one, also when the server is gone meanwhile.
  std::function<void()> waker() {
    return [io = io_, weak = weak_from_this()] {
      boost::asio::post(*io, [weak] {
        if (const auto event = weak.lock()) event->wake();
      });
    };
  }
  void wake() { timer_.cancel(); }
  boost::asio::awaitable<void> wait_until(Clock::time_point deadline) {
    boost::system::error_code ignored;  // that it was woken
    timer_.expires_at(deadline);
    co_await timer_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  }

 private:
  const std::shared_ptr<boost::asio::io_context> io_;
  boost::asio::steady_timer timer_;
};

}  // namespace campipe
