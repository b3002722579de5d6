// Threads for what may wait for a disk. One that does not answer keeps a thread for as long as it likes. So whoever
// asks waits until a deadline and no longer, no single one takes all threads, only so much waits for one, and at the
// end they are not waited for: what they use is theirs. Of the serving thread, but for the work itself. Only for the
// files that use Boost.Beast.
#pragma once

#include "app/publisher/server/http/event.h"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "core/clock.h"

namespace campipe {

class DiskThreads {
 public:
  explicit DiskThreads(std::shared_ptr<boost::asio::io_context> io);
  ~DiskThreads();
  DiskThreads(const DiskThreads&) = delete;
  DiskThreads& operator=(const DiskThreads&) = delete;

  // What `work` returns; nothing: it took longer than that, or too much waits already. `work` owns all that it uses, as
  // it may outlive everything else. `holder`: for whom it is done.
  template <typename Work>
  boost::asio::awaitable<std::optional<std::invoke_result_t<Work>>> run(std::string holder, Work work,
                                                                        std::chrono::milliseconds patience) {
    struct Outcome {
      std::optional<std::invoke_result_t<Work>> result;
      std::exception_ptr error;
      std::atomic<bool> is_there = false;
    };
    const Deadline deadline = Clock::now() + patience;
    const auto outcome = std::make_shared<Outcome>();
    const auto event = std::make_shared<HttpEvent>(io_);
    auto task = [work = std::move(work), outcome, wake = event->waker()]() mutable {
      try {
        outcome->result.emplace(work());
      } catch (...) {
        outcome->error = std::current_exception();
      }
      outcome->is_there = true;
      wake();
    };
    // It is shared as a function must be one that can be copied, and what it owns may not be.
    const auto shared = std::make_shared<decltype(task)>(std::move(task));
    Wait wait(*this, event, add(std::move(holder), [shared] { (*shared)(); }));
    while (wait.has_begun() && !outcome->is_there && !closed_ && Clock::now() < deadline)
      co_await event->wait_until(deadline);
    if (closed_) throw boost::system::system_error(boost::asio::error::operation_aborted);
    if (!outcome->is_there) co_return std::nullopt;
    wait.finish();
    if (outcome->error) std::rethrow_exception(outcome->error);
    co_return std::move(outcome->result);
  }
  // Ends all waits.
  void close();

 private:
  struct State;
  using Job = std::uint64_t;  // 0: none

  // At its end what has not begun is dropped, and what has is left behind.
  class Wait {
   public:
    Wait(DiskThreads& all, std::shared_ptr<HttpEvent> event, Job job) : all_(all), event_(std::move(event)), job_(job) {
      all_.waiting_.insert(event_.get());
    }
    ~Wait() {
      all_.waiting_.erase(event_.get());
      if (job_ != 0) all_.drop(job_);
    }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    [[nodiscard]] bool has_begun() const { return job_ != 0; }
    void finish() { job_ = 0; }

   private:
    DiskThreads& all_;
    const std::shared_ptr<HttpEvent> event_;
    Job job_;
  };

  // 0: too much waits.
  Job add(std::string holder, std::function<void()> task);
  void start_thread();
  void drop(Job job);
  static void work(const std::shared_ptr<State>& state);

  const std::shared_ptr<boost::asio::io_context> io_;
  const std::shared_ptr<State> state_;  // the threads have parts in it
  std::set<HttpEvent*> waiting_;
  bool closed_ = false;
};

}  // namespace campipe
