#include "tests/sim/encoding.h"

#include <array>
#include <utility>

#include "app/control/messages/packet_rings.h"
#include "ipc/accusation.h"
#include "ipc/drop_causes.h"
#include "tests/sim/machine.h"
#include "tests/sim/rates.h"

namespace campipe::sim {
namespace {

constexpr auto publisher_deadline = seconds(30);  // policy block
constexpr std::size_t most_ahead = 64;            // packets of a node that takes over
constexpr std::size_t ring_bytes = 256 << 10;
constexpr std::array<std::uint8_t, 120> packet_bytes{};

}  // namespace

Encoding::Encoding(Child& child, const messages::EncodedOutput& asked)
    : child_(child),
      name_(asked.config.name),
      output_(asked.output),
      block_(child.page().encode(asked.output, child.id())),
      policy_(asked.drop_policy),
      epoch_(asked.epoch),
      base_(asked.base),
      half_size_(asked.half_size),
      waits_(asked.waits) {
  if (asked.config.on_demand) demand_.emplace(std::vector<OutputId>{asked.output}, child.page());
}

bool Encoding::has_room() const { return waits_ ? waiting_.size() < most_ahead : waiting_.empty(); }

void Encoding::push(const FrameTimes& times) { waiting_.push_back({times, Clock::now()}); }

bool Encoding::flush() {
  if (waits_) return true;
  while (!waiting_.empty()) {
    if (!push_to_ring(waiting_.front())) return false;
    waiting_.pop_front();
  }
  return true;
}

void Encoding::go_on(const messages::GoOn::Output& from) {
  waits_ = false;
  epoch_ = from.epoch;
  base_ = from.base;
}

void Encoding::shrink(bool half) {
  if (std::exchange(half_size_, half) == half || !ring_) return;
  close();
  ring_.reset();
  need_key_ = true;
}

void Encoding::close() {
  if (!ring_) return;
  ring_->close();
  child_.machine().on_end_of_writing(child_, name_);
}

bool Encoding::push_to_ring(const Waiting& frame) {
  if (demand_ && !demand_->is_there()) {
    counter(block_.dropped, DropCause::unwatched).fetch_add(1);
    return true;
  }
  if (!ring_) open();
  PacketView packet;
  packet.data = packet_bytes;
  packet.key = frames_ == 0 || need_key_ || frames_ % group_of_pictures == 0;
  packet.times = frame.times;
  packet.times.encoded = now_ns();
  packet.dts = frame.times.pts;
  if (ring_->push(packet, Clock::now(), [] { return true; })) {
    need_key_ = false;
    ++pushed_;
  } else {
    if (policy_ == DropPolicy::block && Clock::now() < frame.since + publisher_deadline) return false;
    need_key_ = true;
    counter(block_.dropped, DropCause::publisher_slow).fetch_add(1);
    child_.machine().world().reached("packets that the publisher does not take in time");
  }
  ++frames_;
  block_.latency.record(now_ns() - frame.times.arrival);
  return true;
}

void Encoding::open() {
  StreamParameters stream;
  stream.codec = "h264";
  stream.encoder = "libx264";
  stream.extradata = headers();
  stream.format = frame_format();
  stream.frame_rate = frame_rate;
  if (half_size_) {
    stream.format.width /= 2;
    stream.format.height /= 2;
  }
  child_.machine().on_ring(child_, name_, "encoded", epoch_);
  child_.machine().on_writing(child_, name_);
  ring_.emplace(PacketRingMemory::create(ring_bytes, epoch_, base_ + pushed_));
  ring_->on_faulty_reader([this] { accuse(block_.accusation, Accused::publisher); });
  child_.send(messages::PacketRing{output_, epoch_++, stream}, {ring_->memory().fd()});
}

}  // namespace campipe::sim
