#include "tests/sim/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace campipe::sim {
namespace {

constexpr std::uint64_t most_changes = 8;
constexpr auto closely = milliseconds(1500);  // after the one before, where they come together
// Each as often as it stands here.
constexpr std::array chosen{
    ChangeKind::edit,    ChangeKind::reload,  ChangeKind::reload,     ChangeKind::reload,
    ChangeKind::put,     ChangeKind::put,     ChangeKind::put,        ChangeKind::put,
    ChangeKind::remove,  ChangeKind::remove,  ChangeKind::api_reload, ChangeKind::enable,
    ChangeKind::enable,  ChangeKind::disable, ChangeKind::record,     ChangeKind::stop_recording,
    ChangeKind::strange, ChangeKind::watch,   ChangeKind::watch};

}  // namespace

const char* name_of(ChangeKind kind) {
  constexpr std::array names{"edit",    "reload", "api_reload",     "put",   "remove", "enable",
                             "disable", "record", "stop_recording", "watch", "strange"};
  static_assert(names.size() == change_kinds);
  return names.at(static_cast<std::size_t>(kind));
}

const char* name_of(LoadTrouble trouble) {
  constexpr std::array names{"none",    "slow",         "hangs",   "held_by_disk",
                             "crashes", "crashes_late", "lingers", "cannot_start"};
  static_assert(names.size() == load_troubles);
  return names.at(static_cast<std::size_t>(trouble));
}

std::string describe(const Change& change) {
  std::string text =
      fmt::format("{:.3f} s: {} {} {} ({}{})", std::chrono::duration<double>(change.at).count(), name_of(change.kind),
                  name_of(change.part), change.camera, change.detail, change.lasts ? ", lasts" : "");
  if (change.trouble != LoadTrouble::none) text += fmt::format("; its process: {}", name_of(change.trouble));
  return text;
}

std::vector<Change> changes_of(std::uint64_t seed, nanoseconds first, nanoseconds last) {
  Chance chance(seed * 2 + 1'000'000'007);
  std::vector<Change> changes;
  if (chance.one_in(3)) return changes;
  const bool one_camera = chance.one_in(3);
  const bool load_fails = chance.one_in(3);
  const std::uint64_t count = 1 + chance.below(most_changes);
  nanoseconds at{0};
  for (std::uint64_t i = 0; i < count; ++i) {
    Change change;
    change.kind = chosen.at(chance.below(chosen.size()));
    const bool together = i > 0 && chance.one_in(2);
    at = std::min(together ? at + chance.between(nanoseconds(0), closely) : chance.between(first, last), last);
    change.at = at;
    const std::uint64_t camera = chance.below(4);  // the first one more often
    change.camera = one_camera || camera == 3 ? 0 : camera;
    change.detail = chance.below(128);
    change.lasts = chance.one_in(4);
    if (load_fails && chance.one_in(2)) change.trouble = static_cast<LoadTrouble>(chance.below(load_troubles));
    changes.push_back(change);
  }
  std::ranges::stable_sort(changes, {}, &Change::at);
  return changes;
}

std::vector<Change> changes_of_all(std::uint64_t seed, nanoseconds first, nanoseconds last,
                                   const std::vector<nanoseconds>& moments, const std::vector<MoveWish>& moves) {
  constexpr milliseconds while_moved(300);  // that a change takes to be read, and a move to be over
  Chance chance(seed * 2 + 4'000'000'007);
  std::vector<Change> changes;
  const bool load_fails = chance.one_in(6);
  const std::uint64_t count = 1 + chance.below(most_changes);
  for (std::uint64_t i = 0; i < count; ++i) {
    Change change;
    change.kind = chosen.at(chance.below(chosen.size()));
    change.at = chance.between(first, last);
    if (!moments.empty() && !chance.one_in(3))
      change.at = moments[chance.below(moments.size())] + chance.between(-closely, 2 * closely);
    if (!moves.empty() && chance.one_in(2))
      change.at = moves[chance.below(moves.size())].at + chance.between(-while_moved, while_moved);
    change.at = std::clamp(change.at, nanoseconds(0), last);
    change.camera = chance.below(8);
    change.detail = chance.below(128);
    change.lasts = chance.one_in(6);
    constexpr std::array parts{ConfigPart::camera, ConfigPart::camera, ConfigPart::mosaic, ConfigPart::group};
    change.part = parts.at(chance.below(parts.size()));
    if (load_fails && chance.one_in(2)) change.trouble = static_cast<LoadTrouble>(chance.below(load_troubles));
    changes.push_back(change);
  }
  std::ranges::stable_sort(changes, {}, &Change::at);
  return changes;
}

}  // namespace campipe::sim
