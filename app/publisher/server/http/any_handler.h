// A completion handler of asio as one type, whatever it is made of: what takes one is compiled once instead of once for
// each kind of handler. Costs an allocation an operation. Boost 1.82 brings the like (asio::any_completion_handler).
#pragma once

#include <utility>  // before asio, whose headers of this age forget it

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>

#include <memory>
#include <type_traits>

namespace campipe {

template <typename... Results>
class AnyHandler {
 public:
  using executor_type = boost::asio::any_io_executor;

  // `otherwise`: where it is called if it does not care itself.
  template <typename Handler>
  AnyHandler(Handler&& handler, const executor_type& otherwise)
      : executor_(boost::asio::get_associated_executor(handler, otherwise)),
        held_(std::make_unique<Held<std::decay_t<Handler>>>(std::forward<Handler>(handler))) {}

  [[nodiscard]] executor_type get_executor() const noexcept { return executor_; }

  // Once.
  void operator()(Results... results) {
    Base& held = *held_;
    held.call(std::move(held_), results...);
  }

 private:
  struct Base {
    Base() = default;
    Base(const Base&) = delete;
    Base& operator=(const Base&) = delete;
    virtual ~Base() = default;
    virtual void call(std::unique_ptr<Base> self, Results... results) = 0;
  };
  template <typename Handler>
  struct Held : Base {
    explicit Held(Handler&& of) : handler(std::move(of)) {}
    explicit Held(const Handler& of) : handler(of) {}
    // What the operation holds is given back before the handler runs, which may begin the next one.
    void call(std::unique_ptr<Base> self, Results... results) override {
      Handler last = std::move(handler);
      self.reset();
      last(results...);
    }
    Handler handler;
  };

  executor_type executor_;
  std::unique_ptr<Base> held_;
};

}  // namespace campipe
