#include "app/link/sending_end.h"

#include <algorithm>
#include <utility>

#include "app/link/session.h"
#include "core/log.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr auto short_slice = 1ms;  // likewise, while frames of the ring may come
constexpr auto last_words = 5s;    // for the peer to settle what was sent, when all is sent
constexpr auto farewell = 200ms;   // for the goodbye

// The part of the slot that has the planes, and where they lie in it.
LinkWire::Bytes body_of(const FrameView& view, FrameRecord& record) {
  record.format = view.format;
  record.stride = view.stride;
  const std::uint8_t* begin = view.data[0];
  const std::uint8_t* end = view.data[0];
  const int planes = plane_count(view.format.pixels);
  for (int plane = 0; plane < planes; ++plane) {
    const auto at = static_cast<std::size_t>(plane);
    const PlaneSize size = plane_size(view.format, plane);
    begin = std::min(begin, view.data.at(at));
    end = std::max(end, view.data.at(at) + std::ptrdiff_t{view.stride.at(at)} * (size.height - 1) + size.width);
  }
  for (int plane = 0; plane < planes; ++plane) {
    const auto at = static_cast<std::size_t>(plane);
    record.offset.at(at) = static_cast<std::uint32_t>(view.data.at(at) - begin);
  }
  return {begin, end};
}

}  // namespace

SendingEnd::SendingEnd(std::unique_ptr<LinkWire> wire, Rules rules)
    : rules_(std::move(rules)),
      counts_(rules_.counts != nullptr ? *rules_.counts : own_counts_),
      taken_(rules_.taken),
      sent_(rules_.taken),
      settled_(std::min(rules_.settled.value_or(rules_.taken), rules_.taken)),
      session_(std::move(wire), rules_.name, rules_.timing, *this, counts_.refused) {
  if (rules_.counts != nullptr) counts_.taken = rules_.taken;
}

link::Hello SendingEnd::hello() { return {.end = link::End::sending, .name = rules_.name}; }

link::Message SendingEnd::beat() { return link::Beat{now_ns(), resolved_}; }

void SendingEnd::run() {
  await_first_connection();
  while (const auto ring = next_ring()) carry(*ring);
  say_goodbye();
}

// Else the first frames of a file are lost, whose ring is there before the connection is.
void SendingEnd::await_first_connection() {
  const Deadline deadline = Clock::now() + rules_.first_connection;
  while (!session_.is_open() && !rings_.is_abandoned() && Clock::now() < deadline) listen(Clock::now() + link_slice);
}

std::optional<LinkedRing> SendingEnd::next_ring() {
  shape_.reset();
  while (!rings_.is_over() && !rings_.is_abandoned()) {
    listen(Clock::now());
    if (auto ring = rings_.next(link_slice)) return ring;
  }
  return std::nullopt;
}

void SendingEnd::carry(const LinkedRing& ring) {
  FrameRingReader reader(ring.memory, ring.seat);
  reader.attach(rules_.policy == DropPolicy::block, rules_.queue);
  shape_ = link::Shape{.expected = ring.memory->expected(),
                       .band_source = ring.memory->band_source(),
                       .slot_bytes = ring.memory->pixels(0).size(),
                       .frame_rate = ring.frame_rate,
                       .rotation = ring.rotation};
  send_shape();
  while (!rings_.is_abandoned()) {
    if (!may_take()) {
      listen(Clock::now() + link_slice);
      continue;
    }
    // What is under way may need this thread (UCX), and is soon done: the peer is heard meanwhile.
    const bool in_flight = session_.is_open() && settled_ < sent_;
    FrameRingReader::Lease lease;
    const auto next = reader.next(lease, in_flight ? Clock::now() : Clock::now() + link_slice);
    resolved_ = reader.resolved();
    if (next == FrameRingReader::Next::frame) {
      hand_on(std::move(lease));
    } else if (next == FrameRingReader::Next::broken) {
      spdlog::error("link {}: its frame ring is damaged; it is abandoned", rules_.name);
      return;
    } else if (next != FrameRingReader::Next::timeout) {
      return;
    }
    const bool waits = in_flight && next == FrameRingReader::Next::timeout;
    listen(waits ? Clock::now() + short_slice : Clock::now());
  }
}

void SendingEnd::say_goodbye() {
  const Deadline deadline = Clock::now() + last_words;
  while (session_.is_open() && settled_ < taken_ && !rings_.is_abandoned() && Clock::now() < deadline) {
    listen(std::min(deadline, Clock::now() + link_slice));
  }
  settle(settled_);
  if (!rings_.is_abandoned()) session_.send(link::Bye{link::Bye::Reason::ended, taken_});
  session_.end(farewell);
  counts_.connected = 0;
}

// What has come, and what comes until `deadline`.
void SendingEnd::listen(Deadline deadline) {
  rules_.beat();
  for (auto event = session_.poll(deadline); event != LinkSession::Event::none; event = session_.poll(Clock::now())) {
    if (event == LinkSession::Event::opened) {
      on_opened();
    } else if (event == LinkSession::Event::message) {
      const auto* const credit = std::get_if<link::Credit>(&session_.message());
      if (credit == nullptr || (credit->shapes > 0 && credit->settled > sent_)) {
        session_.cut_off("it says what cannot be");
      } else if (credit->shapes > 0) {  // else it is of the time before this connection
        on_credit(*credit);
      }
    }
  }
  counts_.connected = session_.is_open() ? 1 : 0;
}

// What was sent over the connection before has been delivered as far as the peer says, which may be another process.
void SendingEnd::on_opened() {
  ++counts_.connections;
  const std::uint64_t delivered = session_.hello().number;
  settle(delivered >= settled_ && delivered <= sent_ ? delivered : settled_);
  shapes_ = 0;
  send_shape();
}

void SendingEnd::send_shape() {
  if (!shape_) return;
  shape_->number = taken_;
  up_to_ = 0;
  if (session_.send(*shape_)) ++shapes_;
}

void SendingEnd::on_credit(const link::Credit& credit) {
  if (credit.settled > settled_) {
    counts_.delivered += credit.settled - settled_;
    settled_ = credit.settled;
  }
  if (credit.shapes == shapes_) up_to_ = credit.up_to;
}

// All up to `delivered` was; what was sent after that is lost. What was not sent has been counted.
void SendingEnd::settle(std::uint64_t delivered) {
  counts_.delivered += delivered - settled_;
  counts_.lost += sent_ - delivered;
  sent_ = settled_ = taken_;
}

bool SendingEnd::may_take() {
  if (!session_.is_open()) return Clock::now() >= open_until_ + rules_.reconnection;
  open_until_ = Clock::now();
  return taken_ < up_to_;
}

void SendingEnd::hand_on(FrameRingReader::Lease lease) {
  ++taken_;
  ++counts_.taken;
  rules_.on_taken(lease.source_number);
  link::Frame frame;
  const LinkWire::Bytes body = body_of(lease.frame.view, frame.record);
  frame.number = taken_;
  frame.resolved = resolved_;
  frame.record.source_number = lease.source_number;
  frame.record.times = lease.times;
  frame.record.metadata = lease.frame.metadata;
  frame.sent = now_ns();
  frame.bytes = body.size();
  counts_.bytes += body.size();
  if (session_.is_open() && session_.send(frame, {body, std::move(lease.frame.owner)})) {
    sent_ = taken_;
    return;
  }
  ++counts_.lost;
  rules_.on_unsent(frame.record.source_number);
  if (session_.is_open()) session_.cut_off("it takes nothing");
}

}  // namespace campipe
