#include "app/worker/worker.h"

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "app/control/child.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/from_worker.h"
#include "app/control/messages/nodes.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/messages/run.h"
#include "app/control/messages/run_node.h"
#include "app/control/messages/setup.h"
#include "app/control/messages/to_worker.h"
#include "app/control/ring_descriptors.h"
#include "app/rings/retired_rings.h"
#include "app/worker/node.h"
#include "app/worker/room_interval.h"
#include "app/worker/worker_gpu.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"

namespace campipe {
namespace {

// A ring on its way from the supervisor to its node.
struct GivenRing {
  UniqueFd control;
  UniqueFd pixels;  // none for memory that needs no descriptor
  NodeId node;
  EdgeId edge;
  unsigned reader = 0;
  double frame_rate = 0;
  int rotation = 0;
  std::optional<Clock::time_point> try_again;
};

class Worker {
 public:
  int run() {
    return child_.run(
        {[this](Message& message) { handle(message); }, [this] { abandon_all(); }, [this] { return tick(); }});
  }

 private:
  void handle(Message& message) {
    dispatch(messages::ToWorker(), message, [this](auto&... parts) { on(parts...); });
  }

  void on(const messages::Start& start) {
    if (start.phase == 0) child_.arrive(0);  // a successor finds the rig running
    started_ = true;
  }

  void on(const messages::EdgeOver& over) {
    drop_waiting_rings(over);
    if (Node* node = find(over.node)) node->input().finish(over.edge);
  }

  // The node that it is for takes over where there is none yet.
  void on(const messages::OfferHandOver& offer, std::vector<UniqueFd>& fds) {
    try {
      auto page = HandOver::open(std::move(fds.at(0)));
      if (Node* node = find(offer.node)) return node->give_over(std::move(page));
      hand_overs_[offer.node] = std::move(page);
    } catch (const std::exception& error) {
      child_.send(messages::NotReady{offer.node, error.what()});
    }
  }

  void on(const messages::GoOn& from) {
    if (Node* node = find(from.node)) node->go_on(from);
  }

  void on(const messages::ForgetNode& of) {
    hand_overs_.erase(of.node);
    given_.remove_if([&](const GivenRing& ring) { return ring.node == of.node; });
    done_ -= nodes_.erase(of.node);
  }

  // Its output fails where there is none.
  void on(const messages::OfferGroupPage& offer, std::vector<UniqueFd>& fds) {
    try {
      group_pages_[offer.output] = GroupPage::open(std::move(fds.at(0)));
    } catch (const std::exception& error) {
      spdlog::error("the page of a group cannot be used: {}", error.what());
    }
  }

  void on(const messages::RenewRing& asked) {
    for (auto& [id, node] : nodes_) node->renew(asked.edge);
  }

  void on(const messages::FinishNode& of) {
    if (Node* node = find(of.node)) node->input().finish();
  }

  void on(const messages::ShowCell& cell) {
    if (Node* node = find(cell.node)) node->show(cell);
  }

  void on(const messages::ShrinkNode& asked) {
    if (Node* node = find(asked.node)) node->shrink(asked.half);
  }

  void on(const messages::WriteEdge& asked) {
    if (Node* node = find(asked.node)) node->write(on_this_machine(asked.edge));
  }

  void on(const messages::StopEdge& asked) {
    if (Node* node = find(asked.node)) node->stop(asked.edge);
  }

  void on(const messages::RigOver&) { over_ = true; }

  void on(messages::RunNode& asked) {
    for (messages::WrittenEdge& edge : asked.edges) edge = on_this_machine(std::move(edge));
    const auto on_done = [this, id = asked.node] {
      child_.send(messages::NodeDone{{id}});
      ++done_;
      child_.wake();
    };
    auto page = hand_overs_.extract(asked.node);
    if (asked.takes_over && page.empty()) {  // which has been reported
      child_.send(messages::NodeDone{{asked.node}});
      return;
    }
    nodes_[asked.node] = std::make_unique<Node>(asked, gpu_, child_.page(), events(asked.node), on_done,
                                                page.empty() ? nullptr : std::move(page.mapped()));
  }

  OutputEvents events(NodeId node) {
    OutputEvents events;
    events.on_not_ready = [this, node](const std::string& reason) { child_.send(messages::NotReady{node, reason}); };
    events.on_packets = [this](OutputId output, const PacketRingMemory& ring, std::uint64_t epoch,
                               const StreamParameters& parameters) {
      child_.send(messages::PacketRing{output, epoch, parameters}, {ring.fd()});
    };
    events.on_failed = [this](OutputId output, const std::string& reason) {
      child_.send(messages::OutputFailed{{output, reason}});
    };
    events.on_ring = [this](EdgeId edge, const FrameRingMemory& ring, std::uint64_t epoch, double frame_rate) {
      child_.send(messages::FrameRing{edge, epoch, frame_rate, 0, "", ring.kind()}, descriptors_of(ring));
    };
    events.on_edge_failed = [this](EdgeId edge, const std::string& reason) {
      child_.send(messages::EdgeFailed{edge, reason});
    };
    events.on_edge_done = [this](EdgeId edge) { child_.send(messages::EdgeDone{{edge}}); };
    events.keep = [this](std::shared_ptr<FrameRingWriter> ring) { retired_.add(std::move(ring), Clock::now()); };
    events.on_gpu_lost = [this](const std::string& reason) { leave_lost_gpu(child_.setup(), reason); };
    events.group_page = [this](OutputId output) {
      const auto found = group_pages_.find(output);
      return found == group_pages_.end() ? nullptr : std::exchange(found->second, nullptr);
    };
    return events;
  }

