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

bool TakesOver::rehearsed(std::int64_t pts, std::uint64_t taken) {
  page_->set_taken_by_new(taken);
  if (!first_pts_) first_pts_ = pts;
  return rehearses() && pts - *first_pts_ >= settling_.count();
}

void TakesOver::get_ready(std::uint64_t newest) { page_->get_ready(newest + 1); }

bool TakesOver::finish(const std::function<bool()>& wait) {
  while (!live_ && !page_->is_cancelled()) {
    live_ = page_->boundary().has_value();
    if (live_ || !wait()) break;
    page_->wait_for_change(Clock::now() + slice);
  }
  return live_;
}

}  // namespace campipe
