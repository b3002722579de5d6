#include "app/supervisor/overload_watch.h"

#include <fmt/format.h>

#include "core/log.h"

namespace campipe {
namespace {

constexpr auto window_length = std::chrono::seconds(10);
constexpr std::uint64_t tolerated = 20;  // one of so many frames

}  // namespace

const std::string& OverloadWatch::look_at(const std::string& camera, unsigned worker, std::uint64_t decoded,
                                          std::uint64_t queue_full, Clock::time_point now) {
  Window& window = windows_.try_emplace(camera, Window{now, decoded, queue_full, {}}).first->second;
  const bool restarted = decoded < window.decoded || queue_full < window.queue_full;  // another camera of that name
  if (restarted) window = {now, decoded, queue_full, window.problem};
  if (now - window.begin < window_length) return window.problem;
  const std::uint64_t came = decoded - window.decoded;
  const std::uint64_t dropped = queue_full - window.queue_full;
  const bool was_overloaded = !window.problem.empty();
  window = {now, decoded, queue_full, {}};
  if (dropped * tolerated > came) {
    window.problem = fmt::format(
        "worker {} is overloaded: {} of {} frames were dropped; use `codec: copy`, a smaller size, a lower rate, a "
        "faster preset, a GPU or more workers",
        worker, dropped, came);
  }
  const bool is_overloaded = !window.problem.empty();
  if (is_overloaded && !was_overloaded) spdlog::warn("{}: {}", camera, window.problem);
  if (was_overloaded && !is_overloaded) spdlog::info("{}: worker {} keeps up again", camera, worker);
  return window.problem;
}

}  // namespace campipe
