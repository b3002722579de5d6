// Exhaustive exploration of a small model: visits every state that some order of steps can reach, breadth first,
// so that a counter-example is as short as can be. A model is a class with
//
//   State                     a plain struct without padding: two states are equal when their bytes are
//   initial()                 the state everything starts in
//   each_step(state, emit)    calls emit(Step, next state) for every step that any process could do next
//   violation(state)          what is wrong with a state wherever it comes up, or null
//   wrong_end(state)          what is wrong with it as the end of a run, or null
//
// A wait is a step that is not there until its condition holds, never a step that looks again in vain. Then a state
// without steps is an end (good or bad), and a cycle would be a run without end; both are looked for. Steps that may
// happen but need not (a death, a successor) do not count there: nobody's progress may hang on them.
//
// Memory is taken to be sequentially consistent: what the weaker orders of the code allow is not explored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace campipe::model {

// What happened, for the trace: "reader 1: leases frame 2".
struct Step {
  const char* who = "";
  int number = -1;  // which of them; -1: there is only one
  const char* what = "";
  int of = -1;            // a frame, slot or reader that `what` speaks of; -1: none
  bool optional = false;  // it need not happen
};

inline std::ostream& operator<<(std::ostream& out, const Step& step) {
  out << step.who;
  if (step.number >= 0) out << ' ' << step.number;
  out << ": " << step.what;
  if (step.of >= 0) out << ' ' << step.of;
  return out;
}

enum class Outcome { holds, violation, wrong_end, endless, too_large };

inline std::ostream& operator<<(std::ostream& out, Outcome outcome) {
  switch (outcome) {
    case Outcome::holds:
      return out << "holds";
    case Outcome::violation:
      return out << "violation";
    case Outcome::wrong_end:
      return out << "wrong end";
    case Outcome::endless:
      return out << "run without end";
    case Outcome::too_large:
      return out << "too many states";
  }
  return out;
}

struct Verdict {
  Outcome outcome = Outcome::holds;
  std::string reason;      // what is wrong
  std::string trace;       // the steps that lead there, one a line
  std::size_t states = 0;  // explored
  std::size_t ends = 0;    // of them, those in which a run may end
};

inline std::ostream& operator<<(std::ostream& out, const Verdict& verdict) {
  out << verdict.outcome << " (" << verdict.states << " states, " << verdict.ends << " ends)";
  if (!verdict.reason.empty()) out << ": " << verdict.reason << '\n' << verdict.trace;
  return out;
}

// All states seen, numbered in the order of their discovery. They never move: a block at a time, so that growing
// needs no second copy of everything.
template <typename State>
class StateSet {
  static_assert(std::is_trivially_copyable_v<State> && std::has_unique_object_representations_v<State>);

 public:
  using Number = std::uint32_t;
  struct Place {
    Number number = 0;
    bool fresh = false;  // it was not there before
  };

  Place insert(const State& state) {
    if (2 * (size_ + 1) > table_.size()) grow_table();
    const std::uint64_t sum = hash(state);
    Entry& entry = table_[find_entry(state, sum)];
    if (entry.after != 0) return {entry.after - 1, false};
    if (size_ % block_size == 0) blocks_.push_back(std::make_unique_for_overwrite<State[]>(block_size));
    blocks_.back()[size_ % block_size] = state;
    entry = {static_cast<Number>(++size_), tag(sum)};
    return {entry.after - 1, true};
  }

  const State& operator[](std::size_t number) const { return blocks_[number / block_size][number % block_size]; }
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t block_size = std::size_t{1} << 16;

  static std::uint64_t hash(const State& state) {
    std::uint64_t words[(sizeof(State) + 7) / 8] = {};
    std::memcpy(words, &state, sizeof(State));
    std::uint64_t sum = 0;
    for (const std::uint64_t word : words) {
      sum = (sum ^ word) * 0x9e3779b97f4a7c15U;
      sum ^= sum >> 29;
    }
    return sum;
  }

  // States lie all over the memory: those that are others are told by their tags, without a look at them.
  struct Entry {
    Number after = 0;  // the state's number + 1; 0: there is none
    std::uint32_t tag = 0;
  };
  static std::uint32_t tag(std::uint64_t sum) { return static_cast<std::uint32_t>(sum >> 32U); }

  // Where `state` is in the table, or the empty entry where it belongs.
  std::size_t find_entry(const State& state, std::uint64_t sum) const {
    const std::size_t mask = table_.size() - 1;
    const auto is_other = [&](const Entry& entry) {
      return entry.tag != tag(sum) || std::memcmp(&(*this)[entry.after - 1], &state, sizeof(State)) != 0;
    };
    std::size_t at = sum & mask;
    while (table_[at].after != 0 && is_other(table_[at])) at = (at + 1) & mask;
    return at;
  }

