#include "tests/sim/decoding.h"

#include <algorithm>
#include <utility>

#include "app/control/messages/from_master.h"
#include "app/control/ring_descriptors.h"
#include "ipc/accusation.h"
#include "ipc/drop_causes.h"
#include "ipc/ring_slots.h"
#include "tests/sim/machine.h"
#include "tests/sim/rates.h"

namespace campipe::sim {
namespace {

constexpr auto start_deadline = seconds(30);    // for the other processes
constexpr auto worker_deadline = seconds(30);   // policy block: for a worker that takes nothing
constexpr auto worker_away = seconds(5);        // policy drop: for a worker that is restarted
constexpr auto time_to_hand_over = seconds(2);  // once it was stopped
constexpr auto calm = seconds(5);               // in which the worker always had room
constexpr unsigned kept_by_decoder = 2;
constexpr auto farthest = seconds(1);  // of a group's present: what is older is in no set

}  // namespace

Decoding::Decoding(Child& child, const messages::DecodeCamera& asked)
    : child_(child),
      name_(asked.config.name),
      camera_(asked.camera),
      edge_(asked.edge),
      gpu_(asked.placement.decode_gpu),
      block_(child.page().decode(asked.camera, child.id())),
      edge_block_(child.page().edge_writer(asked.edge, child.id())),
      policy_(asked.config.drop_policy),
      queue_(static_cast<unsigned>(asked.config.queue_size)),
      readers_(asked.readers),
      epoch_(asked.epoch),
      base_(asked.base),
      passed_(asked.resume_packet),
      shed_(asked.shed),
      decodes_(asked.decode),
      shown_(asked.shown),
      demand_(asked.on_demand, child.page()) {
  if (const auto note = settle_drop(edge_block_, base_)) dropped_last_ = note;
  if (asked.config.group) sets_.emplace(asked.config.group->rate);
}

void Decoding::add(std::uint64_t epoch, std::shared_ptr<PacketRingMemory> memory) {
  child_.machine().witness().on_ring_given(child_.name(), name_, "packets", epoch);
  feeds_.push_back({epoch, std::move(memory)});
}

void Decoding::step() {
  if (ring_) ring_->service();
  if (over_) return;
  block_.thread.beat.store(now_ns());
  child_.machine().witness().on_decoding_still(child_.name(), name_, began_at_, child_.machine().end());
  for (unsigned i = 0; i < packets_a_step; ++i) {
    if (leaves_ || has_given_up()) return end();
    if (!pending_ && !next_packet()) {
      if (!reader_ && feeds_.empty() && finishes_) return end();
      return;
    }
    if (!take()) return;
  }
}

bool Decoding::has_given_up() const { return stopped_at_ && Clock::now() > *stopped_at_ + time_to_hand_over; }

bool Decoding::next_packet() {
  if (!reader_) {
    if (feeds_.empty()) return false;
    reader_.emplace(feeds_.front().memory, PacketRingReader::WhenFull::reports);
    newest_key_ = 0;
  }
  PacketView packet;
  std::uint64_t number = 0;
  switch (reader_->next(packet, number, Clock::now())) {
    case PacketRingReader::Next::packet:
      pending_ = Pending{packet.dts, number, packet.key, size_in(packet.data), packet.times};
      return true;
    case PacketRingReader::Next::timeout:
      return false;
    case PacketRingReader::Next::broken:
      accuse(block_.accusation, Accused::other_end);
      break;
    default:
      break;
  }
  child_.send(messages::SourceRingDone{camera_, feeds_.front().epoch});
  child_.machine().witness().on_ring_done(name_, "packets", feeds_.front().epoch);
  reader_.reset();
  feeds_.pop_front();
  return false;
}

bool Decoding::take() {
  if (pending_->key && newest_key_ > 0) reader_->release_through(newest_key_ - 1);
  if (pending_->key) newest_key_ = pending_->in_ring;
  if (!has_begun()) return false;
  if (!decodes_ && !is_wanted()) return leave_out();
  if (pending_->key && std::exchange(renew_, false)) close_ring();
  if (ring_ && pending_->size != size_ && !was_passed(pending_->number)) close_ring();
  if (!ring_) open_ring();
  if (!was_passed(pending_->number)) {
    if (is_left_out()) {
      count_drop(edge_block_, DropCause::shed, static_cast<std::uint64_t>(pending_->number), base_ + published_);
    } else {
      if (!may_publish()) return false;
      publish();
    }
    ++frames_;
  }
  reader_->set_taken(pending_->in_ring);
  pending_.reset();
  return true;
}

// Only while somebody watches; from a key frame on that comes when the worker is there.
bool Decoding::is_wanted() {
  if (!shown_ && !demand_.is_there()) {
    close_ring();
    decoded_on_demand_ = false;
    return false;
  }
  if (!ring_) open_ring();
  decoded_on_demand_ = decoded_on_demand_ || (pending_->key && has_reader());
  return decoded_on_demand_;
}

// It is not decoded, and so not counted.
bool Decoding::leave_out() {
  reader_->set_taken(pending_->in_ring);
  pending_.reset();
  return true;
}

// To open a decoder takes time; then all wait for the others.
bool Decoding::has_begun() {
  if (begun_) return true;
  if (!opens_at_) opens_at_ = Clock::now() + child_.takes(milliseconds(5), milliseconds(200));
  if (Clock::now() < *opens_at_) return false;
  if (!decodes_) return begun_ = child_.page().barrier().over(0);
  if (!ring_) open_ring();
  const bool late = Clock::now() > *opens_at_ + start_deadline;
  begun_ = late || (child_.page().barrier().over(0) && has_reader());
  return begun_;
}

// For cameras of a higher priority. Where nothing was decoded, that begins with a key frame.
bool Decoding::is_left_out() {
  if (shed_ == ShedStep::off) {
    is_off_ = true;
  } else if (pending_->key) {
    is_off_ = false;
  }
  return is_off_ || frames_ % kept_one_of(shed_) != 0;
}

bool Decoding::was_passed(std::int64_t number) const {
  if (passed_ && number <= *passed_) return true;
  return dropped_last_ && !dropped_last_->is_before(static_cast<std::uint64_t>(number));
}

bool Decoding::has_reader() {
  return ring_->wait_for_reader(Clock::now(), [] { return true; });
}

bool Decoding::may_publish() {
  if (has_reader()) {
    had_reader_ = true;
    reader_away_since_.reset();
  } else if (policy_ == DropPolicy::drop) {
    if (!had_reader_) return !waits_out_burst();
    if (!reader_away_since_) reader_away_since_ = Clock::now();
    return Clock::now() > *reader_away_since_ + worker_away;
  } else {
    return Clock::now() > pending_->since + worker_deadline;
  }
  if (policy_ == DropPolicy::drop) return !waits_out_burst();
  return has_room() || Clock::now() > pending_->since + worker_deadline;
}

bool Decoding::has_room() {
  return ring_->wait_for_room(
      Clock::now(), [] { return true; }, FrameRingWriter::Readers::all);
}

// What was held up comes at once, and a new ring has no reader yet. For a time the worker may take that in, while newer
// packets wait in their ring; and for as long again once it has kept up.
bool Decoding::waits_out_burst() {
  const auto now = Clock::now();
  if (!has_reader() || !has_room()) {
    if (!waits_since_) waits_since_ = now;
    late_ = now;
    return now - *waits_since_ < burst_left_;
  }
  if (waits_since_) {
    burst_left_ = std::max<nanoseconds>(burst_left_ - (now - *waits_since_), nanoseconds(0));
    waits_since_.reset();
  } else if (now - late_ >= calm) {
    burst_left_ = longest_burst;
  }
  return false;
}

void Decoding::publish() {
  const auto packet = static_cast<std::uint64_t>(pending_->number);
  const auto slot = ring_->claim();
  if (!slot) return count_drop(edge_block_, DropCause::queue_full, packet, base_ + published_);
  FrameRecord record = frame_record(pending_->size);
  record.times = pending_->times;
  record.times.decoded = record.times.published = now_ns();
  if (sets_) enter_set(record.times);
  record.source_number = base_ + published_ + 1;
  record.packet = pending_->number;
  if (ring_->publish(slot->index, record) == FrameRingWriter::Published::yes) {
    ++published_;
  } else {
    count_drop(edge_block_, DropCause::worker_lost, packet, base_ + published_);
  }
  ring_->unpin(slot->index);
}

// As app/master/camera_sets, of a camera that sends its time.
void Decoding::enter_set(FrameTimes& times) {
  times.media_time = times.capture_utc;
  times.capture_clock = CaptureClock::camera;
  times.set_state = SetState::far;
  if (nanoseconds(times.arrival - times.capture_utc) > farthest) return;
  const auto number = sets_->number_of(times.media_time);
  times.set_state = number ? SetState::own : SetState::taken;
  times.set = static_cast<std::uint64_t>(number.value_or(0));
}

void Decoding::open_ring() {
  FrameRingSpec spec;
  spec.slots = ring_slots(kept_by_decoder, queue_, readers_);
  spec.slot_bytes = static_cast<std::size_t>(width) * height * 3 / 2;
  spec.epoch = epoch_;
  spec.base = base_ + published_;
  size_ = pending_->size;
  spec.expected = frame_format(size_);
  ring_ = std::make_unique<FrameRingWriter>(FrameRingMemory::create(spec));
  ring_->on_faulty_reader([this] { accuse(edge_block_.accusation, Accused::other_end); });
  child_.machine().on_ring(child_, name_, "frames", epoch_);
  child_.send(messages::FrameRing{edge_, epoch_++, frame_rate, 0, "h264 (cpu)", MemoryKind::host},
              descriptors_of(ring_->memory()));
}

void Decoding::close_ring() {
  if (!ring_) return;
  ring_->close();
  old_rings_.push_back(std::move(ring_));
}

void Decoding::end() {
  if (ring_) ring_->close();
  over_ = true;
  block_.thread.beat.store(0);
  if (leaves_) return child_.send(messages::DecodingLeft{{camera_}});
  child_.machine().witness().on_all_done(name_, "packets");
  child_.send(messages::DecodingOver{camera_, ""});
}

}  // namespace campipe::sim
