#include "app/remote/guest_node.h"

#include <utility>

#include "app/control/messages/links.h"
#include "app/control/messages/run_node.h"
#include "app/control/ring_descriptors.h"
#include "app/remote/stage_links.h"
#include "core/error.h"
#include "core/log.h"
#include "ipc/edge_blocks.h"
#include "ipc/rig_page.h"

namespace campipe {
namespace {

std::shared_ptr<FrameRingMemory> open_again(const FrameRingMemory& ring, FrameRingMemory::Role role,
                                            const Device& gpu = {}) {
  std::vector<UniqueFd> fds;
  for (const int fd : descriptors_of(ring)) fds.push_back(duplicate(fd));
  return open_ring(fds, role, gpu);
}

}  // namespace

GuestNode::GuestNode(const messages::RunNode& asked, const Device& gpu, const RigPage& page, Events events)
    : gpu_(gpu),
      page_(page),
      events_(std::move(events)),
      input_(asked.inputs.at(0)),
      output_(asked.edges.at(0).edge),
      policy_(asked.drop_policy),
      queue_size_(asked.queue_size),
      node_(std::make_unique<Node>(asked, gpu, page, node_events(), [] {})) {}

// Whoever calls the others goes first.
GuestNode::~GuestNode() {
  receiving_.reset();
  node_.reset();
  sending_.reset();
}

OutputEvents GuestNode::node_events() {
  OutputEvents events;
  events.on_ring = [this](EdgeId, const FrameRingMemory& ring, std::uint64_t /*epoch*/, double frame_rate) {
    send(ring, frame_rate);
  };
  events.on_edge_failed = events_.on_failed;
  events.on_edge_done = [](EdgeId) {};
  events.keep = events_.keep;
  events.on_gpu_lost = events_.on_gpu_lost;
  return events;
}

// Nothing: there is no memory for it, or no place, and the link goes on with the next one.
std::optional<GuestNode::Ring> GuestNode::take_seat(const FrameRingMemory& ring, double frame_rate, int rotation) {
  try {
    auto memory = open_again(ring, FrameRingMemory::Role::observer);
    const auto seat = FrameRingObserver(memory).reserve();
    if (seat) return Ring{std::move(memory), *seat, frame_rate, rotation};
    spdlog::error("a ring between a link and its node has no place");
  } catch (const Error& error) {
    spdlog::error("a ring between a link and its node cannot be used: {}", error.what());
  }
  return std::nullopt;
}

// The link's thread. The node is given rings by the main one.
void GuestNode::offer(const FrameRingMemory& ring, double frame_rate, int rotation) {
  auto taken = take_seat(ring, frame_rate, rotation);
  {
    const std::lock_guard lock(mutex_);
    offered_ = std::move(taken);
  }
  events_.wake();
}

// The node's thread.
void GuestNode::send(const FrameRingMemory& ring, double frame_rate) {
  const auto taken = take_seat(ring, frame_rate, 0);
  if (!taken) return;
  const LinkedRing linked{open_again(ring, FrameRingMemory::Role::reader), taken->seat, frame_rate, 0};
  const std::lock_guard lock(mutex_);
  if (sending_) return sending_->add(linked);
  unsent_ = linked;
}

void GuestNode::receive_by(const messages::ReceiveLink& link, const std::optional<LinkKeys>& keys) {
  ReceivingThread::Events events;
  events.on_listens = [this](unsigned port) { events_.on_listens(input_, port); };
  events.on_ring = [this](const FrameRingMemory& ring, std::uint64_t /*epoch*/, double frame_rate, int rotation) {
    offer(ring, frame_rate, rotation);
  };
  events.on_faulty_reader = [this] { accuse(page_.edge_writer(output_, page_.own()).accusation, Accused::other_end); };
  messages::ReceiveLink own = link;
  own.queue_size = queue_size_;
  own.epoch = 1;
  receiving_.reset();
  LinkCounts& counts = counts_of(page_.link(input_, page_.own()), link.again);
  receiving_ = std::make_unique<ReceivingThread>(std::move(own), keys, counts, std::move(events), policy_);
}

void GuestNode::send_by(const messages::SendLink& link, const std::optional<LinkKeys>& keys) {
  if (sending_) return sending_->set_peer(link.address, link.transport);
  auto sending = send_stage(link, keys, page_.link(output_, page_.own()), policy_, queue_size_);
  const std::lock_guard lock(mutex_);
  sending_ = std::move(sending);
  if (unsent_) sending_->add(*std::exchange(unsent_, std::nullopt));
}

void GuestNode::leave() {
  if (receiving_) receiving_->leave();
  node_->input().abandon();
  if (sending_) sending_->leave();
}

void GuestNode::tick() {
  require_beats(sending_.get(), receiving_.get());
  std::optional<Ring> ring;
  {
    const std::lock_guard lock(mutex_);
    ring = std::exchange(offered_, std::nullopt);
  }
  if (ring) {
    auto memory = open_again(*ring->memory, FrameRingMemory::Role::reader, gpu_);
    node_->input().add(input_, {std::move(memory), ring->seat, ring->frame_rate, ring->rotation});
  }
  node_->input().drop_used_rings();
}

}  // namespace campipe
