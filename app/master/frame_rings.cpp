#include "app/master/frame_rings.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/failpoint.h"
#include "ipc/drop_causes.h"
#include "ipc/drop_note.h"
#include "ipc/edge_blocks.h"
#include "ipc/ring_checks.h"
#include "ipc/ring_slots.h"

namespace campipe {
namespace {

using std::chrono::seconds;

constexpr auto worker_deadline = seconds(30);  // for a worker that was restarted, or a reader that blocks
constexpr auto worker_away = seconds(5);       // likewise with `drop`: a GPU that is gone has been found to be by then
constexpr auto short_burst = seconds(1);       // for which the worker is waited for,
constexpr auto longest_burst = seconds(10);
constexpr auto longest_hand_over = seconds(2);  // for which workers are waited for that a camera goes over between
constexpr auto calm = seconds(5);               // in which the worker always had room: it keeps up

}  // namespace

FrameRings::FrameRings(DecodingContext& camera, OnRing on_ring)
    : camera_(camera),
      on_ring_(std::move(on_ring)),
      publish_range_(camera.name(), "publish"),
      epoch_(camera.start.epoch),
      memory_(camera.start.placement.memory),
      ready_(camera.start.placement.ready) {}

bool FrameRings::StreamKind::is_like(const StreamKind& other) const {
  const double difference = std::abs(frame_rate - other.frame_rate);
  return codec == other.codec && width == other.width && height == other.height && rotation == other.rotation &&
         difference <= 0.1 * std::max(frame_rate, other.frame_rate);
}

FrameRings::StreamKind FrameRings::kind_of(const SourceStream& stream) {
  StreamKind kind{AV_CODEC_ID_NONE, stream.width, stream.height, stream.rotation, stream.frame_rate};
  if (stream.codec == nullptr) return kind;
  kind.codec = stream.codec->codec_id;
  kind.width = stream.codec->width;
  kind.height = stream.codec->height;
  return kind;
}

bool FrameRings::suits(const SourceStream& stream) const {
  return ring_ && kind_of(stream).is_like(kind_) && !ring_->exhausted();
}

// With policy `block` no frame may be lost for want of a slot. When the decoder claims one, at most queue_size slots
// wait for the readers, which leaves `kept` for the decoder besides what readers hold. A slot whose fill by the GPU has
// not completed is one of those: a reader gives it back behind that fill. Only a reader that dies gives back earlier,
// and for those fills the GPU's decoder waits.
void FrameRings::open(CameraDecoder& decoder) {
  const DecodingStart& start = camera_.start;
  const SlotNeeds needs = decoder->needs();
  // Else the supervisor would take this process for one that is out of its mind.
  if (!is_possible(needs.expected, false)) throw Error("the source describes its frames as none can be");
  FrameRingSpec spec;
  spec.slots = ring_slots(needs.kept, static_cast<unsigned>(start.queue_size), start.readers);
  spec.slot_bytes = needs.bytes;
  spec.epoch = epoch_;
  spec.base = start.base + published_;
  RingMemory memory = ring_memory(start.placement, needs.on_gpu);
  if (needs.on_gpu) {
    memory.kind = memory_;
    memory.ready = ready_;
  }
  spec.memory = memory.kind;
  spec.ready = memory.ready;
  spec.device = memory.device;
  spec.expected = needs.expected;
  ring_ = std::make_shared<FrameRingWriter>(FrameRingMemory::create(spec));
  ring_->on_faulty_reader([this] { accuse(camera_.edge.accusation, Accused::other_end); });
  decoder->write_to(ring_);
  kind_ = kind_of(decoder.stream());
  // Where the size has changed in mid-stream, the stream's description is out of date.
  if (needs.expected.width > 0) {
    kind_.width = needs.expected.width;
    kind_.height = needs.expected.height;
  }
  on_ring_(ring_->memory(), decoder.stream(), decoder.name());
  failpoint("ingest.ring", camera_.name());
}

void FrameRings::retire() {
  if (!ring_) return;
  ring_->close();
  expect_burst();  // the worker has to find the next one first
  kind_ = {};      // should no other be made, this one is not taken for a ring of the next connection
  ++epoch_;
  if (ring_->memory().signals() == nullptr) return;
  retired_.add(ring_, Clock::now());
}

void FrameRings::remove() {
  retire();
  ring_.reset();
}

void FrameRings::close() {
  if (ring_) ring_->close();
}

void FrameRings::renew(const std::optional<RingMemory>& memory) {
  if (memory) {
    memory_ = memory->kind;
    ready_ = memory->ready;
  }
  renew_ = true;
}

bool FrameRings::renewal_is_due() { return renew_.exchange(false) || ring_->exhausted(); }

void FrameRings::publish(DecodedFrame& frame) {
  const ProfileRange range(publish_range_, next_number());
  frame.record.times.decoded = frame.record.times.published = now_ns();
  // The worker would accuse this process, and not the camera.
  const std::size_t slot_bytes = ring_->memory().pixels(frame.slot).size();
  if (!is_possible(frame.record, slot_bytes)) throw Error("the source has a frame that cannot be");
  frame.record.source_number = next_number();
  frame.record.packet = frame.packet;
  const auto published = ring_->publish(frame.slot, frame.record);
  if (published == FrameRingWriter::Published::no_reader) {
    count_unpublished(without_reader(), frame.packet);
  } else {
    ++published_;
  }
  failpoint("ingest.published", camera_.name());
}

void FrameRings::count_unpublished(DropCause cause, std::int64_t packet) {
  count_drop(camera_.edge, cause, static_cast<std::uint64_t>(packet), camera_.start.base + published_);
}

DropCause FrameRings::without_reader() const {
  return camera_.stop.given_up() ? DropCause::stopped : DropCause::worker_lost;
}

bool FrameRings::has_reader() {
  return ring_->wait_for_reader(Clock::now(), [] { return true; });
}

bool FrameRings::wait_for_first_reader(Deadline deadline) {
  if (!ring_) return true;
  return ring_->wait_for_reader(deadline, [this] { return camera_.stop.beat_or_stop(); }) || !camera_.stop.stopped();
}

void FrameRings::wait_for_reader(std::chrono::nanoseconds longest) {
  ring_->wait_for_reader(Clock::now() + longest, [this] { return camera_.stop.beat_or_give_up(); });
}

void FrameRings::expect_burst(std::chrono::nanoseconds behind) {
  const auto length = std::min<std::chrono::nanoseconds>(short_burst + 2 * behind, longest_burst);
  in_burst_.left = std::max(in_burst_.left, length);
}

template <typename RoomBy>
std::chrono::nanoseconds FrameRings::wait_with(Patience& patience, std::chrono::nanoseconds anew,
                                               const RoomBy& room_by) {
  constexpr std::chrono::nanoseconds none{0};
  const auto begin = Clock::now();
  if (room_by(begin)) {
    if (begin - patience.late >= calm) patience.left = std::max(patience.left, anew);
    return none;
  }
  patience.late = begin;
  if (patience.left <= none) return none;
  room_by(begin + patience.left);
  const auto waited = Clock::now() - begin;
  patience.left -= waited;
  return waited;
}

// What a connection held up comes at once, and so does what was read to learn what the stream is, and what was read
// while no master was there. For a time the worker may take that in, while newer packets wait in their ring: one that
// takes frames half as fast again as they come is behind no longer after twice the time. One that keeps up is waited
// for as well when another program, or a driver's lock, holds it up for a moment. A worker that is always too slow gets
// no more of it, and what has come to lie behind is dropped.
void FrameRings::wait_out_burst() {
  if (!camera_.start.live && !camera_.start.resume && !takes_bursts_) return;
  const auto interrupted = [this] { return camera_.stop.beat_or_give_up(); };
  const auto room_by = [&](Deadline deadline) {
    return ring_->wait_for_reader(deadline, interrupted) &&
           ring_->wait_for_room(deadline, interrupted, FrameRingWriter::Readers::all);
  };
  wait_with(in_burst_, short_burst, room_by);
}

// While it goes over from one worker to another, neither may lose a frame because it is held up for a moment. What
// waits meanwhile comes as a burst.
void FrameRings::wait_out_hand_over() {
  const auto interrupted = [this] { return camera_.stop.beat_or_give_up(); };
  const auto waited = wait_with(in_hand_over_, longest_hand_over,
                                [&](Deadline deadline) { return ring_->wait_for_room(deadline, interrupted); });
  if (waited <= std::chrono::nanoseconds(0)) return;
  expect_burst(waited);
  takes_bursts_ = true;
}

bool FrameRings::wait_for_room() {
  const bool may_be_published = wait_for_readers();
  if (camera_.stop.left()) throw DecodingWasLeft();
  return may_be_published;
}

// Its worker has died, and another one comes soon, or the camera goes on elsewhere: what comes meanwhile waits in the
// packet ring. What is read then comes as a burst.
void FrameRings::wait_for_successor() {
  if (has_reader()) {
    reader_away_since_.reset();
    had_reader_ = true;
    return;
  }
  if (!had_reader_) return;
  const auto now = Clock::now();
  if (!reader_away_since_) reader_away_since_ = now;
  const Deadline deadline = *reader_away_since_ + worker_away;
  if (now >= deadline || !ring_->wait_for_reader(deadline, [this] { return camera_.stop.beat_or_give_up(); })) return;
  expect_burst(Clock::now() - *reader_away_since_);
  reader_away_since_.reset();
  takes_bursts_ = true;
}

// With policy `block` a frame waits for a reader and for room in its queue, in time; with `drop` only in a burst, and
// for the successor of a reader that died. What is decoded on demand never waits for long either: the source would have
// to wait for its viewers, and with it the copies.
bool FrameRings::wait_for_readers() {
  if (!camera_.start.decode || camera_.start.drop_policy == DropPolicy::drop) {
    if (camera_.start.decode) {
      wait_for_successor();
      wait_out_hand_over();
    }
    wait_out_burst();
    return true;
  }
  const auto interrupted = [this] { return camera_.stop.beat_or_give_up(); };
  const Deadline deadline = Clock::now() + worker_deadline;
  if (!ring_->wait_for_reader(deadline, interrupted)) return false;
  // A reader that takes nothing for so long loses its oldest frames, like one with policy `drop`.
  return ring_->wait_for_room(deadline, interrupted) || !camera_.stop.given_up();
}

void FrameRings::sleep_until(Deadline due) {
  if (!ring_) return camera_.stop.sleep_until(due);
  ring_->sleep_until(due, [this] { return camera_.stop.beat_or_stop(); });
}

void FrameRings::serve() {
  if (ring_) ring_->service();
}

void FrameRings::service(bool over) {
  if (over) serve();
  retired_.drop_old(Clock::now());
}

}  // namespace campipe
