// The worker, as app/worker: takes frames from the ring of each of its nodes, and makes a packet of each.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "app/control/messages/edges.h"
#include "app/control/messages/from_worker.h"
#include "app/control/messages/nodes.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/messages/run.h"
#include "app/control/messages/run_node.h"
#include "app/control/messages/to_worker.h"
#include "app/control/ring_descriptors.h"
#include "ipc/drop_causes.h"
#include "ipc/edge_blocks.h"
#include "ipc/encode_block.h"
#include "ipc/node_block.h"
#include "ipc/packet_ring.h"
#include "tests/sim/child.h"
#include "tests/sim/machine.h"
#include "tests/sim/rates.h"

namespace campipe::sim {
namespace {

// An output that is encoded.
class Encoding {
 public:
  Encoding(Child& child, const messages::EncodedOutput& asked)
      : child_(child),
        output_(asked.output),
        block_(child.page().encode(asked.output, child.id())),
        policy_(asked.drop_policy),
        epoch_(asked.epoch),
        base_(asked.base) {}

  [[nodiscard]] OutputId id() const { return output_; }

  // False: with policy block it waits for room.
  bool push(const FrameRingReader::Lease& frame, Clock::time_point since) {
    if (!ring_) open();
    const bool key = frames_ == 0 || need_key_ || frames_ % group_of_pictures == 0;
    PacketView packet;
    const std::array<std::uint8_t, packet_bytes> bytes{};
    packet.data = bytes;
    packet.key = key;
    packet.times = frame.times;
    packet.times.encoded = now_ns();
    packet.dts = frame.times.pts;
    if (ring_->push(packet, Clock::now(), [] { return true; })) {
      need_key_ = false;
      ++pushed_;
    } else {
      if (policy_ == DropPolicy::block && Clock::now() < since + publisher_deadline) return false;
      need_key_ = true;
      counter(block_.dropped, DropCause::publisher_slow).fetch_add(1);
      child_.machine().world().reached("packets that the publisher does not take in time");
    }
    ++frames_;
    block_.latency.record(now_ns() - frame.times.arrival);
    return true;
  }

  void close() {
    if (ring_) ring_->close();
  }

 private:
  static constexpr auto publisher_deadline = seconds(30);  // policy block

  static constexpr std::size_t ring_bytes = 256 << 10;
  static constexpr std::size_t packet_bytes = 120;

  void open() {
    StreamParameters stream;
    stream.codec = "h264";
    stream.encoder = "libx264";
    stream.format = frame_format();
    stream.frame_rate = frame_rate;
    child_.machine().on_ring(child_, "encoded", epoch_);
    ring_.emplace(PacketRingMemory::create(ring_bytes, epoch_, base_ + pushed_));
    ring_->on_faulty_reader([this] { accuse(block_.accusation, Accused::publisher); });
    child_.send(messages::PacketRing{output_, epoch_++, stream}, {ring_->memory().fd()});
  }

  Child& child_;
  OutputId output_;
  EncodeBlock& block_;
  DropPolicy policy_;
  std::uint64_t epoch_;
  std::uint64_t base_;
  std::optional<PacketRingWriter> ring_;
  std::uint64_t pushed_ = 0;
  std::uint64_t frames_ = 0;
  bool need_key_ = false;
};

class Node {
 public:
  Node(Child& child, const messages::RunNode& asked)
      : child_(child),
        id_(asked.node),
        edge_(asked.inputs.at(0)),
        block_(child.page().node(asked.node, child.id())),
        edge_block_(child.page().edge_reader(asked.inputs.at(0), child.id())),
        blocks_(asked.drop_policy == DropPolicy::block),
        queue_(asked.queue_size) {
    for (const messages::EncodedOutput& output : asked.outputs) outputs_.emplace_back(child, output);
  }

  [[nodiscard]] bool is_done() const { return done_; }
  [[nodiscard]] const std::deque<Encoding>& outputs() const { return outputs_; }
  void add(std::shared_ptr<FrameRingMemory> memory, unsigned seat) { rings_.push_back({std::move(memory), seat}); }
  void finish() { finishes_ = true; }

  void step() {
    if (done_) return;
    block_.thread.beat.store(now_ns());
    for (unsigned i = 0; i < frames_a_step; ++i) {
      if (!frame_ && !next_frame()) {
        if (!reader_ && rings_.empty() && finishes_) end();
        return;
      }
      if (!encode()) return;
    }
  }

