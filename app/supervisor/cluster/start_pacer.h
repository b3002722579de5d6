// Cameras that come to a node all at once start a few at a time, each a random moment after it came: sources and cores
// are not asked for everything in one instant. Pure arithmetic; one thread.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/clock.h"

namespace campipe {

class StartPacer {
 public:
  static constexpr std::size_t at_once = 8;
  static constexpr std::chrono::milliseconds longest_delay{250};

  explicit StartPacer(std::uint32_t seed) : random_(seed) {}

  struct Due {
    std::vector<std::string> start{};  // now
    // When to ask again; nothing: when a start is over, or another camera comes.
    std::optional<Clock::time_point> look_again{};
  };
  // `waiting`: all that have to start, the most important first. `starting`: how many have begun to, and neither
  // deliver frames nor have failed.
  Due look(std::span<const std::string> waiting, std::size_t starting, Clock::time_point now) {
    std::map<std::string, Clock::time_point> known;
    for (const std::string& camera : waiting) {
      const auto before = from_.find(camera);
      known.emplace(camera, before != from_.end() ? before->second : now + delay());
    }
    from_ = std::move(known);
    Due due;
    for (const std::string& camera : waiting) {
      if (starting + due.start.size() >= at_once) return {std::move(due.start), std::nullopt};
      const Clock::time_point when = from_.at(camera);
      if (when <= now) {
        due.start.push_back(camera);
        from_.erase(camera);
      } else if (!due.look_again || when < *due.look_again) {
        due.look_again = when;
      }
    }
    return due;
  }

 private:
  std::chrono::milliseconds delay() {
    return std::chrono::milliseconds(std::uniform_int_distribution<long>(0, longest_delay.count())(random_));
  }

  std::map<std::string, Clock::time_point> from_;  // of those that wait
  std::minstd_rand random_;
};

}  // namespace campipe
