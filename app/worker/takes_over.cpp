#include "app/worker/takes_over.h"

namespace campipe {
namespace {

constexpr auto slice = std::chrono::milliseconds(50);

}  // namespace

TakesOver::Frame TakesOver::look_at(std::uint64_t number, const std::function<bool()>& wait) {
  if (live_) return Frame::own;
  HandOver::Owner owner = page_->owner_of(number);
  while (owner == HandOver::Owner::undecided) {
    if (!wait()) return Frame::none;
    owner = page_->wait_for_owner(number, Clock::now() + slice);
  }
  live_ = owner == HandOver::Owner::new_node;
  if (live_) return Frame::own;
  return page_->is_cancelled() ? Frame::none : Frame::rehearse;
}

void TakesOver::rehearsed(std::uint64_t number, std::int64_t pts, std::uint64_t taken, bool all_ready) {
  page_->set_taken_by_new(taken);
  if (!first_pts_) first_pts_ = pts;
  const bool is_settled = pts - *first_pts_ >= settling_.count();
  if (all_ready && is_settled && page_->word().state == HandOver::State::proposed) page_->get_ready(number + 1);
}

bool TakesOver::finish(const std::function<bool()>& wait) {
  while (!live_ && !page_->is_cancelled()) {
    live_ = page_->boundary().has_value();
    if (live_ || !wait()) break;
    page_->wait_for_change(Clock::now() + slice);
  }
  return live_;
}

}  // namespace campipe
