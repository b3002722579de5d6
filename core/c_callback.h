// Functions of ours that C libraries call. Their frames cannot be unwound: an exception that reaches one ends the
// process. So none leaves such a function: it is logged, and the library gets the value by which that function reports
// a failure.
//
//   avio_alloc_context(…, c_callback<append, AVERROR_EXTERNAL>, …)
//   g_signal_connect(client, "closed", G_CALLBACK(c_callback<on_closed>), this)
#pragma once

#include <spdlog/spdlog.h>

#include <exception>
#include <type_traits>

namespace campipe {

// `function`: as the compiler writes it.
inline void log_escaped(const char* function) noexcept {
  try {
    throw;
  } catch (const std::exception& error) {
    spdlog::error("a call from a library failed: {} ({})", error.what(), function);
  } catch (...) {
    spdlog::error("a call from a library failed ({})", function);
  }
}

template <typename Signature, auto function, auto... failure>
struct CCallback;

template <typename Result, typename... Arguments, auto function, auto... failure>
struct CCallback<Result (*)(Arguments...), function, failure...> {
  static_assert(sizeof...(failure) == (std::is_void_v<Result> ? 0 : 1), "the value that reports a failure, if any");

  static Result call(Arguments... arguments) noexcept {
    try {
      return function(arguments...);
    } catch (...) {
      log_escaped(static_cast<const char*>(__PRETTY_FUNCTION__));
    }
    if constexpr (!std::is_void_v<Result>) return static_cast<Result>((failure, ...));
  }
};

// `function`, which may be a lambda without captures, without what it throws. `failure`: what it then returns; none
// where it returns nothing.
template <auto function, auto... failure>
inline constexpr auto c_callback = &CCallback<decltype(+function), function, failure...>::call;

}  // namespace campipe
