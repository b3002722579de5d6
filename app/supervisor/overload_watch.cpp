#include "app/supervisor/overload_watch.h"

#include <fmt/format.h>

#include <utility>

#include "core/log.h"

namespace campipe {
namespace {

constexpr auto window_length = std::chrono::seconds(10);

std::string remedy_for(const WorkerLoad& load) {
  return fmt::format("use {}a smaller size, a lower rate, a faster preset, a GPU or more workers",
                     load.may_copy ? "`codec: copy`, " : "");
}

}  // namespace

const std::string& OverloadWatch::look_at(const std::string& camera, unsigned worker, const WorkerLoad& load,
                                          Clock::time_point now) {
  const auto [decoded, queue_full, is_full, may_copy, restarts, is_still] = load;
  const Window fresh{now, decoded, queue_full, restarts, is_full, {}};
  Window& window = windows_.try_emplace(camera, fresh).first->second;
  const bool is_another = decoded < window.decoded || queue_full < window.queue_full;  // camera of that name
  if (is_another || is_still || restarts != window.restarts) {
    const std::string problem = std::move(window.problem);
    window = fresh;
    window.problem = problem;
  }
  window.always_full = window.always_full && is_full;
  if (now - window.begin < window_length) return window.problem;
  const std::uint64_t came = decoded - window.decoded;
  const std::uint64_t dropped = queue_full - window.queue_full;
  const bool falls_behind = window.always_full;
  const bool was_overloaded = !window.problem.empty();
  window = fresh;
  window.always_full = true;
  if (is_overload(dropped, came)) {
    window.problem = fmt::format("worker {} is overloaded: {} of {} frames were dropped; {}", worker, dropped, came,
                                 remedy_for(load));
  } else if (falls_behind) {
    window.problem = fmt::format(
        "worker {} is overloaded: the source waits for it (drop_policy: block), and the stream falls behind; {}",
        worker, remedy_for(load));
  }
  const bool is_overloaded = !window.problem.empty();
  if (is_overloaded && !was_overloaded) spdlog::warn("{}: {}", camera, window.problem);
  if (was_overloaded && !is_overloaded) spdlog::info("{}: worker {} keeps up again", camera, worker);
  return window.problem;
}

}  // namespace campipe
