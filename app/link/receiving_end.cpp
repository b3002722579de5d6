#include "app/link/receiving_end.h"

#include <algorithm>
#include <utility>

#include "app/link/session.h"
#include "core/error.h"
#include "core/log.h"
#include "ipc/drop_causes.h"
#include "ipc/ring_slots.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr auto room_slice = 5ms;        // likewise for room
constexpr auto reader_deadline = 30s;   // `block`: for a reader that was restarted, or is slow
constexpr auto dropping_deadline = 1s;  // `drop`: for one that is slow
constexpr auto coming_deadline = 2s;    // likewise: for one to come to a ring that is new

bool never() { return false; }

}  // namespace

ReceivingEnd::ReceivingEnd(std::unique_ptr<LinkWire> wire, Rules rules, Events events)
    : rules_(std::move(rules)),
      events_(std::move(events)),
      counts_(rules_.counts != nullptr ? *rules_.counts : own_counts_),
      epoch_(rules_.epoch),
      published_(rules_.base),
      received_(rules_.settled),
      settled_(rules_.settled),
      answered_(rules_.settled),
      session_(std::move(wire), rules_.name, rules_.timing, *this, counts_.refused) {}

// Until the wire is closed bodies may arrive in the ring's slots.
ReceivingEnd::~ReceivingEnd() {
  session_.end(0ms);
  close_ring();
}

link::Hello ReceivingEnd::hello() { return {.end = link::End::receiving, .name = rules_.name, .number = answered_}; }

// Before a ring has begun there is no credit; what is settled is of the time before.
link::Message ReceivingEnd::beat() { return link::Credit{shapes_, std::max(up_to_, settled_), settled_}; }

void ReceivingEnd::run() {
  while (!events_.left() && (!is_over_ || !waiting_.empty())) {
    events_.beat();
    step();
  }
  session_.end(0ms);  // first: until then bodies may arrive in the ring's slots
  close_ring();
  counts_.connected = 0;
}

void ReceivingEnd::step() {
  counts_.connected = session_.is_open() ? 1 : 0;
  if (ring_) ring_->service();
  publish_what_may();
  if (next_ && waiting_.empty()) open_ring(*std::exchange(next_, std::nullopt));
  claim_slots();
  give_credit();
  if (waiting_.empty()) return on_event(session_.poll(Clock::now() + link_slice));
  wait_for_readers();
  if (next_ || is_over_) return session_.keep_up();  // what comes is of the next ring
  on_event(session_.poll(Clock::now()));
}

void ReceivingEnd::on_event(LinkSession::Event event) {
  switch (event) {
    case LinkSession::Event::none:
      return;
    case LinkSession::Event::opened:
      ++counts_.connections;
      clock_ = {};
      shapes_ = 0;
      ring_rate_ = {};
      return;
    case LinkSession::Event::message:
      return on_message(session_.message());
    case LinkSession::Event::lost:
      return on_lost();
  }
}

void ReceivingEnd::on_message(const link::Message& message) {
  if (const auto* const frame = std::get_if<link::Frame>(&message)) return on_frame(*frame);
  if (const auto* const shape = std::get_if<link::Shape>(&message)) return on_shape(*shape);
  if (const auto* const bye = std::get_if<link::Bye>(&message)) return on_bye(*bye);
  const auto* const beat = std::get_if<link::Beat>(&message);
  if (beat == nullptr) return cut_off("it says what cannot be");
  clock_.heard(beat->sent, now_ns());
  resolved_ = beat->resolved;
  if (ring_ && waiting_.empty()) ring_->resolve(resolved_);
}

void ReceivingEnd::on_shape(const link::Shape& shape) {
  if (shape.slot_bytes > rules_.largest_slot) return cut_off("its frames are larger than this end allows");
  if (!ring_rate_.allows(Clock::now()))
    return cut_off(fmt::format("it begins more than {} rings a second", RingRate::most));
  // A wire places bodies ahead: in slots of the ring that is about to be closed.
  if (!filling_.empty()) return cut_off("it sends a frame before this end has the next ring");
  count_gap(shape.number);
  ++shapes_;
  next_ = shape;
}

// Those up to this one that have not come are lost. A peer that was restarted may count anew.
void ReceivingEnd::count_gap(std::uint64_t number) {
  if (number > received_) counts_.lost += number - received_;
  received_ = number;
  if (waiting_.empty()) settle(answered_ = received_);
}

void ReceivingEnd::settle(std::uint64_t number) { counts_.settled = settled_ = number; }

void ReceivingEnd::open_ring(const link::Shape& shape) {
  close_ring();
  FrameRingSpec spec;
  spec.slots = ring_slots(rules_.window, rules_.queue, rules_.readers);
  spec.slot_bytes = shape.slot_bytes;
  spec.epoch = epoch_;
  spec.base = published_;
  spec.expected = shape.expected;
  spec.band_source = shape.band_source;
  ring_ = std::make_shared<FrameRingWriter>(FrameRingMemory::create(spec));
  ring_->on_faulty_reader(events_.on_faulty_reader);
  slot_bytes_ = shape.slot_bytes;
  is_new_ = true;
  is_stuck_ = false;
  events_.on_ring(ring_->memory(), epoch_, shape.frame_rate, shape.rotation);
  ++epoch_;
}

