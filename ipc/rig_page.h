// What the processes of a rig know of one another: heartbeats, the barrier, and for each camera, node, edge and output
// (ipc/ids.h) its counters, its latencies, how far its recording is, and who is to blame when a process dies. Each
// process writes a page of its own, which only the supervisor has beside it, so that none can write what another one
// counts. What all may read lies in the shared page: the supervisor alone writes it, and no other can map it
// writable. Every word is an atomic, so a process may die at any instruction; the supervisor takes what it reads for
// numbers to show, and nothing else.
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
#include "ipc/counters.h"
#include "ipc/drop_causes.h"
#include "ipc/histogram.h"
#include "ipc/ids.h"
#include "ipc/link_counts.h"
#include "ipc/shared_memory.h"

namespace campipe {

// The processes that beat. Workers are 3, 4, … Publisher and workers take part in the barrier. The first master is
// there in every rig: it decodes on the CPU. Further ones come as they are needed.
inline constexpr ProcessId source_process{0};
inline constexpr ProcessId master_process{1};
inline constexpr ProcessId publisher_process{2};
constexpr ProcessId worker_process(unsigned worker) { return ProcessId(publisher_process.index() + 1 + worker); }
inline constexpr unsigned max_workers = Barrier::max_participants - 1;  // the publisher takes part as well
inline constexpr unsigned max_gpu_masters = 64;                         // one for each GPU that decodes
inline constexpr unsigned max_quarantines = 8;                          // for cameras that are decoded apart
inline constexpr unsigned max_masters = 1 + max_gpu_masters + max_quarantines;
constexpr ProcessId master_process_of(unsigned number) {
  return number == 0 ? master_process : ProcessId(worker_process(max_workers).index() + number - 1);
}
// Of a rig that is a node of a cluster; it works for no camera.
inline constexpr ProcessId cluster_process = master_process_of(max_masters);
constexpr bool is_master(ProcessId process) {
  return process == master_process || (process >= master_process_of(1) && process < cluster_process);
}
// Likewise: the ends of links to other nodes.
inline constexpr ProcessId link_process{cluster_process.index() + 1};
inline constexpr unsigned max_processes = link_process.index() + 1;
constexpr unsigned participant_of(ProcessId process) { return process.index() - publisher_process.index(); }

struct alignas(64) ProcessBlock {
  std::atomic<std::int64_t> beat;      // monotonic ns, from the process's main thread every 100 ms
  std::atomic<std::uint32_t> arrived;  // phases of the barrier whose end it has reached