 private:
  static constexpr unsigned frames_a_step = 32;

  struct Ring {
    std::shared_ptr<FrameRingMemory> memory;
    unsigned seat = 0;
  };

  bool next_frame() {
    if (!reader_) {
      if (rings_.empty()) return false;
      reader_.emplace(rings_.front().memory, rings_.front().seat, nanoseconds(0));
      reader_->attach(blocks_, queue_);
    }
    FrameRingReader::Lease lease;
    switch (reader_->next(lease, Clock::now())) {
      case FrameRingReader::Next::frame:
        edge_block_.queue.record(now_ns() - lease.times.published);
        frame_ = std::move(lease);
        encoded_at_ = Clock::now() + child_.takes(milliseconds(1), milliseconds(12));
        next_output_ = 0;
        return true;
      case FrameRingReader::Next::timeout:
        return false;
      case FrameRingReader::Next::broken:
        accuse(edge_block_.accusation, Accused::other_end);
        break;
      default:
        break;
    }
    reader_.reset();
    rings_.pop_front();
    return false;
  }

  // False: it is not done with the frame yet.
  bool encode() {
    if (Clock::now() < encoded_at_) return false;
    for (; next_output_ < outputs_.size(); ++next_output_) {
      if (!outputs_[next_output_].push(*frame_, encoded_at_)) return false;
    }
    frame_.reset();
    return true;
  }

  void end() {
    for (Encoding& output : outputs_) output.close();
    done_ = true;
    block_.thread.beat.store(0);
    child_.send(messages::NodeDone{{id_}});
  }

  Child& child_;
  NodeId id_;
  EdgeId edge_;
  NodeBlock& block_;
  EdgeReaderBlock& edge_block_;
  bool blocks_;
  unsigned queue_;
  std::deque<Encoding> outputs_;
  std::deque<Ring> rings_;
  std::optional<FrameRingReader> reader_;  // of the first of them
  std::optional<FrameRingReader::Lease> frame_;
  Clock::time_point encoded_at_;
  std::size_t next_output_ = 0;
  bool finishes_ = false;
  bool done_ = false;
};

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

  void note_fault(std::uint32_t signal) override {
    for (const auto& [id, node] : nodes_) child_.page().node(id, child_.id()).thread.fault.store(signal);
  }

  void lie(std::uint64_t which) override {
    if (nodes_.empty()) return;
    const auto& [id, node] = *nodes_.begin();
    if (node.is_done()) return;
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

 private:
  Node* find(NodeId id) {
    const auto found = nodes_.find(id);
    return found == nodes_.end() ? nullptr : &found->second;
  }

  void on(const messages::Start& start) {
    if (start.phase == 0) child_.page().process(child_.id()).arrive(0);
    started_ = true;
  }
  void on(const messages::RunNode& asked) {
    nodes_.erase(asked.node);
    nodes_.try_emplace(asked.node, child_, asked);
  }
  void on(const messages::OfferFrameRing& offer, std::vector<UniqueFd>& fds) {
    if (Node* const node = find(offer.node)) node->add(open_ring(fds, FrameRingMemory::Role::reader), offer.reader);
  }
  void on(const messages::EdgeOver& over) {
    if (Node* const node = find(over.node)) node->finish();
  }
  void on(const messages::ForgetNode& of) { nodes_.erase(of.node); }
  void on(const messages::RigOver&) { over_ = true; }
  // Not of this rig's cameras.
  void on(const messages::OfferGroupPage&, std::vector<UniqueFd>&) {}
  void on(const messages::OfferHandOver&, std::vector<UniqueFd>&) {}
  void on(const messages::RenewRing&) {}
  void on(const messages::FinishNode&) {}
  void on(const messages::ShowCell&) {}
  void on(const messages::WriteEdge&) {}
  void on(const messages::StopEdge&) {}
  void on(const messages::ShrinkNode&) {}
  void on(const messages::GoOn&) {}

  Child& child_;
  std::map<NodeId, Node> nodes_;
  bool started_ = false;
  bool over_ = false;
};

}  // namespace

std::unique_ptr<Role> make_worker(Child& child) { return std::make_unique<WorkerRole>(child); }

}  // namespace campipe::sim