  void grow_table() {
    table_.assign(table_.empty() ? block_size : 4 * table_.size(), {});
    for (std::size_t number = 0; number < size_; ++number) {
      const State& state = (*this)[number];
      const std::uint64_t sum = hash(state);
      table_[find_entry(state, sum)] = {static_cast<Number>(number + 1), tag(sum)};
    }
  }

  std::vector<std::unique_ptr<State[]>> blocks_;
  std::vector<Entry> table_;  // its size is a power of two
  std::size_t size_ = 0;
};

template <typename Model>
class Explorer {
 public:
  using State = typename Model::State;

  explicit Explorer(const Model& model, std::size_t most_states = 30'000'000)
      : model_(model), most_states_(most_states) {}

  Verdict run() {
    discover(model_.initial(), 0);
    for (std::size_t at = 0; at < states_.size(); ++at) {
      if (const char* reason = model_.violation(states_[at])) return fail(Outcome::violation, reason, at);
      if (!expand(at)) {
        ++verdict_.ends;
        if (const char* reason = model_.wrong_end(states_[at])) return fail(Outcome::wrong_end, reason, at);
      }
      if (states_.size() > most_states_) return fail(Outcome::too_large, "the model is too large to explore", at);
    }
    check_that_runs_end();
    verdict_.states = states_.size();
    return verdict_;
  }

 private:
  std::size_t discover(const State& state, std::size_t from) {
    const auto place = states_.insert(state);
    if (place.fresh) {
      parents_.push_back(static_cast<std::uint32_t>(from));
      ways_in_.push_back(0);
    }
    return place.number;
  }

  // Adds what follows a state; true if the run must go on.
  bool expand(std::size_t at) {
    bool goes_on = false;
    const State state = states_[at];
    model_.each_step(state, [&](const Step& step, const State& next) {
      goes_on = goes_on || !step.optional;
      next_.push_back(static_cast<std::uint32_t>(discover(next, at)));
      ++ways_in_[next_.back()];
    });
    next_end_.push_back(next_.size());
    return goes_on;
  }

  // Takes away, again and again, the states that no remaining step leads to. What cannot be taken away lies on a
  // cycle or behind one.
  void check_that_runs_end() {
    std::vector<std::uint32_t> open = {0};
    std::size_t taken = 0;
    while (!open.empty()) {
      const std::uint32_t from = open.back();
      open.pop_back();
      ++taken;
      for (std::size_t i = from == 0 ? 0 : next_end_[from - 1]; i < next_end_[from]; ++i) {
        if (--ways_in_[next_[i]] == 0) open.push_back(next_[i]);
      }
    }
    if (taken == states_.size()) return;
    std::size_t first = 0;
    while (ways_in_[first] == 0) ++first;
    fail(Outcome::endless, "steps go round in a circle that is entered about here", first);
  }

  Verdict fail(Outcome outcome, const char* reason, std::size_t at) {
    verdict_.outcome = outcome;
    verdict_.reason = reason;
    verdict_.trace = trace_to(at);
    verdict_.states = states_.size();
    return verdict_;
  }

  std::string trace_to(std::size_t at) const {
    std::vector<std::size_t> path;
    for (; at != 0; at = parents_[at]) path.push_back(at);
    std::ostringstream text;
    std::size_t from = 0;
    for (std::size_t i = path.size(); i-- > 0; from = path[i]) text << "  " << step_between(from, path[i]) << '\n';
    return text.str();
  }

  // Steps are not kept, to have room for more states: the one that led here is found by doing them again.
  Step step_between(std::size_t from, std::size_t to) const {
    Step found;
    model_.each_step(states_[from], [&](const Step& step, const State& next) {
      if (std::memcmp(&next, &states_[to], sizeof(State)) == 0) found = step;
    });
    return found;
  }

  const Model& model_;
  std::size_t most_states_;
  StateSet<State> states_;
  std::vector<std::uint32_t> parents_;  // of each state: the one it was first reached from
  std::vector<std::uint16_t> ways_in_;  // of each state: how many steps lead to it
  std::vector<std::uint32_t> next_;     // where the steps of all states lead, in the order of the states
  std::vector<std::size_t> next_end_;   // of each state: where its part of these ends
  Verdict verdict_;
};

template <typename Model>
Verdict explore(const Model& model) {
  return Explorer<Model>(model).run();
}

}  // namespace campipe::model