void ReceivingEnd::close_ring() {
  if (!ring_) return;
  for (auto* const slots : {&ready_, &filling_}) {
    for (const auto& slot : *slots) ring_->unpin(slot.index);
    slots->clear();
  }
  for (const Filled& filled : waiting_) ring_->unpin(filled.slot);
  waiting_.clear();
  waits_until_.reset();
  ring_->close();
  ring_.reset();
}

// What waits was not published, and the next hello does not count it: it is lost for both ends.
void ReceivingEnd::on_lost() {
  counts_.lost += received_ - settled_;
  settle(received_);
  close_ring();
  next_.reset();
  up_to_ = told_ = 0;
}

void ReceivingEnd::cut_off(const std::string& reason) {
  session_.cut_off(reason);
  on_lost();
}

std::span<std::uint8_t> ReceivingEnd::place(const link::Frame& frame) {
  const bool is_next = frame.number == received_ + filling_.size() + 1;
  if (!is_next || next_ || ready_.empty() || frame.bytes > slot_bytes_) return {};
  filling_.push_back(ready_.front());
  ready_.pop_front();
  return filling_.back().pixels.first(frame.bytes);
}

void ReceivingEnd::on_frame(const link::Frame& frame) {
  clock_.heard(frame.sent, now_ns());
  counts_.bytes += frame.bytes;
  received_ = frame.number;
  resolved_ = frame.resolved;
  waiting_.push_back({filling_.front().index, frame});
  filling_.pop_front();
}

void ReceivingEnd::on_bye(const link::Bye& bye) {
  if (bye.reason != link::Bye::Reason::ended || bye.number < received_) return cut_off("it says what cannot be");
  count_gap(bye.number);
  is_over_ = true;
}

void ReceivingEnd::publish_what_may() {
  while (!waiting_.empty() && may_publish()) {
    publish(waiting_.front());
    waiting_.pop_front();
    waits_until_.reset();
  }
}

// As RingOutput::wait_for_room(), a little at a time.
bool ReceivingEnd::may_publish() {
  const bool drops = rules_.policy == DropPolicy::drop;
  const auto now = Clock::now();
  if (!waits_until_) {
    const auto patience = is_new_ ? Clock::duration(coming_deadline) : Clock::duration(dropping_deadline);
    waits_until_ = now + (drops ? (is_stuck_ ? Clock::duration(0) : patience) : Clock::duration(reader_deadline));
  }
  const bool has_room = ring_->wait_for_reader(now, never) && ring_->wait_for_room(now, never, readers());
  is_stuck_ = !has_room && now >= *waits_until_;
  return has_room || is_stuck_;
}

FrameRingWriter::Readers ReceivingEnd::readers() const {
  return rules_.policy == DropPolicy::drop ? FrameRingWriter::Readers::all : FrameRingWriter::Readers::blocking;
}

// For a moment only: the peer has to be heard, too.
void ReceivingEnd::wait_for_readers() {
  const Deadline until = std::min(waits_until_.value_or(Deadline::max()), Clock::now() + room_slice);
  if (ring_->wait_for_reader(until, never)) ring_->wait_for_room(until, never, readers());
}

void ReceivingEnd::publish(const Filled& filled) {
  FrameRecord record = filled.frame.record;
  FrameTimes& times = record.times;
  times.arrival = clock_.here(times.arrival);
  times.decoded = clock_.here(times.decoded);
  times.published = now_ns();
  if (!events_.wanted(record.source_number)) {
    ++counts_.dropped;
  } else if (ring_->publish(filled.slot, record) == FrameRingWriter::Published::no_reader) {
    ++counts_.dropped;
    events_.on_dropped(DropCause::worker_lost);
  } else {
    ++published_;
    ++counts_.delivered;
  }
  ring_->unpin(filled.slot);
  ring_->resolve(filled.frame.resolved);
  is_new_ = false;
  settle(answered_ = filled.frame.number);
}

void ReceivingEnd::claim_slots() {
  if (!ring_ || !session_.is_open() || next_) return;
  while (ready_.size() + filling_.size() + waiting_.size() < rules_.window) {
    const auto slot = ring_->claim();
    if (!slot) return;
    ready_.push_back(*slot);
  }
}

void ReceivingEnd::give_credit() {
  if (!ring_ || !session_.is_open() || next_) return;
  const std::uint64_t up_to = received_ + filling_.size() + ready_.size();
  if (up_to == up_to_ && settled_ == told_) return;
  up_to_ = up_to;
  told_ = settled_;
  session_.send(beat());
}

}  // namespace campipe
