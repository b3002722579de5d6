#include "app/worker/gives_over.h"

namespace campipe {

bool GivesOver::leaves(std::uint64_t number, std::int64_t media_time, std::uint64_t taken) {
  const bool is_in_next_cell = grid_ && grid_->is_due(media_time);
  const bool is_due = !grid_ || (knows_grid_ && is_in_next_cell);
  knows_grid_ = true;
  const HandOver::Word word = page_->word();
  if (word.state == HandOver::State::ready && number >= word.frame) {
    const auto now = Clock::now();
    if (!leave_by_) leave_by_ = now + patience;
    if (is_due || now >= *leave_by_) {
      page_->set_taken_by_old(taken - 1);
      if (page_->commit(number)) return true;
    }
  }
  page_->pass(number);
  return false;
}

}  // namespace campipe
