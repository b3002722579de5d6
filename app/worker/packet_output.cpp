#include "app/worker/packet_output.h"

#include <chrono>

#include "core/clock.h"

namespace campipe {
namespace {

constexpr auto publisher_deadline = std::chrono::seconds(30);  // `block`: for a publisher that restarts, or a slow disk

}  // namespace

void PacketOutput::begin(std::size_t capacity, const StreamParameters& parameters) {
  ring_ = std::make_unique<PacketRingWriter>(PacketRingMemory::create(capacity, epoch_, output_.base + pushed_));
  ring_->on_faulty_reader([this] { accuse(block_.accusation, Accused::publisher); });
  events_.on_packets(output_.output, ring_->memory(), epoch_, parameters);
  ++epoch_;
}

// With `drop` it never waits: the packet ring holds several GOPs, and the camera's other outputs, on this
// thread, are not to suffer from a disk that is slow for this one.
bool PacketOutput::push(const PacketView& packet) {
  need_key_ = need_key_ && !packet.key;
  const bool may_wait = output_.drop_policy == DropPolicy::block;
  const Deadline deadline = Clock::now() + (may_wait ? publisher_deadline : std::chrono::seconds(0));
  const auto abandoned = [this] {
    events_.beat();
    return events_.abandoned();
  };
  if (need_key_ || !ring_->push(packet, deadline, abandoned)) {
    need_key_ = true;
    counter(block_.dropped, DropCause::publisher_slow).fetch_add(1);
    return false;
  }
  ++pushed_;
  return true;
}

void PacketOutput::close() {
  if (ring_) ring_->close();
}

}  // namespace campipe
