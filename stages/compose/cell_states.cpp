#include "stages/compose/cell_states.h"

#include <algorithm>

namespace campipe {

CellStates::CellStates(const std::vector<CanvasCell>& cells) : cells_(cells.size()) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    for (std::size_t later = i + 1; later < cells.size(); ++later) {
      if (overlap(cells[i].region, cells[later].region)) cells_[i].covers.push_back(later);
    }
  }
  changed_cards_.reserve(cells.size());
  to_draw_.reserve(cells.size());
  is_stale_.resize(cells.size());
}

std::span<const std::size_t> CellStates::set(std::span<const CellContent> contents, bool may_change_cards) {
  changed_cards_.clear();
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    Cell& cell = cells_[i];
    const CellContent& content = contents[i];
    if (content.frame != nullptr) {
      cell.wanted = (content.number + 1) * 2;
      continue;
    }
    if (cell.card == 0 || cell.reason != content.reason || cell.since != content.since) {
      if (!may_change_cards) continue;
      cell.reason = content.reason;
      cell.since = content.since;
      ++cell.card;
      changed_cards_.push_back(i);
    }
    cell.wanted = cell.card * 2 + 1;
  }
  return changed_cards_;
}

CellStates::Drawn& CellStates::drawn_in(const std::uint8_t* pixels) {
  const auto known = std::ranges::find(frames_, pixels, &Drawn::pixels);
  if (known != frames_.end()) return *known;
  return frames_.emplace_back(Drawn{pixels, {}});
}

CellStates::ToDraw CellStates::to_draw(const std::uint8_t* pixels) {
  Drawn& drawn = drawn_in(pixels);
  const bool is_new = drawn.shown.empty();
  drawn.shown.resize(cells_.size(), 0);
  to_draw_.clear();
  is_stale_.assign(cells_.size(), false);
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (!is_stale_[i] && drawn.shown[i] == cells_[i].wanted) continue;
    drawn.shown[i] = cells_[i].wanted;
    to_draw_.push_back(i);
    for (const std::size_t covered_by : cells_[i].covers) is_stale_[covered_by] = true;
  }
  return {is_new, to_draw_};
}

}  // namespace campipe
