// The steps of both workers of a move, at each of which one of them may be killed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace campipe::sim {

enum class MoveStep : std::uint8_t {
  offered,    // the old one knows that it is to go over
  passed,     // it keeps a frame
  committed,  // it leaves a frame to the new one
  done,       // it has said that it is done
  rehearses,  // the new one has a frame, which is not its own
  ready,      // it waits for the decision about each frame
  takes,      // it has a frame of its own
  gone_on,    // it has heard that all is its own
};
inline constexpr std::array move_step_names{"offered",   "passed", "committed", "done",
                                            "rehearses", "ready",  "takes",     "gone on"};
inline constexpr std::size_t move_steps = move_step_names.size();
constexpr const char* name_of(MoveStep step) { return move_step_names.at(static_cast<std::size_t>(step)); }

}  // namespace campipe::sim
