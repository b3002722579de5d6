// A node in its worker, on a thread of its own: every frame that its input gives (app/worker/node_input.h) goes to each
// of its outputs (app/worker/node_output.h), one after another, without a copy. What differs between CPU and GPU is
// behind FramePath.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/control/messages/nodes.h"
#include "app/control/messages/run_node.h"
#include "app/worker/compose_input.h"
#include "app/worker/gives_over.h"
#include "app/worker/node_input.h"
#include "app/worker/rendition.h"
#include "app/worker/ring_output.h"
#include "app/worker/takes_over.h"
#include "ipc/hand_over.h"

namespace campipe {

class ThreadScope;
struct NodeBlock;
class RigPage;

class Node final : private FrameTaker {
 public:
  // `gpu`: the worker's. `events`: all but `beat` and `abandoned`. `on_done`: called on the node's thread, at its end.
  // `takes_over`: by this it takes over from a node in another worker; null: it has its frames for itself.
  Node(const messages::RunNode& asked, const Device& gpu, const RigPage& page, const OutputEvents& events,
       const std::function<void()>& on_done, std::shared_ptr<HandOver> takes_over = nullptr);
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
  // By this its work goes over to a node in another worker.
  void give_over(std::shared_ptr<HandOver> page);
  // Of one that takes over: the other one is done.
  void go_on(messages::GoOn from);

 private:
  std::unique_ptr<NodeInput> make_input(const messages::RunNode& asked);
  void make_outputs(const messages::RunNode& asked);
  void begin(const messages::WrittenEdge& edge);
  void end(EdgeId edge);
  void run();
  Turn turn_of(std::uint64_t number, std::int64_t media_time, std::uint64_t taken) override;
  void get_ready(const FrameFormat& expected, const NodeOutput::Source& source) override;
  void take(RingInUse* ring, FrameRingReader::Lease lease, const NodeOutput::Source& source) override;
  void rehearse(RingInUse* ring, const FrameRingReader::Lease& lease, const NodeOutput::Source& source,
                std::uint64_t taken, std::uint64_t newest) override;
  void give_up(std::uint64_t source_number, DropCause cause) override;
  FrameRingReader::Heed heed() override;
  void rest() override;
  void beat() override;
  void obey();
  void obey(const messages::GoOn& from);
  Turn turn_in_taking_over(std::uint64_t number);
  [[nodiscard]] bool waits_to_go_on() const;
  bool keep_waiting();
  void go_live();
  bool wait_until_it_goes_on();
  void wait_to_go_on();
  void finish_move();
  void finish_taking_over();
  bool gives_away(std::uint64_t number, std::int64_t media_time, std::uint64_t taken);

  struct EdgeChange {
    enum class Kind : std::uint8_t { renew, write, stop };
    Kind kind;
    EdgeId id;
    messages::WrittenEdge edge = {};  // of `write`
  };

  std::string name_;  // the camera's
  bool joins_;
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
  std::vector<Rendition*> renditions_;     // likewise
  std::optional<KeyFrameGrid> grid_;       // of the first of these
  std::unique_ptr<TakesOver> takes_over_;  // until it has gone on
  std::unique_ptr<GivesOver> gives_over_;  // until that is cancelled
  bool is_heeded_ = false;                 // while it takes over: its queue is waited for
  unsigned ahead_ = 0;                     // frames of its own that came before it could go on
  bool goes_on_ = false;
  Deadline catches_up_until_{};  // once it has gone on

  std::mutex mutex_;  // of the next four, which are asked for, and not done yet
  std::vector<EdgeChange> changes_;
  std::optional<bool> shrink_;
  std::shared_ptr<HandOver> asked_to_give_;
  std::optional<messages::GoOn> go_on_;
  std::condition_variable asked_;
  std::jthread thread_;
};

}  // namespace campipe
