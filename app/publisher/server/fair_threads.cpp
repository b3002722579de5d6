#include "app/publisher/server/fair_threads.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>

namespace campipe {

namespace asio = boost::asio;

FairThreads::Turn::Turn(FairThreads& all, const std::string& holder)
    : all_(all), own_(all.holders_.try_emplace(holder).first) {}

asio::awaitable<void> FairThreads::Turn::come() {
  Holder& own = own_->second;
  if (own.running < all_.most_of_one_) {
    ++own.running;
    has_come_ = true;
    co_return;
  }
  asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
  // Also where the server ends while this waits, and takes it apart.
  struct Waiting {
    Waiting(Holder& of, asio::steady_timer& one) : holder(of), timer(one) { holder.waiting.push_back(&timer); }
    ~Waiting() { std::erase(holder.waiting, &timer); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    Holder& holder;
    asio::steady_timer& timer;
  } const waiting(own, timer);
  boost::system::error_code woken;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  has_come_ = true;
}

// Who waits takes over what is free now.
FairThreads::Turn::~Turn() {
  Holder& own = own_->second;
  if (has_come_ && !own.waiting.empty()) {
    asio::steady_timer& next = *own.waiting.front();
    own.waiting.pop_front();
    next.cancel();
  } else if (has_come_) {
    --own.running;
  }
  if (own.running == 0 && own.waiting.empty()) all_.holders_.erase(own_);
}

}  // namespace campipe
