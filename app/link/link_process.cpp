#include "app/link/link_process.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "app/control/child.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/link_process.h"
#include "app/control/messages/links.h"
#include "app/control/messages/nodes.h"
#include "app/control/messages/run.h"
#include "app/control/messages/run_node.h"
#include "app/control/ring_descriptors.h"
#include "app/link/link_thread.h"
#include "app/link/remote_node.h"
#include "app/link/transports.h"
#include "core/error.h"
#include "core/log.h"
#include "ipc/edge_blocks.h"

namespace campipe {
namespace {

class LinkProcess {
 public:
  int run() {
    return child_.run({[this](Message& message) { handle(message); }, [this] { leave(); }, [this] { return tick(); }});
  }

 private:
  // What is to run there, and what runs: one that ends has to be over before the next one begins.
  struct Place {
    std::unique_ptr<LinkThread> thread;
    std::optional<std::variant<messages::SendLink, messages::ReceiveLink>> wanted;
    std::vector<LinkedRing> rings;  // of one that is wanted, and has not begun
    bool stopped = false;           // what runs is to end,
    bool answers = false;           // and then EdgeDone is due
  };

  void handle(Message& message) {
    dispatch(messages::ToLink(), message, [this](auto& read, auto&... fds) { on(read, fds...); });
  }

  void on(const messages::LinkIdentity& identity);
  void on(const messages::SendLink& link);
  void on(const messages::ReceiveLink& link);
  void on(const messages::StopLink& stop);
  void on(const messages::OfferFrameRing& offer, std::vector<UniqueFd>& fds);
  void on(const messages::RunNode& asked);
  void on(const messages::RenewRing& asked) {
    if (RemoteNode* const node = find(asked.edge)) node->renew();
  }
  void on(const messages::EdgeOver& over) {
    if (RemoteNode* const node = find(over.node)) node->finish();
  }
  void on(const messages::ForgetNode& of) { nodes_.erase(of.node); }
  void on(const messages::Leave&) { leave(); }

  bool tick();
  void leave();
  void look_after(EdgeId edge, Place& place);
  void begin(EdgeId edge, Place& place);
  std::unique_ptr<LinkThread> make(EdgeId edge, const messages::SendLink& link);
  std::unique_ptr<LinkThread> make(EdgeId edge, const messages::ReceiveLink& link);
  [[nodiscard]] LinkCounts& counts_for(EdgeId edge, bool again) const;
  bool tick_nodes();
  void add(RemoteNode& node, const messages::OfferFrameRing& offer, std::vector<UniqueFd>& fds);
  // Null: there is none.
  [[nodiscard]] RemoteNode* find(NodeId node) const;
  [[nodiscard]] RemoteNode* find(EdgeId output) const;

