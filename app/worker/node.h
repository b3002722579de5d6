// A node in its worker, on a thread of its own: every frame of the frame rings that it reads goes to each of its
// outputs (app/worker/node_output.h), one after another, without a copy. What differs between CPU and GPU is behind
// FramePath.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/control/messages.h"
#include "app/rings/ring_queue.h"
#include "app/worker/ring_output.h"
#include "ipc/frame_ring.h"
#include "ipc/rig_page.h"

namespace campipe {

class ThreadScope;

class Node {
 public:
  struct Ring {
    std::shared_ptr<FrameRingMemory> memory;
    unsigned reader = 0;
    double frame_rate = 0;
    int rotation = 0;  // degrees clockwise by which its frames must be turned
  };

  // `gpu`: the worker's. `events`: all but `beat` and `abandoned`. `on_done`: called on the node's thread, at its end.
  Node(const messages::RunNode& asked, const Device& gpu, const RigPage& page, const OutputEvents& events,
       const std::function<void()>& on_done);
  ~Node();

  // Main thread.
  void add(const Ring& ring) { rings_.add(ring); }
  // What came as a ring is none.
  void accuse_writer() { accuse(edge_.accusation, Accused::other_end); }
  // The ring of an edge, should the node write that, is to be replaced.
  void renew(EdgeId edge);
  // No further ring will come: finish those that are there, then the outputs.
  void finish() { rings_.finish(); }
  // Stop waiting for frames and for room: the process has to leave.
  void abandon() { rings_.abandon(); }
  // Drops the memory of rings that the node's thread has done with: with a GPU that takes too long for that thread.
  void drop_used_rings();

 private:
  void make_outputs(const messages::RunNode& asked, const RigPage& page);
  void run();
  std::optional<Ring> next_ring();
  void drain(const Ring& ring);
  void process(RingInUse& ring, FrameRingReader::Lease lease, const NodeOutput::Source& source);
  void rest();
  void renew_rings();

  std::string name_;  // the camera's
  ReaderQueue queue_;
  NodeBlock& node_;
  EdgeReaderBlock& edge_;
  OutputEvents events_;
  std::function<void()> on_done_;
  ThreadScope* scope_ = nullptr;
  NodePlace place_;
  std::vector<std::unique_ptr<NodeOutput>> outputs_;
  std::vector<RingOutput*> ring_outputs_;  // of them

  RingQueue<Ring> rings_;
  std::mutex mutex_;  // of the next two
  std::vector<std::shared_ptr<FrameRingMemory>> used_rings_;
  std::vector<EdgeId> to_renew_;
  std::jthread thread_;
};

}  // namespace campipe
