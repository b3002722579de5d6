#include "app/worker/packet_output.h"

#include <chrono>
#include <utility>

#include "app/control/messages/run_node.h"
#include "core/clock.h"
#include "ipc/accusation.h"
#include "ipc/drop_causes.h"
#include "ipc/encode_block.h"

namespace campipe {
namespace {

constexpr auto publisher_deadline = std::chrono::seconds(30);  // `block`: for a publisher that restarts, or a slow disk

}  // namespace

PacketOutput::PacketOutput(const messages::EncodedOutput& output, EncodeBlock& block, const OutputEvents& events)
    : output_(output), block_(block), events_(events), waits_(output.waits), epoch_(output.epoch), base_(output.base) {}

void PacketOutput::begin(std::size_t capacity, const StreamParameters& parameters) {
  if (waits_) {
    if (!waiting_.empty() && waiting_.back().packets.empty()) waiting_.pop_back();
    waiting_.push_back({capacity, parameters, {}, false});
    return;
  }
  ring_ = std::make_unique<PacketRingWriter>(PacketRingMemory::create(capacity, epoch_, base_ + pushed_));
  ring_->on_faulty_reader([this] { accuse(block_.accusation, Accused::publisher); });
  events_.on_packets(output_.output, ring_->memory(), epoch_, parameters);
  ++epoch_;
}

bool PacketOutput::push(const PacketView& packet, bool whole) {
  if (!waits_) return push_to_ring(packet, whole);
  WaitingPacket& kept = waiting_.back().packets.emplace_back();
  kept.data.assign(packet.data.begin(), packet.data.end());
  kept.view = packet;
  kept.view.data = {};
  kept.whole = whole;
  return true;
}

void PacketOutput::go_on_from(std::uint64_t epoch, std::uint64_t base) {
  if (!std::exchange(waits_, false)) return;
  epoch_ = epoch;
  base_ = base;
  const auto rings = std::exchange(waiting_, {});
  std::uint64_t left = 0;
  for (const WaitingRing& ring : rings) left += ring.packets.size();
  try {
    for (const WaitingRing& ring : rings) {
      if (ring.packets.empty() && ring.closed) continue;
      begin(ring.capacity, ring.parameters);
      for (const WaitingPacket& packet : ring.packets) {
        PacketView view = packet.view;
        view.data = packet.data;
        --left;
        push_to_ring(view, packet.whole);
      }
      if (ring.closed) close();
    }
  } catch (...) {
    counter(block_.dropped, DropCause::encoder_failed).fetch_add(left);
    throw;
  }
}

// With `drop` it never waits: the packet ring holds several GOPs, and the camera's other outputs, on this
// thread, are not to suffer from a disk that is slow for this one.
bool PacketOutput::push_to_ring(const PacketView& packet, bool whole) {
  need_key_ = need_key_ && !packet.key;
  const bool may_wait = output_.drop_policy == DropPolicy::block;
  const Deadline deadline = Clock::now() + (may_wait ? publisher_deadline : std::chrono::seconds(0));
  const auto abandoned = [this] {
    events_.beat();
    return events_.abandoned();
  };
  const auto exists = whole ? PacketRingWriter::Exists::now : PacketRingWriter::Exists::with_next;
  if (need_key_ || !ring_->push(packet, deadline, abandoned, exists)) {
    need_key_ = true;
    ring_->publish();  // nothing follows that would
    counter(block_.dropped, DropCause::publisher_slow).fetch_add(1);
    return false;
  }
  ++pushed_;
  return true;
}

void PacketOutput::close() {
  if (waits_ && !waiting_.empty()) waiting_.back().closed = true;
  if (ring_) ring_->close();
}

}  // namespace campipe
