// What the processes of a rig know of one another: heartbeats, the barrier, and for each camera, node, edge and output
// (ipc/ids.h) its counters, its latencies, how far its recording is, and who is to blame when a process dies. Each
// process writes a page of its own, which only the supervisor has beside it, so that none can write what another one
// counts. What all may read lies in the shared page: the supervisor alone writes it, and no other can map it
// writable. Every word is an atomic, so a process may die at any instruction; the supervisor takes what it reads for
// numbers to show, and nothing else.
//
// Blocks are in source_blocks.h, decode_blocks.h, node_block.h, edge_blocks.h, encode_block.h, publish_block.h and
// shared_block.h:
//
//   part     source's page   its master's page its worker's page     publisher's page   shared page
//   camera   SourceBlock     DecodeBlock
//   node                                       NodeBlock
//   edge                     EdgeWriterBlock   both, and LinkBlock; the link's page likewise
//   output                                     EncodeBlock or,       PublishBlock       SharedBlock
//            CopyBlock       LookBlock         if it is a copy
//
// Accounting (docs/architecture.md, "every frame is counted"): decoded = frames published to the frame ring +
// `unpublished`; encoded = packets published to the packet ring; dropped = `unpublished` + `dropped`. Heads of
// rings are the only points at which a frame begins to exist, so a kill between two instructions counts nothing twice.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "ipc/barrier.h"
#include "ipc/ids.h"
#include "ipc/process_ids.h"
#include "ipc/rig_size.h"
#include "ipc/shared_memory.h"

namespace campipe {

// Each in a header of its own, for those that use what is in it.
struct SourceBlock;
struct CopyBlock;
struct DecodeBlock;
struct LookBlock;
struct NodeBlock;
struct EdgeWriterBlock;
struct EdgeReaderBlock;
struct LinkBlock;
struct EncodeBlock;
struct PublishBlock;
struct SharedBlock;

struct alignas(64) ProcessBlock {
  std::atomic<std::int64_t> beat;      // monotonic ns, from the process's main thread every 100 ms
  std::atomic<std::uint32_t> arrived;  // phases of the barrier whose end it has reached

  // The process is at the end of `phase`. Does not wait; the supervisor enters it at the barrier.
  void arrive(std::uint32_t phase);
};

class RigPage {
 public:
  // The supervisor's: it reads and writes all pages, those of the others where their process does not run. Memory is
  // taken only by what is used.
  static RigPage create(const RigSize& size, unsigned workers = 1);
  // Supervisor: a page for one more process, a master or the cluster's. Nothing, where it is there.
  void add(ProcessId process);
  // That of `process`: it has its own page and, read-only, the shared one. Throws Error when they are not what they
  // should be.
  static RigPage open(UniqueFd shared, UniqueFd own, ProcessId process);

  [[nodiscard]] int shared_fd() const { return shared_.fd.get(); }
  [[nodiscard]] int fd_of(ProcessId process) const { return part(process).fd.get(); }
  // Of a worker: itself.
  [[nodiscard]] ProcessId own() const { return own_; }

  // Each throws Error for a part that there is not, or a page that this process does not have. `master`, `worker`,
  // `writer`: whose page; of a writer, a master's or a worker's.
  [[nodiscard]] ProcessBlock& process(ProcessId process) const;
  [[nodiscard]] SourceBlock& source(CameraId camera) const;
  [[nodiscard]] DecodeBlock& decode(CameraId camera, ProcessId master) const;
  [[nodiscard]] EdgeWriterBlock& edge_writer(EdgeId edge, ProcessId writer) const;
  [[nodiscard]] CopyBlock& copy(OutputId output) const;
  [[nodiscard]] LookBlock& look(OutputId output, ProcessId master) const;
  [[nodiscard]] NodeBlock& node(NodeId node, ProcessId worker) const;
  [[nodiscard]] EdgeReaderBlock& edge_reader(EdgeId edge, ProcessId worker) const;
  [[nodiscard]] LinkBlock& link(EdgeId edge, ProcessId process) const;
  [[nodiscard]] EncodeBlock& encode(OutputId output, ProcessId worker) const;
  [[nodiscard]] PublishBlock& publish(OutputId output) const;
  [[nodiscard]] SharedBlock& shared(OutputId output) const;
  // The supervisor's to change; the others can only wait there.
  [[nodiscard]] Barrier barrier() const;
  // Supervisor: what `process`, which takes part and runs, has noted by ProcessBlock::arrive().
  void enter_arrival(ProcessId process) const;
  // All blocks of a part are as they were at first. Only when no process uses them any more.
  void clear(CameraId camera, ProcessId master) const;
  void clear(NodeId node, ProcessId worker) const;
  void clear(EdgeId edge, ProcessId writer, ProcessId reader) const;
  void clear(OutputId output, ProcessId master, ProcessId worker) const;
  // Supervisor: what one worker has counted of a part is counted by another one from now on, which may count in it
  // meanwhile; the first one's block is as it was at first. Only when that does not use it any more.
  void move(NodeId from_node, ProcessId from, NodeId to_node, ProcessId to) const;
  void move(EdgeId read, ProcessId from, ProcessId to) const;
  void move(OutputId encoded, ProcessId from, ProcessId to) const;
  // Likewise from one master to another one, which does not count in it before: all of it goes over, so that the second
  // one goes on as a successor of the first.
  void move(CameraId decoded, ProcessId from, ProcessId to) const;
  void move_written(EdgeId edge, ProcessId from, ProcessId to) const;
  void move_look(OutputId copy, ProcessId from, ProcessId to) const;

 private:
  struct Part {
    UniqueFd fd;
    Mapping mapping;
  };
  RigPage() = default;
  [[nodiscard]] const Part& part(ProcessId process) const;
  [[nodiscard]] const Part& worker_part(ProcessId worker) const;
  [[nodiscard]] const Part& master_part(ProcessId master) const;
  template <typename Block, typename Layout>
  Block& block(const Part& part, Layout layout, typename Block::Id id) const;

  Part shared_;
  std::array<std::optional<Part>, max_processes> parts_;  // those that this process has
  RigSize size_;
  ProcessId own_ = worker_process(0);
};

}  // namespace campipe
