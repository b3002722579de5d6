#include "app/worker/gives_over.h"

namespace campipe {

bool GivesOver::leaves(const FrameRingReader::Lease& frame, std::uint64_t taken) {
  const bool is_in_next_cell = grid_ && grid_->is_due(frame.times.media_time);
  const bool is_due = !grid_ || (knows_grid_ && is_in_next_cell);
  knows_grid_ = true;
  const HandOver::Word word = page_->word();
  if (word.state == HandOver::State::ready && frame.number >= word.frame) {
    const auto now = Clock::now();
    if (!leave_by_) leave_by_ = now + patience;
    if (is_due || now >= *leave_by_) {
      page_->set_taken_by_old(taken - 1);
      if (page_->commit(frame.number)) return true;
    }
  }
  page_->pass(frame.number);
  return false;
}

}  // namespace campipe
