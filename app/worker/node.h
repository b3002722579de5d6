// A node in its worker, on a thread of its own: every frame that its input gives (app/worker/node_input.h) goes to each
// of its outputs (app/worker/node_output.h), one after another, without a copy. What differs between CPU and GPU is
// behind FramePath.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/control/node_messages.h"
#include "app/worker/compose_input.h"
#include "app/worker/node_input.h"
#include "app/worker/ring_output.h"
#include "ipc/rig_page.h"

namespace campipe {

class ThreadScope;

class Node final : private FrameTaker {
 public:
  // `gpu`: the worker's. `events`: all but `beat` and `abandoned`. `on_done`: called on the node's thread, at its end.
  Node(const messages::RunNode& asked, const Device& gpu, const RigPage& page, const OutputEvents& events,
       const std::function<void()>& on_done);
  ~Node();

  // Main thread.
  [[nodiscard]] NodeInput& input() { return *input_; }
  // The ring of an edge, should the node write that, is to be replaced.
  void renew(EdgeId edge);
  // It writes one more edge from now on, or one less: then OutputEvents::on_edge_done follows.
  void write(const messages::WrittenEdge& edge);
  void stop(EdgeId edge);
  // What it encodes has half the width and height from now on, or all of it.
  void shrink(bool half);
  // Of a mosaic's: a cell has changed.
  void show(const messages::ShowCell& cell);

 private:
  std::unique_ptr<NodeInput> make_input(const messages::RunNode& asked);
  void make_outputs(const messages::RunNode& asked);
  void begin(const messages::WrittenEdge& edge);
  void end(EdgeId edge);
  void run();
  void get_ready(const FrameFormat& expected, const NodeOutput::Source& source) override;
  void take(RingInUse* ring, FrameRingReader::Lease lease, const NodeOutput::Source& source) override;
  void give_up(std::uint64_t source_number, DropCause cause) override;
  void rest() override;
  void beat() override;
  void obey();

  struct EdgeChange {
    enum class Kind : std::uint8_t { renew, write, stop };
    Kind kind;
    EdgeId id;
    messages::WrittenEdge edge = {};  // of `write`
  };

  std::string name_;  // the camera's
  const RigPage& page_;
  NodeBlock& node_;
  OutputEvents events_;
  std::function<void()> on_done_;
  ThreadScope* scope_ = nullptr;
  NodePlace place_;
  ComposeInput* compose_ = nullptr;  // the input of a mosaic's
  std::unique_ptr<NodeInput> input_;
  std::vector<std::unique_ptr<NodeOutput>> outputs_;
  std::vector<RingOutput*> ring_outputs_;  // of them

  std::mutex mutex_;  // of the next two
  std::vector<EdgeChange> changes_;
  std::optional<bool> shrink_;  // asked for, and not done yet
  std::jthread thread_;
};

}  // namespace campipe
