#include "tests/sim/frame_output.h"

#include <fmt/format.h>

#include <utility>

#include "app/control/messages/from_worker.h"
#include "app/control/ring_descriptors.h"
#include "ipc/accusation.h"
#include "ipc/drop_causes.h"
#include "ipc/ring_slots.h"
#include "tests/sim/machine.h"
#include "tests/sim/rates.h"

namespace campipe::sim {
namespace {

// As app/worker/ring_output.
constexpr auto reader_deadline = seconds(30);   // policy block: for one that was restarted, or is slow
constexpr auto dropping_deadline = seconds(1);  // policy drop: for one that is slow
constexpr auto coming_deadline = seconds(2);    // likewise: for one to come to a ring that is new

bool never() { return false; }

}  // namespace

FrameOutput::FrameOutput(Child& child, const messages::WrittenEdge& asked)
    : child_(child),
      edge_(asked.edge),
      block_(child.page().edge_writer(asked.edge, child.id())),
      is_cell_(asked.cell),
      policy_(asked.drop_policy),
      queue_(asked.queue_size),
      readers_(asked.readers),
      epoch_(asked.epoch),
      base_(asked.base) {}

bool FrameOutput::is_ready(FrameSize size) {
  const bool is_other = std::exchange(size_, size) != size;
  if (!ring_ || is_other || std::exchange(renew_, false)) open();
  if (!since_) {
    since_ = Clock::now();
    awaits_ = std::exchange(is_new_, false);
  }
  const Room found = room();
  if (found == Room::wait) return false;
  return found == Room::no_reader || claim();
}

FrameOutput::Room FrameOutput::room() {
  if (is_cell_) return ring_->wait_for_reader(Clock::now(), never) ? Room::yes : Room::no_reader;
  const nanoseconds waited = Clock::now() - *since_;
  if (policy_ == DropPolicy::drop) return room_dropping(waited);
  const bool has_reader = ring_->wait_for_reader(Clock::now(), never);
  const bool has_room = has_reader && ring_->wait_for_room(Clock::now(), never);
  if (has_room) return Room::yes;
  if (waited < reader_deadline) return Room::wait;
  return has_reader ? Room::yes : Room::no_reader;
}

FrameOutput::Room FrameOutput::room_dropping(nanoseconds waited) {
  if (!ring_->wait_for_reader(Clock::now(), never))
    return awaits_ && waited < coming_deadline ? Room::wait : Room::no_reader;
  const bool has_room = ring_->wait_for_room(Clock::now(), never, FrameRingWriter::Readers::all);
  if (!has_room && !is_stuck_ && waited < dropping_deadline) return Room::wait;
  is_stuck_ = !has_room;
  return Room::yes;
}

// False: with policy block it waits for a slot.
bool FrameOutput::claim() {
  if (!slot_) slot_ = ring_->claim();
  return slot_ || policy_ == DropPolicy::drop || Clock::now() - *since_ >= 2 * reader_deadline;
}

void FrameOutput::write(const FrameTimes& times, std::uint64_t source_number) {
  since_.reset();
  const auto slot = std::exchange(slot_, std::nullopt);
  if (!slot) {
    const bool has_reader = ring_->wait_for_reader(Clock::now(), never);
    counter(block_.unpublished, has_reader ? DropCause::queue_full : DropCause::worker_lost).fetch_add(1);
    return ring_->resolve(source_number);
  }
  FrameRecord record = frame_record(size_);
  record.times = times;
  record.times.published = now_ns();
  record.source_number = source_number;
  if (ring_->publish(slot->index, record) == FrameRingWriter::Published::yes) {
    ++published_;
  } else {
    counter(block_.unpublished, DropCause::worker_lost).fetch_add(1);
  }
  ring_->unpin(slot->index);
  ring_->resolve(source_number);
}

void FrameOutput::lose(std::uint64_t source_number) {
  counter(block_.unpublished, DropCause::worker_lost).fetch_add(1);
  if (ring_) ring_->resolve(source_number);
}

void FrameOutput::go_on(const messages::GoOn::Edge& from) {
  epoch_ = from.epoch;
  base_ = from.base;
}

void FrameOutput::service() {
  if (ring_) ring_->service();
}

void FrameOutput::open() {
  close();
  FrameRingSpec spec;
  spec.slots = ring_slots(1, queue_, readers_);
  spec.slot_bytes = static_cast<std::size_t>(width) * height * 3 / 2;
  spec.epoch = epoch_;
  spec.base = base_ + published_;
  spec.expected = frame_format(size_);
  ring_ = std::make_unique<FrameRingWriter>(FrameRingMemory::create(spec));
  ring_->on_faulty_reader([this] { accuse(block_.accusation, Accused::other_end); });
  is_stuck_ = false;
  is_new_ = true;
  child_.machine().on_writing(child_, fmt::format("edge {}", edge_.index()));
  child_.send(messages::FrameRing{edge_, epoch_++, frame_rate, 0, "", MemoryKind::host},
              descriptors_of(ring_->memory()));
}

void FrameOutput::close() {
  if (!ring_) return;
  ring_->close();
  ring_.reset();
  slot_.reset();
  child_.machine().on_end_of_writing(child_, fmt::format("edge {}", edge_.index()));
}

}  // namespace campipe::sim