  Child child_;
  LinkKeys keys_;
  std::map<EdgeId, Place> places_;  // of links that nodes here read or write
  std::map<NodeId, std::unique_ptr<RemoteNode>> nodes_;
  bool leaves_ = false;
};

void LinkProcess::on(const messages::LinkIdentity& identity) {
  keys_ = link_keys(identity);
  child_.send(usable_transports());
}

LinkCounts& LinkProcess::counts_for(EdgeId edge, bool again) const {
  return begin_counts(child_.page().link(edge, link_process).counts, again);
}

void LinkProcess::on(const messages::SendLink& link) {
  if (RemoteNode* const node = find(link.edge)) return node->send_by(link, keys_for(keys_, link));
  Place& place = places_[link.edge];
  auto* const running = place.wanted ? nullptr : dynamic_cast<SendingThread*>(place.thread.get());
  if (running != nullptr && running->name() == link.name && !place.stopped)
    return running->set_peer({link.address, link.transport, keys_for(keys_, link)});
  if (place.thread) place.thread->leave();
  place.wanted = link;
  look_after(link.edge, place);
}

void LinkProcess::on(const messages::ReceiveLink& link) {
  if (RemoteNode* const node = find(link.edge)) return node->receive_by(link, keys_for(keys_, link));
  Place& place = places_[link.edge];
  if (place.thread) place.thread->leave();
  place.wanted = link;
  look_after(link.edge, place);
}

void LinkProcess::on(const messages::StopLink& stop) {
  const auto found = places_.find(stop.edge);
  if (found == places_.end()) {
    if (stop.answer) child_.send(messages::EdgeDone{{stop.edge}});
    return;
  }
  Place& place = found->second;
  place.wanted.reset();
  place.rings.clear();
  place.stopped = true;
  place.answers = stop.answer;
  if (place.thread) place.thread->leave();
  look_after(stop.edge, place);
}

void LinkProcess::on(const messages::OfferFrameRing& offer, std::vector<UniqueFd>& fds) {
  if (RemoteNode* const node = find(offer.node)) return add(*node, offer, fds);
  const auto found = places_.find(offer.edge);
  if (found == places_.end() || (found->second.stopped && !found->second.wanted)) return;  // it was stopped meanwhile
  const LinkedRing ring{open_ring(fds, FrameRingMemory::Role::reader), offer.reader, offer.frame_rate, offer.rotation};
  Place& place = found->second;
  if (place.wanted) return place.rings.push_back(ring);
  if (auto* const sending = dynamic_cast<SendingThread*>(place.thread.get())) sending->add(ring);
}

void LinkProcess::add(RemoteNode& node, const messages::OfferFrameRing& offer, std::vector<UniqueFd>& fds) {
  try {
    node.add({open_ring(fds, FrameRingMemory::Role::reader), offer.reader, offer.frame_rate, offer.rotation});
  } catch (const SystemError& error) {  // no memory or descriptors
    child_.send(messages::FrameRingLost{offer.node, offer.edge, error.what()});
  } catch (const Error& error) {
    spdlog::error("a camera's frame ring cannot be used: {}", error.what());
    accuse(child_.page().edge_reader(offer.edge, link_process).accusation, Accused::other_end);
  }
}

void LinkProcess::on(const messages::RunNode& asked) {
  RemoteNode::Events events;
  events.on_listens = [this](EdgeId edge, unsigned port) { child_.send(messages::LinkListens{edge, port}); };
  events.on_ring = [this](EdgeId edge, const FrameRingMemory& ring, std::uint64_t epoch, double frame_rate) {
    child_.send(messages::FrameRing{edge, epoch, frame_rate, 0, "", MemoryKind::host}, descriptors_of(ring));
  };
  nodes_[asked.node] = std::make_unique<RemoteNode>(asked, child_.page(), std::move(events));
}

RemoteNode* LinkProcess::find(NodeId node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : found->second.get();
}

RemoteNode* LinkProcess::find(EdgeId output) const {
  const auto found = std::ranges::find_if(nodes_, [&](const auto& node) { return node.second->output() == output; });
  return found == nodes_.end() ? nullptr : found->second.get();
}

// True: all are done.
bool LinkProcess::tick_nodes() {
  bool all_done = true;
  for (const auto& [id, node] : nodes_) {
    if (node->is_done()) continue;
    node->tick();
    if (node->is_done()) child_.send(messages::NodeDone{{id}});
    all_done = all_done && node->is_done();
  }
  return all_done;
}

bool LinkProcess::tick() {
  const bool nodes_done = tick_nodes();
  for (auto at = places_.begin(); at != places_.end();) {
    auto& [edge, place] = *at;
    if (place.thread && place.thread->hangs()) fail_process("the thread of link " + place.thread->name() + " hangs");
    look_after(edge, place);
    at = place.thread || place.wanted ? std::next(at) : places_.erase(at);
  }
  return leaves_ && nodes_done && places_.empty();
}

void LinkProcess::look_after(EdgeId edge, Place& place) {
  if (place.thread && place.thread->is_over()) place.thread.reset();
  if (place.thread) return;
  place.stopped = false;
  if (std::exchange(place.answers, false)) child_.send(messages::EdgeDone{{edge}});
  if (place.wanted) begin(edge, place);
}

void LinkProcess::begin(EdgeId edge, Place& place) {
  const auto wanted = *std::exchange(place.wanted, std::nullopt);
  place.thread = std::visit([&](const auto& link) { return make(edge, link); }, wanted);
  if (auto* const sending = dynamic_cast<SendingThread*>(place.thread.get())) {
    for (const LinkedRing& ring : place.rings) sending->add(ring);
  }
  place.rings.clear();
}

std::unique_ptr<LinkThread> LinkProcess::make(EdgeId edge, const messages::SendLink& link) {
  return std::make_unique<SendingThread>(link, keys_for(keys_, link), counts_for(edge, link.again));
}

std::unique_ptr<LinkThread> LinkProcess::make(EdgeId edge, const messages::ReceiveLink& link) {
  ReceivingThread::Events events;
  events.on_listens = [this, edge](unsigned port) { child_.send(messages::LinkListens{edge, port}); };
  events.on_ring = [this, edge](const FrameRingMemory& ring, std::uint64_t epoch, double frame_rate, int rotation) {
    child_.send(messages::FrameRing{edge, epoch, frame_rate, rotation, "", MemoryKind::host}, descriptors_of(ring));
  };
  events.on_faulty_reader = [this, edge] {
    accuse(child_.page().edge_writer(edge, link_process).accusation, Accused::other_end);
  };
  return std::make_unique<ReceivingThread>(link, keys_for(keys_, link), counts_for(edge, link.again),
                                           std::move(events));
}

void LinkProcess::leave() {
  leaves_ = true;
  for (auto& [edge, place] : places_) {
    place.wanted.reset();
    if (place.thread) place.thread->leave();
  }
  for (const auto& [id, node] : nodes_) node->abandon();
}

}  // namespace

int run_link() { return LinkProcess().run(); }

}  // namespace campipe
