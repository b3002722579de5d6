// The worker, as app/worker: its nodes (tests/sim/worker_node.h), and what the supervisor sends them.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "app/control/messages/edges.h"
#include "app/control/messages/from_worker.h"
#include "app/control/messages/nodes.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/messages/run.h"
#include "app/control/messages/run_node.h"
#include "app/control/messages/to_worker.h"
#include "app/control/ring_descriptors.h"
#include "ipc/hand_over.h"
#include "ipc/node_block.h"
#include "tests/sim/child.h"
#include "tests/sim/machine.h"
#include "tests/sim/page_rest.h"
#include "tests/sim/rates.h"
#include "tests/sim/worker_node.h"

namespace campipe::sim {
namespace {

class WorkerRole final : public Role {
 public:
  explicit WorkerRole(Child& child) : child_(child) {}

  void on_message(Message& message) override {
    dispatch(messages::ToWorker(), message, [this](auto&... read) { on(read...); });
  }

  bool tick() override {
    const bool all_done = std::ranges::all_of(nodes_, [](const auto& node) { return node.second.is_done(); });
    return started_ && over_ && all_done && child_.arrive_at_end();
  }

  void work() override {
    for (auto& [id, node] : nodes_) node.step();
  }

  std::string note_fault(std::uint32_t signal, std::uint64_t which) override {
    if (nodes_.empty()) return "";
    const auto& [id, node] = pick(nodes_, which);
    if (node.is_done()) return "";  // its thread has ended
    child_.page().node(id, child_.id()).thread.fault.store(signal);
    return node.name();
  }

  void lie(std::uint64_t which) override {
    if (nodes_.empty()) return;
    const auto& [id, node] = *nodes_.begin();
    if (node.is_done() || node.outputs().empty()) return;
    child_.machine().checks().on_lie();
    const OutputId output = node.outputs().front().id();
    StreamParameters stream;
    stream.codec = "h264";
    stream.format = frame_format();
    if (which == 0) return child_.send(messages::NodeDone{{NodeId(3'999'999)}});
    if (which == 1) return child_.send(messages::PacketRing{output, 1'000, stream}, {child_.page().shared_fd()});
    if (which == 2) return child_.send(messages::EdgeDone{{EdgeId(0)}});
    if (which == 3) return child_.send(messages::PacketRing{output, 1, stream});
    if (which == 4) return child_.send(messages::FrameRingLost{id, EdgeId(3'999'999), "it is lost"});
    child_.send("source_over", {{"camera", 0}, {"failure", ""}, {"at_end", true}}, {});
  }

  [[nodiscard]] std::set<std::string> cameras() const override { return cameras_of(nodes_, &WorkerNode::name); }

  [[nodiscard]] bool leaves_rest() const override {
    return std::ranges::any_of(first_ids<NodeId>(), [this](NodeId id) {
      const bool is_needed = nodes_.contains(id) || child_.machine().may_need(child_.name(), id);
      return !is_needed && !is_clear(child_.page().node(id, child_.id()));
    });
  }

 private:
  WorkerNode* find(NodeId id) { return find_in(nodes_, id); }

  void on(const messages::Start& start) {
    if (start.phase == 0) child_.page().process(child_.id()).arrive(0);
    started_ = true;
  }
  void on(const messages::RunNode& asked) {
    child_.machine().checks().uses().begin(asked.name, Part::worker, child_.name());
    child_.machine().on_node(child_.name(), asked.node, asked.name);
    nodes_.erase(asked.node);
    auto page = hand_overs_.extract(asked.node);
    nodes_.try_emplace(asked.node, child_, asked, page.empty() ? nullptr : std::move(page.mapped()), group_pages_);
  }
  void on(const messages::OfferFrameRing& offer, std::vector<UniqueFd>& fds) {
    if (WorkerNode* const node = find(offer.node))
      node->input().add(offer.edge, open_ring(fds, FrameRingMemory::Role::reader), offer.reader);
  }
  void on(const messages::EdgeOver& over) {
    if (WorkerNode* const node = find(over.node)) node->input().finish(over.edge);
  }
  void on(const messages::OfferHandOver& offer, std::vector<UniqueFd>& fds) {
    auto page = HandOver::open(std::move(fds.at(0)));
    if (WorkerNode* const node = find(offer.node)) return node->give_over(std::move(page));
    hand_overs_[offer.node] = std::move(page);
  }
  void on(const messages::OfferGroupPage& offer, std::vector<UniqueFd>& fds) {
    group_pages_[offer.output] = GroupPage::open(std::move(fds.at(0)));
  }
  void on(const messages::GoOn& from) {
    if (WorkerNode* const node = find(from.node)) node->go_on(from);
  }
  void on(const messages::RenewRing& asked) {
    for (auto& [id, node] : nodes_) node.renew(asked.edge);
  }
  void on(const messages::ShrinkNode& asked) {
    if (WorkerNode* const node = find(asked.node)) node->shrink(asked.half);
  }
  void on(const messages::ForgetNode& of) {
    hand_overs_.erase(of.node);
    auto node = nodes_.extract(of.node);
    if (node.empty()) return;
    node.mapped().abandon();
    if (cameras().contains(node.mapped().name())) return;
    child_.machine().checks().uses().end(node.mapped().name(), Part::worker, child_.name());
  }
  void on(const messages::FinishNode& of) {
    if (WorkerNode* const node = find(of.node)) node->input().finish_all();
  }
  void on(const messages::ShowCell& changed) {
    if (WorkerNode* const node = find(changed.node)) node->input().show(changed.cell, changed.state);
  }
  void on(const messages::WriteEdge& asked) {
    if (WorkerNode* const node = find(asked.node)) node->write(asked.edge);
  }
  void on(const messages::StopEdge& asked) {
    if (WorkerNode* const node = find(asked.node)) node->stop(asked.edge);
  }
  void on(const messages::RigOver&) { over_ = true; }

  Child& child_;
  std::map<NodeId, WorkerNode> nodes_;
  std::map<NodeId, std::shared_ptr<HandOver>> hand_overs_;  // until their nodes are made,
  WorkerNode::GroupPages group_pages_;                      // likewise
  bool started_ = false;
  bool over_ = false;
};

}  // namespace

std::unique_ptr<Role> make_worker(Child& child) { return std::make_unique<WorkerRole>(child); }

}  // namespace campipe::sim