  // The process is at the end of `phase`. Does not wait; the supervisor enters it at the barrier.
  void arrive(std::uint32_t phase);
};

// What keeps a thread from its heartbeat, as far as it knows. Who waits for a ring beats meanwhile.
enum class WaitsFor : std::uint32_t { nothing, source, disk, decoder, filter, encoder };
const char* name_of(WaitsFor what);

// A thread that works for a camera in one process, and the threads that it started. Written by that process alone, but
// for `beat` and `fault`, which the supervisor clears when the process is gone.
struct alignas(64) ThreadBlock {
  std::atomic<std::int64_t> beat;        // monotonic ns; 0: no such thread runs
  std::atomic<std::int64_t> wait_until;  // monotonic ns: until then it may be silent; 0: it names no time
  std::atomic<std::int64_t> cpu_time;    // ns that it and its codec's threads have used
  std::atomic<std::int64_t> cpu_waited;  // ns that one of them waited for a CPU while it was silent
  std::atomic<WaitsFor> waits_for;
  std::atomic<std::uint32_t> fault;  // the signal that one of them died of; 0: none
};

// What a process notes of who shares a ring with it: the supervisor ends and restarts those that wrote what
// cannot be.
// other_end: of an edge, its writer or its reader; of a camera's packets, who reads the camera or who decodes it.
enum class Accused : std::uint32_t { none = 0, source = 1, worker = 2, publisher = 4, other_end = 8 };
using Accusation = std::atomic<std::uint32_t>;
inline void accuse(Accusation& accusation, Accused whom) {
  accusation.fetch_or(static_cast<std::uint32_t>(whom), std::memory_order_relaxed);
}

// How far a recording is. Two copies, of which `current` names the valid one, so that a death cannot tear it.
struct RecordState {
  // The file; the same as long as it is open.
  struct File {
    std::array<char, 4096> path;
    std::uint64_t stream;        // a hash of the stream's parameters
    std::uint64_t audio;         // likewise of its audio; 0: it has none
    std::int64_t begin;          // of its first frame, on the stream's time line
    std::int64_t begun_utc;      // when that came, by this machine's clock
    std::int64_t start_utc;      // when it was taken
    std::uint32_t camera_clock;  // 1: by the camera's clock
  };
  // One that has ended, by what is in the copy of its end.
  struct Ended {
    std::uint64_t offset;
    std::uint64_t packets;
    std::int64_t end;
    std::int64_t end_utc;
    std::uint32_t ended;  // 0: there is none
    File file;
  };
  // A field for each number of app/control/record_state.h.
  struct Copy {
    std::uint64_t offset;
    std::uint64_t packets;
    std::uint64_t fragments;
    std::int64_t last_dts;
    std::uint64_t number;        // of the newest packet that is dealt with, as PacketRingReader counts
    std::uint64_t recorded;      // packets in all files of the camera
    std::uint64_t unrecorded;    // those that should be in a file and never will be
    std::uint64_t audio_epoch;   // of the ring that the newest packet of audio in the file came from
    std::uint64_t audio_number;  // of that packet
    std::int64_t end;            // of the newest frame in the file, on the stream's time line
    std::int64_t end_utc;        // likewise, by the clock
    std::int64_t last_motion;    // pts of the newest frame that moved; -1: no motion is recorded
    float score;                 // the highest of the motion
    std::uint32_t open;          // 1: the file is to be gone on in, or to be ended
    std::uint32_t ended;         // a FileEnd: why it is over; 0: it is not
    File file;
    Ended before;  // the file before: the index may not have its end yet
  };
  std::atomic<std::uint32_t> current;  // 0: no file yet; else copy[current - 1]
  std::array<Copy, 2> copy;
  std::atomic<std::uint32_t> failed;
};

// What was wrong with a timestamp, or with the clock behind it.
enum class Correction : std::uint8_t { missing, repeated, backwards, jumped, stopped };
const char* name_of(Correction kind);
constexpr Counter counter_of(Correction kind) {
  return static_cast<Counter>(static_cast<std::uint8_t>(Counter::times_missing) + static_cast<std::uint8_t>(kind));
}
static_assert(counter_of(Correction::stopped) == Counter::times_stopped);

// How a camera's source keeps time.
struct SourceHealth {
  std::atomic<std::int64_t> clock_drift;    // ns by which the camera's clock has run ahead since connected
  std::atomic<std::int64_t> lag;            // ns by which the newest packet came later than usual
  std::atomic<std::int64_t> largest_lag;    // of all packets
  std::atomic<std::int64_t> time_origin;    // of a live source: see SourceClock::origin()
  std::atomic<std::int64_t> media_offset;   // likewise: see MediaClock::offset()
  std::atomic<std::uint32_t> camera_clock;  // 1: capture times are the camera's own
};

// How the frames of a member of a synchronised group lie to the group's sets.
struct SetHealth {
  std::atomic<std::int64_t> move;   // ns by which a file's times are moved to those of its group
  std::atomic<std::int64_t> phase;  // ns by which its frames lie behind the sets of its group
  std::atomic<std::int64_t> drift;  // ns by which that has grown, slips apart
};

// Sets of a synchronised group about which a member has decided: those of all members together are the group's.
struct DecidedSets {
  std::atomic<std::uint64_t> encoded;
  std::atomic<std::uint64_t> dropped;
  std::atomic<std::uint64_t> out_of_tolerance;
  SharedHistogram skew;  // between the first and the last frame of a set
};

// Who watches an output; by the publisher.
struct Audience {
  std::atomic<std::uint32_t> watches;   // 1: there are viewers
  std::atomic<std::uint32_t> arrivals;  // one more for each new viewer, for whom a key frame is to come soon
};

// How much moves in what an output shows, as parts (0 to 1) of what is watched; by the process that looks for motion in
// it: its worker or, where its packets are copied, the master.
struct MotionBlock {
  std::atomic<float> score;      // the highest of the last two seconds
  std::atomic<float> threshold;  // the least score that is motion; 0: none is looked for
  std::atomic<float> largest;    // score of all
};

using DropCounters = std::array<std::atomic<std::uint64_t>, drop_causes>;

inline std::atomic<std::uint64_t>& counter(DropCounters& counters, DropCause cause) {
  return counters[static_cast<std::size_t>(cause)];
}

// A camera's source, by the thread that reads it.
struct alignas(64) SourceBlock {
  using Id = CameraId;
  ThreadBlock thread;
  Accusation accusation;
  SourceHealth health;
  Counters counters;
  DropCounters unpublished;  // packets that were not decoded
};

// A camera's frames, by the thread that decodes them.
struct alignas(64) DecodeBlock {
  using Id = CameraId;
  ThreadBlock thread;
  Accusation accusation;
  SetHealth sets;
  Counters counters;
  SharedHistogram decode;  // spent in the decoder
};

// An edge, by who writes its frames: the thread that decodes its camera, or a node's.
struct alignas(64) EdgeWriterBlock {
  using Id = EdgeId;
  Accusation accusation;
  Counters counters;
  DropCounters unpublished;                // of a node: also what its filters left out
  std::atomic<std::uint64_t> newest_drop;  // of a source's: see ipc/drop_note.h
};

// An output whose packets are passed on as they came, by the thread that reads its camera.
struct alignas(64) CopyBlock {
  using Id = OutputId;
  Accusation accusation;
  Counters counters;
  DropCounters unpublished;
  SharedHistogram latency;  // arrival → passed on
};

// Likewise, by the thread that decodes its camera and looks at its frames.
struct alignas(64) LookBlock {
  using Id = OutputId;
  MotionBlock motion;
};

// The clock of a node that makes frames at times of its own: tick k is at first + k / rate. It goes on in the next
// process.
struct TickClock {
  std::atomic<std::int64_t> first;         // monotonic ns; 0: it has not begun
  std::atomic<std::int64_t> media_offset;  // media time less the time since the first tick
  std::atomic<std::uint64_t> ticks;        // those that have come, and are a frame or `skipped`
  DropCounters skipped;                    // noted behind `ticks`
};

// A node, by its thread.
struct alignas(64) NodeBlock {
  using Id = NodeId;
  ThreadBlock thread;
  Counters counters;
  TickClock clock;  // of a mosaic
};

// An edge, by the node that reads it.
struct alignas(64) EdgeReaderBlock {
  using Id = EdgeId;
  Accusation accusation;
  Counters counters;
  SharedHistogram queue;  // decoded → taken by the node
};

// An edge from or to another machine, by the thread of its end here.
struct alignas(64) LinkBlock {
  using Id = EdgeId;
  LinkCounts counts;
};

// An output that is encoded, by its node.
struct alignas(64) EncodeBlock {
  using Id = OutputId;
  Accusation accusation;
  Counters counters;
  DropCounters dropped;
  MotionBlock motion;
  SharedHistogram latency;  // arrival → encoded
  SharedHistogram filter;
  SharedHistogram encode;
  SharedHistogram overhead;  // latency less decode, filter and encode
  DecidedSets sets;
};

// Any output, by its thread in the publisher.
struct alignas(64) PublishBlock {
  using Id = OutputId;
  ThreadBlock thread;
  Accusation accusation;
  Counters counters;
  Audience audience;
  std::atomic<std::uint32_t> pushing;  // of a node of a cluster: connections to push targets, see PushPermit
  RecordState record;
};

// What the supervisor passes on of an output from one process's page to the others.
struct alignas(64) SharedBlock {
  using Id = OutputId;
  Audience audience;                     // for workers
  std::atomic<std::int64_t> push_until;  // of a node of a cluster, for the publisher: monotonic ns
  SharedHistogram latency, decode, queue, filter, encode, overhead;  // for the publisher's metrics
};

// How many of each part there can be.
struct RigSize {
  RigSize() = default;
  RigSize(unsigned of_each)  // NOLINT(google-explicit-constructor): a number is all there is to say of most rigs
      : cameras(of_each), nodes(of_each), edges(of_each), outputs(of_each) {}
  unsigned cameras = 0;
  unsigned nodes = 0;
  unsigned edges = 0;
  unsigned outputs = 0;
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
