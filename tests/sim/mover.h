// Somebody who has cameras moved from one worker to another, by the API: a request is answered once, and in time; what
// is refused has a reason. Which moves there are depends on the seed alone, as faults do (tests/sim/fault.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/move_step.h"
#include "tests/sim/world.h"

namespace campipe {
namespace messages {
struct Answer;
}  // namespace messages

namespace sim {

class Machine;

struct MoveWish {
  nanoseconds at{0};                     // since the beginning
  std::uint64_t camera = 0;              // which one of the rig's, modulo their number
  unsigned worker = 0;                   // its number; there may be none
  std::optional<MoveStep> dies_at = {};  // the worker that comes to it first from now on
  std::optional<unsigned> from = {};     // of a camera of several nodes: which one's worker
};
std::string describe(const MoveWish& wish);
// Between `first` and `last`; many about one of these moments, at which something goes wrong.
std::vector<MoveWish> moves_of(std::uint64_t seed, nanoseconds first, nanoseconds last,
                               const std::vector<nanoseconds>& moments);

class Mover {
 public:
  explicit Mover(Machine& machine) : machine_(machine) {}

  void ask(const MoveWish& wish);
  // Whose move was asked for last; empty: none's.
  [[nodiscard]] const std::string& newest() const { return newest_; }
  // The publisher has it.
  void on_answer(pid_t publisher, const messages::Answer& answer);
  // Long after the last fault: nothing is unanswered.
  void check() const;

 private:
  struct Asked {
    std::string camera;
    unsigned worker = 0;
    Clock::time_point at;
  };
  using Number = std::pair<pid_t, std::uint64_t>;  // of a request

  void check_in_time(const Number& number) const;

  Machine& machine_;
  std::map<Number, Asked> unanswered_;
  std::string newest_;
};

}  // namespace sim
}  // namespace campipe
