#include "tests/sim/mover.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/control/messages/answer.h"
#include "app/control/messages/requests.h"
#include "tests/sim/child.h"
#include "tests/sim/machine.h"

namespace campipe::sim {
namespace {

constexpr std::uint64_t most_moves = 14;
constexpr std::uint64_t most_wished_workers = 3;
constexpr unsigned no_worker = 7;
constexpr std::uint64_t death_once_in = 4;
constexpr std::uint64_t most_wished_cameras = 6;
constexpr auto soon_again = milliseconds(1500);  // after the one before, where they come together
constexpr auto answered_within = seconds(10);    // where only deaths have come; so long does the API wait

}  // namespace

std::string describe(const MoveWish& wish) {
  const std::string from = wish.from ? fmt::format(" from worker {}", *wish.from) : "";
  const std::string death = wish.dies_at ? fmt::format(", where one dies: {}", name_of(*wish.dies_at)) : "";
  return fmt::format("{:.3f} s: move camera {}{} to worker {}{}", std::chrono::duration<double>(wish.at).count(),
                     wish.camera, from, wish.worker, death);
}

std::vector<MoveWish> moves_of(std::uint64_t seed, nanoseconds first, nanoseconds last,
                               const std::vector<nanoseconds>& moments) {
  Chance chance(seed * 2 + 2'000'000'011);
  std::vector<MoveWish> moves;
  const std::uint64_t count = chance.one_in(3) ? 0 : 1 + chance.below(most_moves);
  nanoseconds at{0};
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool together = i > 0 && chance.one_in(3);
    at = together ? at + chance.between(nanoseconds(0), soon_again) : chance.between(first, last);
    if (!moments.empty() && chance.one_in(2))
      at = moments[chance.below(moments.size())] + chance.between(-soon_again, milliseconds(500));
    at = std::clamp(at, nanoseconds(0), last);
    const std::uint64_t camera = chance.below(most_wished_cameras);
    const auto worker = static_cast<unsigned>(chance.below(most_wished_workers));
    moves.push_back({at, camera, chance.one_in(16) ? no_worker : worker});
  }
  std::ranges::stable_sort(moves, {}, &MoveWish::at);
  Chance of_death(seed * 2 + 3'000'000'019);
  for (MoveWish& wish : moves) {
    if (of_death.one_in(death_once_in)) wish.dies_at = static_cast<MoveStep>(of_death.below(move_steps));
  }
  return moves;
}

void Mover::ask(const MoveWish& wish) {
  Child* const publisher = machine_.publisher();
  const auto camera = machine_.camera_of(wish.camera);
  if (publisher == nullptr || !camera) return;
  const Number number{publisher->pid(), machine_.next_request()};
  newest_ = *camera;
  unanswered_[number] = {*camera, wish.worker, Clock::now()};
  publisher->send(messages::MoveCamera{number.second, *camera, wish.worker, wish.from});
  if (wish.dies_at) machine_.have_die_at(*wish.dies_at);
  machine_.world().in(answered_within, [this, number] { check_in_time(number); });
}

void Mover::on_answer(pid_t publisher, const messages::Answer& answer) {
  const auto asked = unanswered_.extract({publisher, answer.request});
  if (asked.empty()) return machine_.world().fail("an answer comes to what nobody asked: " + answer.body.dump());
  const bool done = answer.status / 100 == 2;
  machine_.world().reached(done ? "a camera is moved" : "a move is refused");
  if (done && machine_.is_mosaic(asked.mapped().camera)) machine_.world().reached("a mosaic is moved");
  if (!done && answer.body.value("error", "").empty())
    machine_.world().fail("a move is refused without a reason: " + answer.body.dump());
}

void Mover::check_in_time(const Number& number) const {
  const auto asked = unanswered_.find(number);
  const Child* const publisher = machine_.publisher();
  const bool lives = publisher != nullptr && publisher->pid() == number.first;
  if (asked == unanswered_.end() || !lives || machine_.checks().hinders() || machine_.asks_to_end()) return;
  machine_.world().fail(
      fmt::format("to move {} to worker {} has no answer", asked->second.camera, asked->second.worker));
}

void Mover::check() const {
  const Child* const publisher = machine_.publisher();
  for (const auto& [number, asked] : unanswered_) {
    const bool lives = publisher != nullptr && publisher->pid() == number.first;
    if (lives && Clock::now() - asked.at > longest_recovery)
      machine_.world().fail(fmt::format("to move {} to worker {} has no answer", asked.camera, asked.worker));
  }
}

}  // namespace campipe::sim
