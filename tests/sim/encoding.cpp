#include "tests/sim/encoding.h"

#include <array>
#include <utility>

#include "app/control/messages/packet_rings.h"
#include "ipc/accusation.h"
#include "ipc/drop_sum.h"
#include "tests/sim/machine.h"
#include "tests/sim/rates.h"

namespace campipe::sim {
namespace {

constexpr auto publisher_deadline = seconds(30);  // policy block
constexpr std::size_t most_ahead = 64;            // packets of a node that takes over
constexpr std::size_t ring_bytes = 256 << 10;
constexpr std::array<std::uint8_t, 120> packet_bytes{};

}  // namespace

Encoding::Encoding(Child& child, const messages::EncodedOutput& asked, std::shared_ptr<GroupPage> group)
    : child_(child),
      name_(asked.config.name),
      output_(asked.output),
      block_(child.page().encode(asked.output, child.id())),
      policy_(asked.drop_policy),
      epoch_(asked.epoch),
      base_(asked.base),
      half_size_(asked.half_size),
      waits_(asked.waits),
      is_joined_(asked.joined),
      resolved_(asked.base + sum(block_.dropped)),
      resumes_(resolved_ > 0) {
  if (asked.config.on_demand) demand_.emplace(std::vector<OutputId>{asked.output}, child.page());
  events_.beat = [] {};
  events_.abandoned = [] { return false; };
  if (!asked.seat || asked.failed) return;
  group_ = *asked.config.group;
  child.machine().group_watch().on_member(group_.name, name_);
  GroupGate::Stream& behind = *this;
  gate_ = std::make_unique<GroupGate>(asked, std::move(group), block_, events_, behind);
}

bool Encoding::has_room() const { return waits_ ? waiting_.size() < most_ahead : waiting_.empty(); }

void Encoding::give_up(std::uint64_t number, DropCause cause) {
  if (!is_joined_ || number <= resolved_) return;
  counter(block_.dropped, std::exchange(resumes_, false) ? DropCause::worker_lost : cause)
      .fetch_add(number - resolved_);
  resolved_ = number;
}

void Encoding::push(const FrameTimes& times, std::uint64_t number, FrameSize size) {
  newest_ = size;
  give_up(number - 1, DropCause::part_missing);
  resolved_ = number;
  resumes_ = false;
  if (!gate_) return encode({}, times, number);
  if (const auto cause = GroupGate::leaves_out(times)) return drop(*cause);
  FrameTimes own = times;
  own.leased = own.filtered = now_ns();
  gate_->arrive({}, own, number);
  arrived_at_ = Clock::now();
}

bool Encoding::is_done_with_frame() {
  if (!arrived_at_) return true;
  if (!gate_->is_decided(Clock::now())) return false;
  child_.machine().group_watch().on_decision(name_, Clock::now() - *arrived_at_);
  act_undecided();
  return true;
}

void Encoding::act_undecided() {
  if (std::exchange(arrived_at_, std::nullopt)) gate_->act_on_frame();
}

void Encoding::follow() {
  if (gate_ && !arrived_at_ && has_room()) gate_->follow();
}

void Encoding::hand_over() {
  if (gate_) gate_->hand_over();
}

bool Encoding::has_finished() {
  if (!gate_) return true;
  if (!std::exchange(finishes_, true)) gate_->begin_to_finish();
  return gate_->has_finished();
}

void Encoding::encode(const FrameRef& /*frame*/, const FrameTimes& times, std::uint64_t /*number*/) {
  waiting_.push_back({times, newest_, Clock::now()});
}

void Encoding::drop(DropCause cause) { counter(block_.dropped, cause).fetch_add(1); }

void Encoding::note_set(const FrameTimes& times, bool pushed) {
  if (!gate_) return;
  Machine& machine = child_.machine();
  machine.group_watch().on_packet(group_, name_, machine.checks().life_of(name_), times, pushed);
}

bool Encoding::flush() {
  if (waits_) return true;
  while (!waiting_.empty()) {
    if (!push_to_ring(waiting_.front())) return false;
    waiting_.pop_front();
  }
  return true;
}

void Encoding::go_on(const messages::GoOn::Output& from, bool died) {
  waits_ = false;
  if (is_joined_) {
    resolved_ = from.base + sum(block_.dropped);
    resumes_ = died;
  }
  epoch_ = from.epoch;
  base_ = from.base;
  if (gate_) gate_->go_on(from.after);
}

void Encoding::shrink(bool half) {
  if (std::exchange(half_size_, half) == half || !ring_) return;
  end_ring();
}

void Encoding::end_ring() {
  close();
  ring_.reset();
  need_key_ = true;
}

void Encoding::abandon() {
  flush();
  if (!waits_) counter(block_.dropped, DropCause::publisher_slow).fetch_add(waiting_.size());
  waiting_.clear();
}

void Encoding::close() {
  if (!ring_) return;
  ring_->close();
  child_.machine().on_end_of_writing(child_, name_);
}

bool Encoding::push_to_ring(const Waiting& frame) {
  if (demand_ && !demand_->is_there()) {
    drop(DropCause::unwatched);
    return true;
  }
  if (ring_ && frame.size != size_) end_ring();
  if (!ring_) open(frame.size);
  PacketView packet;
  packet.data = packet_bytes;
  packet.key = frames_ == 0 || need_key_ || frames_ % group_of_pictures == 0;
  packet.times = frame.times;
  packet.times.encoded = now_ns();
  packet.dts = frame.times.pts;
  if (ring_->push(packet, Clock::now(), [] { return true; })) {
    need_key_ = false;
    ++pushed_;
    note_set(frame.times, true);
  } else {
    if (policy_ == DropPolicy::block && Clock::now() < frame.since + publisher_deadline) return false;
    need_key_ = true;
    drop(DropCause::publisher_slow);
    note_set(frame.times, false);
    child_.machine().world().reached("packets that the publisher does not take in time");
  }
  ++frames_;
  block_.latency.record(now_ns() - frame.times.arrival);
  return true;
}

void Encoding::open(FrameSize size) {
  StreamParameters stream;
  stream.codec = "h264";
  stream.encoder = "libx264";
  stream.extradata = headers();
  size_ = size;
  stream.format = frame_format(size);
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
