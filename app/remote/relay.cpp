#include "app/remote/relay.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "app/control/child.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/from_worker.h"
#include "app/control/messages/links.h"
#include "app/control/messages/nodes.h"
#include "app/control/messages/remote.h"
#include "app/control/messages/run.h"
#include "app/control/messages/run_node.h"
#include "app/control/ring_descriptors.h"
#include "app/link/transports.h"
#include "app/remote/relayed_node.h"
#include "core/error.h"
#include "core/log.h"
#include "ipc/edge_blocks.h"

namespace campipe {
namespace {

constexpr auto not_here = "another node of the cluster does its work";

class Relay {
 public:
  int run() {
    return child_.run(
        {[this](Message& message) { handle(message); }, [this] { abandon(); }, [this] { return tick(); }});
  }

 private:
  void handle(Message& message) {
    dispatch(messages::ToRemote(), message, [this](auto& read, auto&... fds) { on(read, fds...); });
  }

  void on(const messages::LinkIdentity& identity) {
    keys_ = link_keys(identity);
    child_.send(usable_transports());
  }

  void on(const messages::Start& start) {
    if (start.phase == 0) child_.arrive(0);
    started_ = true;
  }

  void on(const messages::RunNode& asked);
  void on(const messages::OfferFrameRing& offer, std::vector<UniqueFd>& fds);

  void on(const messages::SendLink& link) {
    for (auto& [id, node] : nodes_) {
      if (node->input() == link.edge) return node->send_by(link, keys_for(keys_, link));
    }
  }
  void on(const messages::ReceiveLink& link) {
    for (auto& [id, node] : nodes_) {
      if (node->output() == link.edge) return node->receive_by(link, keys_for(keys_, link));
    }
  }
  void on(const messages::RenewRing& asked) {
    for (auto& [id, node] : nodes_) {
      if (node->output() == asked.edge) node->renew();
    }
  }
  void on(const messages::EdgeOver& over) {
    if (RelayedNode* const node = find(over.node)) node->finish();
  }
  void on(const messages::ForgetNode& of) {
    nodes_.erase(of.node);
    done_.erase(of.node);
  }
  // Only who encodes feeds mosaics, and makes what is smaller for a while.
  void on(const messages::WriteEdge& asked) { child_.send(messages::EdgeFailed{asked.edge.edge, not_here}); }
  void on(const messages::StopEdge& asked) { child_.send(messages::EdgeDone{{asked.edge}}); }
  void on(const messages::ShrinkNode&) {}
  // Such a node is not moved, and is in no group.
  void on(const messages::OfferHandOver& offer, std::vector<UniqueFd>&) {
    child_.send(messages::NotReady{offer.node, not_here});
  }
  void on(const messages::OfferGroupPage&, std::vector<UniqueFd>&) {}
  void on(const messages::GoOn&) {}
  void on(const messages::FinishNode&) {}
  void on(const messages::ShowCell&) {}
  void on(const messages::StopLink&) {}
  void on(const messages::RigOver&) { over_ = true; }

  RelayedNode* find(NodeId id) {
    const auto found = nodes_.find(id);
    return found == nodes_.end() ? nullptr : found->second.get();
  }

  void abandon() {
    for (auto& [id, node] : nodes_) node->abandon();
  }

  bool tick() {
    for (auto& [id, node] : nodes_) {
      if (done_.contains(id) || !node->tick()) continue;
      done_.insert(id);
      child_.send(messages::NodeDone{{id}});
    }
    const bool all_done = done_.size() == nodes_.size();
    if (child_.abandoned()) return all_done;
    if (!started_ || !over_ || !all_done) return false;
    child_.arrive(1);
    return child_.page().barrier().wait(1, Clock::now() + beat_interval) == 0;
  }

  Child child_;
  LinkKeys keys_;
  std::map<NodeId, std::unique_ptr<RelayedNode>> nodes_;
  std::set<NodeId> done_;
  bool started_ = false;
  bool over_ = false;
};

void Relay::on(const messages::RunNode& asked) {
  for (const messages::EncodedOutput& output : asked.outputs)
    child_.send(messages::OutputFailed{{output.output, not_here}});
  RelayedNode::Events events;
  events.on_listens = [this](EdgeId edge, unsigned port) { child_.send(messages::LinkListens{edge, port}); };
  events.on_ring = [this](EdgeId edge, const FrameRingMemory& ring, std::uint64_t epoch, double frame_rate) {
    child_.send(messages::FrameRing{edge, epoch, frame_rate, 0, "", MemoryKind::host}, descriptors_of(ring));
  };
  done_.erase(asked.node);
  nodes_[asked.node] = std::make_unique<RelayedNode>(asked, child_.page(), std::move(events));
}

void Relay::on(const messages::OfferFrameRing& offer, std::vector<UniqueFd>& fds) {
  RelayedNode* const node = find(offer.node);
  if (node == nullptr) return;
  try {
    node->add({open_ring(fds, FrameRingMemory::Role::reader), offer.reader, offer.frame_rate, offer.rotation});
  } catch (const SystemError& error) {  // no memory or descriptors
    child_.send(messages::FrameRingLost{offer.node, offer.edge, error.what()});
  } catch (const Error& error) {
    spdlog::error("a camera's frame ring cannot be used: {}", error.what());
    accuse(child_.page().edge_reader(offer.edge, child_.page().own()).accusation, Accused::other_end);
  }
}

}  // namespace

int run_relay() { return Relay().run(); }

}  // namespace campipe
