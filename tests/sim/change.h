// What people do with a rig while it runs: they edit its file, have it read again, and ask through its API. As faults
// are (tests/sim/fault.h), these are a list that depends on the seed alone, of which any part can be left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/config/changes.h"
#include "tests/sim/mover.h"
#include "tests/sim/world.h"

namespace campipe::sim {

enum class ChangeKind : std::uint8_t {
  edit,            // of the file, which nobody reads yet
  reload,          // likewise, and SIGHUP
  api_reload,      // likewise, and the API is asked to read it
  put,             // a camera that is changed, or new
  remove,          // a camera
  enable,          // likewise
  disable,         // likewise
  record,          // likewise
  stop_recording,  // likewise
  watch,           // likewise, for some seconds
  strange,         // what there is not, or has mistakes
};
inline constexpr std::size_t change_kinds = 11;
const char* name_of(ChangeKind kind);

// Of the process that reads the configuration for it, or writes its overlay.
enum class LoadTrouble : std::uint8_t {
  none,
  slow,          // each step takes seconds
  hangs,         // before it has read it
  held_by_disk,  // likewise, and it does not end when it is killed
  crashes,       // likewise
  crashes_late,  // when it has read or written it
  lingers,       // it does not end once it has reported
  cannot_start,
};
inline constexpr std::size_t load_troubles = 8;
const char* name_of(LoadTrouble trouble);

struct Change {
  ChangeKind kind = ChangeKind::edit;
  nanoseconds at{0};         // since the beginning
  std::uint64_t camera = 0;  // which one
  std::uint64_t detail = 0;  // what becomes of it
  bool lasts = false;        // it is kept in the overlay
  LoadTrouble trouble = LoadTrouble::none;
  ConfigPart part = ConfigPart::camera;  // of the rig, where that can be changed
};
std::string describe(const Change& change);

// Between `first` and `last`.
std::vector<Change> changes_of(std::uint64_t seed, nanoseconds first, nanoseconds last);
// Likewise, of a rig whose group and mosaic are changed, too: many about one of these moments, at which something goes
// wrong, or while one of these moves is under way.
std::vector<Change> changes_of_all(std::uint64_t seed, nanoseconds first, nanoseconds last,
                                   const std::vector<nanoseconds>& moments, const std::vector<MoveWish>& moves);

}  // namespace campipe::sim
