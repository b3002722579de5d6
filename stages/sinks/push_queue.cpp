#include "stages/sinks/push_queue.h"

#include <utility>

namespace campipe {

std::uint64_t PushQueue::add(PushPacket packet) {
  if (stream_ != packet.stream) need_key_ = true;
  stream_ = packet.stream;
  if (need_key_ && !packet.key) return 1;
  need_key_ = false;
  bytes_ += static_cast<std::size_t>(packet.data->size);
  packets_.push_back(std::move(packet));
  std::uint64_t lost = 0;
  while (!packets_.empty() && is_full()) {
    take();
    lost += 1 + drop_to_key();
  }
  return lost;
}

std::uint64_t PushQueue::drop_to_key() {
  std::uint64_t lost = 0;
  for (; !packets_.empty() && !packets_.front().key; ++lost) take();
  if (packets_.empty()) need_key_ = true;
  return lost;
}

std::uint64_t PushQueue::clear() {
  const std::uint64_t lost = packets_.size();
  packets_.clear();
  bytes_ = 0;
  need_key_ = true;
  return lost;
}

PushPacket PushQueue::take() {
  PushPacket packet = std::move(packets_.front());
  packets_.pop_front();
  bytes_ -= static_cast<std::size_t>(packet.data->size);
  return packet;
}

bool PushQueue::is_full() const {
  return bytes_ > max_bytes_ || packets_.back().dts - packets_.front().dts > max_time_.count();
}

}  // namespace campipe
