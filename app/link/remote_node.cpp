#include "app/link/remote_node.h"

#include <utility>

#include "app/control/child.h"
#include "ipc/drop_causes.h"
#include "ipc/edge_blocks.h"
#include "ipc/rig_page.h"

namespace campipe {
namespace {

// That frames which the other node still has come back, one after another, when no more are sent.
constexpr auto patience = std::chrono::seconds(2);

}  // namespace

RemoteNode::RemoteNode(const messages::RunNode& asked, const RigPage& page, Events events)
    : output_(asked.edges.at(0)),
      policy_(asked.drop_policy),
      queue_size_(asked.queue_size),
      events_(std::move(events)),
      block_(page.edge_writer(output_.edge, page.own())),
      counts_(page.link(output_.edge, page.own())),
      next_epoch_(output_.epoch) {}

// Threads of links use the rest.
RemoteNode::~RemoteNode() {
  sending_.reset();
  receiving_.reset();
}

void RemoteNode::send_by(const messages::SendLink& link, const std::optional<LinkKeys>& keys) {
  send_ = link;
  send_keys_ = keys;
  if (sending_) sending_->set_peer({link.address, link.transport, keys});
}

void RemoteNode::receive_by(const messages::ReceiveLink& link, const std::optional<LinkKeys>& keys) {
  receive_ = link;
  receive_keys_ = keys;
  renew();
}

// A ring that has been offered is read by one end alone.
void RemoteNode::add(const LinkedRing& ring) {
  if (sending_) return sending_->add(ring);
  unsent_ = ring;
}

void RemoteNode::begin_sending() {
  SendingEnd::Rules rules;
  rules.on_taken = [this](std::uint64_t number) { flight_.leaves(number); };
  rules.on_unsent = [this](std::uint64_t number) {
    if (flight_.stays(number)) counter(block_.unpublished, DropCause::link_lost).fetch_add(1);
  };
  LinkCounts& counts = begin_counts(counts_.there, send_->again);
  messages::SendLink link = *send_;
  link.taken = counts.taken;
  link.drop_policy = policy_;
  link.queue_size = queue_size_;
  sending_ = std::make_unique<SendingThread>(link, send_keys_, counts, std::move(rules));
  if (unsent_) sending_->add(*std::exchange(unsent_, std::nullopt));
}

void RemoteNode::begin_receiving() {
  ReceivingThread::Events events;
  events.on_listens = [this](unsigned port) { events_.on_listens(output_.edge, port); };
  events.on_ring = [this](const FrameRingMemory& ring, std::uint64_t epoch, double frame_rate, int /*rotation*/) {
    next_epoch_ = epoch + 1;
    events_.on_ring(output_.edge, ring, epoch, frame_rate);
  };
  events.on_faulty_reader = [this] { accuse(block_.accusation, Accused::other_end); };
  events.on_dropped = [this](DropCause cause) { counter(block_.unpublished, cause).fetch_add(1); };
  events.wanted = [this](std::uint64_t number) {
    const Flight::Arrival arrival = flight_.comes_back(number);
    if (arrival.lost > 0) counter(block_.unpublished, DropCause::link_lost).fetch_add(arrival.lost);
    return arrival.is_awaited;
  };
  messages::ReceiveLink link = *receive_;
  LinkCounts& counts = begin_counts(counts_.counts, link.again);
  receive_->again = true;
  link.drop_policy = output_.drop_policy;
  link.queue_size = output_.queue_size;
  link.epoch = next_epoch_;
  link.base = output_.base;
  receiving_ = std::make_unique<ReceivingThread>(std::move(link), receive_keys_, counts, std::move(events));
}

void RemoteNode::tick() {
  if ((sending_ && sending_->hangs()) || (receiving_ && receiving_->hangs()))
    fail_process("a thread of a link to another node hangs");
  if (sending_ && sending_->is_over()) {
    sending_.reset();
    sent_all_ = true;
  }
  if (!sending_ && !sent_all_ && send_) begin_sending();
  if (receiving_ && renews_) receiving_->leave();
  if (receiving_ && receiving_->is_over()) {
    output_.base = receiving_->base();
    receiving_.reset();
    renews_ = false;
  }
  if (!finishing_) {
    if (!receiving_ && receive_) begin_receiving();
    return;
  }
  is_done_ = drain();
}

// First all goes there, then what is made of it comes back.
bool RemoteNode::drain() {
  if (abandoned_ && sending_) sending_->leave();
  if (!sending_) {
    sent_all_ = true;
  } else {
    sending_->finish();
  }
  const auto now = Clock::now();
  if (!sent_all_ || flight_.size() != std::exchange(under_way_, flight_.size())) progress_ = now;
  const bool waits = receiving_ && !abandoned_ && (!sent_all_ || (under_way_ > 0 && now - progress_ < patience));
  if (waits) return false;
  if (receiving_) {
    receiving_->leave();
    return false;
  }
  if (sending_) return false;
  const std::size_t lost = flight_.give_up();
  if (lost > 0) counter(block_.unpublished, DropCause::link_lost).fetch_add(lost);
  return true;
}

}  // namespace campipe
