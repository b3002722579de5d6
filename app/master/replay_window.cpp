#include "app/master/replay_window.h"

#include <algorithm>
#include <new>

namespace campipe {

void ReplayWindow::add(const AVPacket& packet) {
  const bool key = (packet.flags & AV_PKT_FLAG_KEY) != 0;
  if (groups_.empty() && !key) return;
  AvPacket kept(av_packet_clone(&packet));
  if (!kept) throw std::bad_alloc();
  if (key) groups_.emplace_back();
  const auto bytes = static_cast<std::size_t>(std::max(packet.size, 0));
  groups_.back().packets.push_back({std::move(kept)});
  groups_.back().bytes += bytes;
  ++packets_;
  bytes_ += bytes;
  while (packets_ > most_packets || bytes_ > most_bytes) drop_oldest();
}

void ReplayWindow::seen(std::int64_t packet) {
  for (Group& group : groups_) {
    const std::int64_t at = packet - group.packets.front().packet->pos;
    if (at < 0 || at >= static_cast<std::int64_t>(group.packets.size())) continue;
    ++group.packets[static_cast<std::size_t>(at)].pictures;
    return drop_what_is_over();
  }
}

// A decoder still holds frames of the group before when it gets a key frame, and some that are shown before the key
// frame may be coded behind it. Frames come out in the order in which they are shown: with the key frame, all of
// those have come.
void ReplayWindow::drop_what_is_over() {
  const auto shown = std::find_if(groups_.rbegin(), groups_.rend(),
                                  [](const Group& group) { return group.packets.front().pictures > 0; });
  for (auto count = groups_.rend() - shown; count > 1; --count) drop_oldest();
}

void ReplayWindow::clear() {
  while (!groups_.empty()) drop_oldest();
}

std::multiset<std::int64_t> ReplayWindow::seen_frames() const {
  std::multiset<std::int64_t> pictures;
  for (const Group& group : groups_) {
    for (const Kept& kept : group.packets) {
      for (int i = 0; i < kept.pictures; ++i) pictures.insert(kept.packet->pos);
    }
  }
  return pictures;
}

bool ReplayWindow::replay(const std::function<bool(const AVPacket&)>& each) const {
  return std::ranges::all_of(groups_, [&](const Group& group) {
    return std::ranges::all_of(group.packets, [&](const Kept& kept) { return each(*kept.packet); });
  });
}

void ReplayWindow::drop_oldest() {
  packets_ -= groups_.front().packets.size();
  bytes_ -= groups_.front().bytes;
  groups_.pop_front();
}

}  // namespace campipe
