// Which cells have to be drawn. A pool hands the same few frames out again and again; a cell that shows in such a frame
// what it has to show already is not drawn anew. That is the same for frames in any memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stages/compose/canvas.h"

namespace campipe {

class CellStates {
 public:
  explicit CellStates(const std::vector<CanvasCell>& cells);

  // What all cells are to show from now on. `may_change_cards`: false: a card keeps its text, and a cell that has just
  // lost its frames keeps what it shows, until a call with true. Returns the cells whose cards have another text.
  std::span<const std::size_t> set(std::span<const CellContent> contents, bool may_change_cards);

  // The text of a cell's card.
  [[nodiscard]] const std::string& reason(std::size_t cell) const { return cells_[cell].reason; }
  [[nodiscard]] const std::string& since(std::size_t cell) const { return cells_[cell].since; }

  struct ToDraw {
    bool everything;                     // it is a new frame, whose background is to be drawn first
    std::span<const std::size_t> cells;  // in this order
  };
  // For the frame whose pixels begin at `pixels`, which the caller then draws.
  ToDraw to_draw(const std::uint8_t* pixels);

 private:
  struct Cell {
    std::vector<std::size_t> covers;  // later cells that lie on it
    std::string reason;
    std::string since;
    std::uint64_t card = 0;    // counts its texts
    std::uint64_t wanted = 0;  // twice the number of a frame or card, and 1 for a card; nothing yet: 0
  };
  struct Drawn {
    const std::uint8_t* pixels;
    std::vector<std::uint64_t> shown;
  };

  Drawn& drawn_in(const std::uint8_t* pixels);

  std::vector<Cell> cells_;
  std::vector<Drawn> frames_;
  std::vector<std::size_t> changed_cards_;
  std::vector<std::size_t> to_draw_;
  std::vector<bool> is_stale_;
};

}  // namespace campipe
