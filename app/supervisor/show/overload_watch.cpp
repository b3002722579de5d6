#include "app/supervisor/show/overload_watch.h"

#include <fmt/format.h>

#include <utility>

#include "app/supervisor/rig/source_waits.h"
#include "app/supervisor/rig/stream_age.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto window_length = std::chrono::seconds(10);

std::string remedy_for(const WorkerLoad& load) {
  return fmt::format("use {}{}a smaller size, a lower rate, a faster preset, a GPU or more workers",
                     load.may_drop ? "`drop_policy: drop` to lose frames instead, " : "",
                     load.may_copy ? "`codec: copy`, " : "");
}

// Empty: it keeps up.
std::string problem_of(unsigned worker, const WorkerLoad& load, std::uint64_t came, std::uint64_t dropped,
                       bool always_full) {
  const auto far_s = std::chrono::round<std::chrono::seconds>(load.behind).count();
  const bool is_behind = load.behind >= noticeably_behind;
  if (is_overload(dropped, came)) {
    return fmt::format("worker {} is overloaded: {} of {} frames were dropped; {}", worker, dropped, came,
                       remedy_for(load));
  }
  if (always_full) {
    const std::string how_far = is_behind ? fmt::format("is {} s behind", far_s) : "falls behind";
    return fmt::format("worker {} is overloaded: the source waits for it (drop_policy: block), and the stream {}; {}",
                       worker, how_far, remedy_for(load));
  }
  if (!is_behind) return "";
  return fmt::format("this machine is too slow: the stream is {} s behind its source; {}", far_s, remedy_for(load));
}

}  // namespace

const Overload& OverloadWatch::look_at(const std::string& camera, unsigned worker, const WorkerLoad& load,
                                       Clock::time_point now) {
  const Window fresh{now, load.decoded, load.queue_full, load.restarts, load.is_full, {}};
  Window& window = windows_.try_emplace(camera, fresh).first->second;
  const bool is_another = load.decoded < window.decoded || load.queue_full < window.queue_full;  // of that name
  if (is_another || load.is_still || load.restarts != window.restarts) {
    Overload overload = std::move(window.overload);
    window = fresh;
    window.overload = std::move(overload);
  }
  window.always_full = window.always_full && load.is_full;
  if (now - window.begin < window_length) return window.overload;
  const Overload before = std::move(window.overload);
  const std::string problem =
      problem_of(worker, load, load.decoded - window.decoded, load.queue_full - window.queue_full, window.always_full);
  window = fresh;
  window.always_full = true;
  const bool was_overloaded = !before.problem.empty();
  if (!problem.empty()) window.overload = {problem, was_overloaded ? before.since_utc : utc_now_ns()};
  if (!problem.empty() && !was_overloaded) spdlog::warn("{}: {}", camera, problem);
  if (problem.empty() && was_overloaded) spdlog::info("{}: worker {} keeps up again", camera, worker);
  return window.overload;
}

}  // namespace campipe