  Node* find(NodeId id) {
    const auto found = nodes_.find(id);
    return found == nodes_.end() ? nullptr : found->second.get();
  }

  void on(const messages::OfferFrameRing& offer, std::vector<UniqueFd>& fds) {
    if (find(offer.node) == nullptr) return;
    GivenRing ring;
    ring.control = std::move(fds[0]);
    if (fds.size() == 2) ring.pixels = std::move(fds[1]);
    ring.node = offer.node;
    ring.edge = offer.edge;
    drop_waiting_rings(offer);  // its writer has gone on to this one
    ring.reader = offer.reader;
    ring.frame_rate = offer.frame_rate;
    ring.rotation = offer.rotation;
    given_.push_back(std::move(ring));
    open_rings();
  }

  // Nothing in them was meant for this process yet.
  void drop_waiting_rings(const auto& of) {
    given_.remove_if([&](const GivenRing& ring) { return ring.node == of.node && ring.edge == of.edge; });
  }

  void open_rings() {
    for (auto ring = given_.begin(); ring != given_.end();) {
      child_.beat();  // with a GPU each takes its time
      ring = open(*ring) ? given_.erase(ring) : std::next(ring);
    }
  }

  // False: the GPU has no room; to be tried again. Until then the camera has no reader, and its frames are counted so.
  bool open(GivenRing& ring) {
    if (ring.try_again && Clock::now() < *ring.try_again) return false;
    try {
      failpoint("worker.opening_ring", std::to_string(ring.edge.index()));
      auto pixels = ring.pixels ? duplicate(ring.pixels.get()) : UniqueFd();
      auto memory =
          FrameRingMemory::open(duplicate(ring.control.get()), std::move(pixels), FrameRingMemory::Role::reader, gpu_);
      nodes_.at(ring.node)->input().add(ring.edge, {std::move(memory), ring.reader, ring.frame_rate, ring.rotation});
      return true;
    } catch (const GpuError& error) {
      if (error.kind == GpuError::Kind::broken) leave_lost_gpu(child_.setup(), error.what());
      if (!ring.try_again) spdlog::warn("a camera's frame ring cannot be used yet: {}", error.what());
      ring.try_again = Clock::now() + room_interval;
      return false;
    } catch (const SystemError& error) {  // no memory or descriptors: no fault of another process
      child_.send(messages::FrameRingLost{ring.node, ring.edge, error.what()});
      return true;
    } catch (const Error& error) {  // it is no ring, which is its writer's fault
      spdlog::error("a camera's frame ring cannot be used: {}", error.what());
      nodes_.at(ring.node)->input().accuse_writer(ring.edge);
      return true;
    }
  }

  void abandon_all() {
    for (auto& [id, node] : nodes_) node->input().finish();
    abandoned_at_ = Clock::now();
  }

  bool tick() {
    try {
      failpoint("worker.tick", to_string(child_.setup().gpu));
    } catch (const GpuError& error) {
      leave_lost_gpu(child_.setup(), error.what());
    }
    open_rings();
    for (auto& [id, node] : nodes_) {
      node->input().drop_used_rings();
      child_.beat();
    }
    retired_.drop_old(Clock::now());
    const bool all_done = done_ == nodes_.size();
    if (child_.abandoned()) {
      // The master closes its rings within two seconds; what has not ended by then is not waited for.
      if (Clock::now() > abandoned_at_ + std::chrono::milliseconds(2500)) {
        for (auto& [id, node] : nodes_) node->input().abandon();
      }
      return all_done;
    }
    if (!started_ || !over_ || !all_done) return false;
    child_.arrive(1);
    return child_.page().barrier().wait(1, Clock::now() + beat_interval) == 0;
  }

  Child child_;
  Device gpu_ = take_gpu(child_.setup().gpu);
  std::atomic<std::size_t> done_{0};
  RetiredRings retired_;
  std::map<NodeId, std::unique_ptr<Node>> nodes_;
  std::map<OutputId, std::shared_ptr<GroupPage>> group_pages_;  // until their nodes are made
  std::map<NodeId, std::shared_ptr<HandOver>> hand_overs_;      // likewise
  std::list<GivenRing> given_;                                  // not opened yet
  bool started_ = false;
  bool over_ = false;  // no further node will come
  Clock::time_point abandoned_at_;
};

}  // namespace

int run_worker() { return Worker().run(); }

}  // namespace campipe
