// Threads for the requests of many, of which no single one takes all: what one asks for beyond its part waits until
// something of his own is done. Of the serving thread, but for the work itself. Only for the files that use
// Boost.Beast.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <type_traits>

namespace campipe {

// What `work` returns, done by the pool.
template <typename Work>
boost::asio::awaitable<std::invoke_result_t<Work>> run_on(boost::asio::thread_pool& pool, Work work) {
  using Result = std::invoke_result_t<Work>;
  const auto task = [&work]() -> boost::asio::awaitable<Result> { co_return work(); };
  co_return co_await boost::asio::co_spawn(pool.get_executor(), task, boost::asio::use_awaitable);
}

class FairThreads {
 public:
  FairThreads(std::size_t threads, int most_of_one) : most_of_one_(most_of_one), pool_(threads) {}

  // What `work` returns; nothing: too much of the same holder waits. `holder`: for whom it is done.
  template <typename Work>
  boost::asio::awaitable<std::optional<std::invoke_result_t<Work>>> run(std::string holder, Work work) {
    if (is_full(holder)) co_return std::nullopt;
    Turn turn(*this, holder);
    co_await turn.come();
    if (joined_) throw boost::system::system_error(boost::asio::error::operation_aborted);
    co_return co_await run_on(pool_, std::move(work));
  }
  // When the serving thread has ended. Who still waits for a turn gets none.
  void join() {
    joined_ = true;
    pool_.join();
  }

 private:
  struct Holder {
    int running = 0;
    std::deque<boost::asio::steady_timer*> waiting;  // for one of these to be over, in the order in which they came
  };

  class Turn {
   public:
    Turn(FairThreads& all, const std::string& holder);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    boost::asio::awaitable<void> come();

   private:
    FairThreads& all_;
    const std::map<std::string, Holder>::iterator own_;
    bool has_come_ = false;
  };

  // Those whose connections have ended wait all the same, until they have their turn.
  [[nodiscard]] bool is_full(const std::string& holder) const {
    constexpr std::size_t most_waiting_of_one = 256;
    const auto found = holders_.find(holder);
    return found != holders_.end() && found->second.waiting.size() >= most_waiting_of_one;
  }

  const int most_of_one_;
  bool joined_ = false;
  std::map<std::string, Holder> holders_;
  boost::asio::thread_pool pool_;
};

}  // namespace campipe
