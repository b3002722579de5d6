// Where a node's frames come from: the rings of the edges that it reads. How it takes them is what differs: from one
// ring (RingInput), each frame in its turn, or from several that have a part of each frame (JoinInput).
//
// The main thread gives rings and takes them back; the node's thread takes frames from them (run) and drops none of
// their memory: with a GPU that takes too long for it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "app/worker/node_output.h"
#include "ipc/frame_ring.h"
#include "ipc/ids.h"

namespace campipe {

// A ring of an edge that a node reads.
struct InputRing {
  std::shared_ptr<FrameRingMemory> memory;
  unsigned reader = 0;  // the node's seat
  double frame_rate = 0;
  int rotation = 0;  // degrees clockwise by which its frames must be turned
};

// What becomes of the frames: by the node, on its thread.
class FrameTaker {
 public:
  // Whose a frame is. Of one that is to be rehearsed, filters learn and nothing is counted (app/worker/takes_over.h);
  // another one's is to be left, with all that follow.
  enum class Turn : std::uint8_t { own, rehearsal, others };

  // Frames of this format are expected.
  virtual void get_ready(const FrameFormat& expected, const NodeOutput::Source& source) = 0;
  // Whose the next frame is, before anything is done about it; waits for that. To be asked once for each, in their
  // order. `taken`: frames of the ring that were taken, with this one; 0: the frames are not those of one ring.
  virtual Turn turn_of(std::uint64_t /*number*/, std::int64_t /*media_time*/, std::uint64_t /*taken*/) {
    return Turn::own;
  }
  // `ring`: as NodeOutput::process().
  virtual void take(RingInUse* ring, FrameRingReader::Lease lease, const NodeOutput::Source& source) = 0;
  // One that is to be rehearsed. `taken`: as above. `newest`: no frame behind this one can be missing for the reason
  // that nobody has waited for this node until now, as heed() says.
  virtual void rehearse(RingInUse* /*ring*/, const FrameRingReader::Lease& /*lease*/,
                        const NodeOutput::Source& /*source*/, std::uint64_t /*taken*/, std::uint64_t /*newest*/) {}
  // Whether the writer is to wait for it: to be asked before each frame.
  virtual FrameRingReader::Heed heed() { return FrameRingReader::Heed::usual; }
  // As NodeOutput::give_up().
  virtual void give_up(std::uint64_t source_number, DropCause cause) = 0;
  // To be called at least every 100 ms while there is none.
  virtual void rest() = 0;
  virtual void beat() = 0;

 protected:
  ~FrameTaker() = default;
};

class NodeInput {
 public:
  virtual ~NodeInput() = default;

  // ---- Main thread. Edges are the node's own.
  virtual void add(EdgeId edge, InputRing ring) = 0;
  // What came as a ring is none.
  virtual void accuse_writer(EdgeId edge) = 0;
  // No further ring of that edge will come: finish those that are there.
  virtual void finish(EdgeId edge) = 0;
  // Nor of any edge.
  virtual void finish() = 0;
  // Stop waiting for frames and for room: the process has to leave.
  virtual void abandon() = 0;
  void drop_used_rings();

  // ---- The node's thread
  // Hands on what comes, until no more will.
  virtual void run(FrameTaker& taker) = 0;
  // Any thread.
  [[nodiscard]] virtual bool is_abandoned() const = 0;
  // The node's thread: take no frame any more, and give up the seats.
  virtual void leave() = 0;
  // Likewise, of one that makes frames itself and has rehearsed: from that one on they are its own.
  virtual void go_live(std::uint64_t /*number*/) {}

 protected:
  // Done with, for the main thread to drop.
  void leave_to_main_thread(std::shared_ptr<FrameRingMemory> memory);

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<FrameRingMemory>> used_rings_;
};

}  // namespace campipe
