// What the supervisor knows of a camera and of its outputs: what they are to do, how they are, and their rings of the
// current epochs. The camera's own stream is its first output. Plain data, used by the supervisor's thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/config/drop_policy.h"
#include "app/config/link_transport.h"
#include "app/config/stream_config.h"
#include "app/control/messages/node_parts.h"
#include "app/control/sent_stream.h"
#include "app/control/shed_step.h"
#include "app/placement/plan.h"
#include "app/supervisor/rig/restart_policy.h"
#include "app/supervisor/rig/thread_watch.h"
#include "core/clock.h"
#include "core/indirect.h"
#include "core/line_limit.h"
#include "core/packet.h"
#include "ipc/counters.h"
#include "ipc/frame_ring.h"
#include "ipc/hand_over.h"
#include "ipc/ids.h"
#include "ipc/packet_ring.h"
#include "ipc/process_ids.h"

namespace campipe {

struct CameraConfig;
struct OutputTotals;

// waiting: its live source is away, and is opened again and again. disabled: nothing of it runs, by its configuration.
enum class CameraState : std::uint8_t { starting, running, waiting, ended, failed, disabled };
const char* name_of(CameraState state);

// Of the rings that a running process was sent: how many it may not have opened yet.
struct RingsSent {
  unsigned number = 0;
  Clock::time_point newest;

  void add() {
    ++number;
    newest = Clock::now();
  }
};

// An output's packets or its audio, on their way to the publisher.
template <typename Parameters>
struct PacketRings {
  struct Ring {
    std::uint64_t epoch = 0;
    Parameters parameters;
    PacketRingObserver observer;
  };
  std::list<Ring> unread;  // those that the publisher has not finished, oldest first
  std::optional<PacketRingObserver> newest;
  std::uint64_t epoch = 0;  // of the newest, of any writer

  void forget(std::uint64_t done) {
    unread.remove_if([done](const Ring& ring) { return ring.epoch == done; });
  }
};

struct OutputRecording {
  bool on = true;       // what was asked last; a new process of the publisher obeys it too
  bool failed = false;  // for good
  std::string paused;   // why; empty: it is not
  std::int64_t paused_since = 0;
  std::string file;  // the newest
  LineLimit new_stream_lines{std::chrono::minutes(1)};

  void pause(const std::string& reason) {
    if (paused.empty()) paused_since = utc_now_ns();
    paused = reason;
  }
  [[nodiscard]] bool writes() const { return on && !failed && paused.empty(); }
};

struct Push {
  std::string state;
  std::string reason;
  std::string cause;       // the reason without the target's address
  std::int64_t since = 0;  // UTC; that it is in that state
};

// How far sources have passed on packets as they came, on the stream's time line. Kept where a ring is replaced: the
// next one may be empty when its source dies.
struct CopiedUntil {
  std::optional<std::int64_t> dts;          // of the newest packet
  std::optional<std::int64_t> shown_until;  // when the last frame ends
  std::optional<std::int64_t> audio;        // the dts of the newest packet of audio
};

struct OutputInPublisher {
  RingsSent rings_sent;
  bool done = false;    // it has no work with the output any more
  bool unread = false;  // quarantined: its packets are taken by no reader any more
  ThreadWatch watch{thread_hangs};
  QuarantinePolicy faults;  // of its thread
};

// Two fields more than a class should have: they are what the status shows of an output, one for each.
struct Output {
  OutputId id;
  CameraId camera;
  bool own = false;  // it is the camera's own stream
  ResolvedOutput config;
  Placement placement;
  NodeId node;  // that encodes it; of a copy: of no meaning

  CameraState state = CameraState::starting;
  std::int64_t since = utc_now_ns();  // that it is in that state
  std::string reason;                 // of `failed` and `waiting`; or why its recording failed

  PacketRings<StreamParameters> packets;
  std::optional<StreamParameters> stream;  // of the newest ring
  CopiedUntil copied;
  std::optional<messages::NewestSet> newest_set;  // of a synchronised group, of workers that died
  PacketRings<AudioParameters> audio;
  bool packets_over = false;  // no packet ring will come any more
  OutputInPublisher publisher;

  OutputRecording recording;
  std::map<std::string, Push> push;  // by URL, without its password

  std::shared_ptr<const OutputTotals> before;  // of those that had its name before; may be null

  void become(CameraState next) {
    if (next != state) since = utc_now_ns();
    state = next;
  }
  [[nodiscard]] std::uint64_t packets_published() const { return packets.newest ? packets.newest->published() : 0; }
  // Of what is copied, with what its newest rings have.
  [[nodiscard]] CopiedUntil copied_until() const;
  // What a successor needs of its newest rings: before they are replaced, and before it is told.
  void keep_newest();
  [[nodiscard]] bool is_copy() const { return campipe::is_copy(config.encode); }
  // It needs no frames.
  [[nodiscard]] bool is_plain_copy() const { return is_copy() && config.filters.empty(); }
  [[nodiscard]] bool is_own() const { return own; }
};

// A node's place at an edge.
struct EdgeReader {
  NodeId node;
  ProcessId process;             // the node's
  std::optional<unsigned> seat;  // in the edge's newest ring, once it was sent that
  std::optional<unsigned> left;  // the one that it had there before, while it has none: it is to come back
  std::uint32_t tenure = 0;      // of the reader that had the seat before
  RingsSent sent;
  bool unsettled = false;  // its process died, and the ring has not been cleared yet
  bool unoffered = false;  // the newest ring had no writer, or was said to be closed, when it was to be offered
  // Frames of seats that it had before.
  std::uint64_t meant = 0;
  std::uint64_t recalled = 0;
  // Of a move: from a frame on, its frames are another reader's, or another's frames are its own.
  std::shared_ptr<const HandOver> gives_over;
  std::shared_ptr<const HandOver> takes_over;
  std::uint64_t not_recalled = 0;  // of those that its seat counts as recalled: frames that were not its own any more

  // Its seat in the newest ring, or the one that is kept for it while it is away.
  [[nodiscard]] std::optional<unsigned> place() const { return seat ? seat : left; }
};

// Frames of a reader: published for it, and of those taken back from its queue.
struct ReaderFrames {
  std::uint64_t meant = 0;
  std::uint64_t recalled = 0;
};

// A place in a mosaic.
struct CellPlace {
  CameraId mosaic;
  unsigned cell = 0;
  friend bool operator==(const CellPlace&, const CellPlace&) = default;
};

// A cell's edge from or to another node of the cluster (app/supervisor/cluster/mosaic_links.h).
struct EdgeLink {
  std::string name;  // of the link, as both nodes say it
  std::string mosaic = {};
  std::string camera = {};
  std::string peer;      // the other node,
  std::string peer_key;  // with its key
  bool sends = false;    // its reader is this node's end; else its writer
  bool told = false;     // the process of links has been sent it,
  bool again = false;    // and one before that, which died
  unsigned port = 0;     // sending: where the peer listens; receiving: where this end does, 0: not yet
  LinkTransport transport = LinkTransport::zeromq;
};
// The reader of a link's edge that sends: no node here.
inline constexpr NodeId no_node{~0U};
inline constexpr CameraId no_camera{~0U};

// A camera's frames, on their way to one or more nodes: from the source, or from another node. The readers are the
// camera's, or, of a cell's, the mosaic's.
struct CameraEdge {
  struct Ring {
    FrameRingObserver observer;
    double frame_rate = 0;
    int rotation = 0;             // degrees clockwise by which its frames must be turned
    bool without_pixels = false;  // the supervisor has unmapped them
  };
  EdgeId id;
  std::optional<NodeId> writer;  // none: the source
  std::vector<EdgeReader> readers;
  std::vector<FilterConfig> filters;  // of a node's: what it does to the frames
  RingMemory memory;                  // likewise
  bool failed = false;                // likewise
  std::optional<CellPlace> cell;      // that it is for; none: it is on the way to the camera's own outputs
  std::optional<EdgeLink> link;       // of a cell's: the camera, or the mosaic, is on another node
  double rate = 0;                    // of a cell's: at most so many frames a second
  std::string reason;                 // of a cell's that failed
  bool ending = false;                // of a cell's: its writer was asked to end it,
  bool ended = false;                 // and has
  std::optional<Ring> newest;
  std::uint64_t epoch = 0;  // of the newest, of any process
  std::uint64_t base = 0;   // frames that count as published before the first ring
  // Of the source's: the newest frame of rings before and of masters that died, and the packet that it came in.
  std::optional<std::int64_t> last_pts;
  std::optional<std::int64_t> last_packet;

  [[nodiscard]] std::uint64_t published() const { return newest ? newest->observer.published() : base; }
  // Of the source's: of all masters.
  [[nodiscard]] std::optional<std::int64_t> newest_pts() const;
  // Likewise, before the ring is replaced or its master's work goes on: it remembers what its newest frame is.
  void keep_newest();
  [[nodiscard]] EdgeReader& reader(NodeId node);
  [[nodiscard]] const EdgeReader& reader(NodeId node) const;
  // They must be taken quickly, or are lost; frames that may wait.
  [[nodiscard]] DropPolicy drop_policy(const CameraConfig& camera) const;
  [[nodiscard]] unsigned queue_size(const CameraConfig& camera) const;
  [[nodiscard]] ReaderFrames frames_for(const EdgeReader& reader) const;
  // Likewise with those of a reader that takes over from it.
  [[nodiscard]] ReaderFrames frames_from(const EdgeReader& reader) const;
  // Its seat in the newest ring is no longer its own.
  void end_seat(EdgeReader& reader) const;
  // A seat in the newest ring for a reader that has none. False: all are taken. Not that of another one, also where
  // that one died and its seat is empty by now: by this it is seen that nothing of it is left.
  [[nodiscard]] bool take_seat(EdgeReader& reader);
  // It is given up, with its seat. Only when its node is done, or its process is gone.
  void remove_reader(NodeId node);
  // All that read the newest ring, or are to come back to it; as bits.
  [[nodiscard]] std::uint32_t seats() const;
  [[nodiscard]] bool is_read_by(NodeId node) const;
  // The end of a link reads it, or writes it.
  [[nodiscard]] bool is_sent() const { return link && link->sends; }
  [[nodiscard]] bool is_received() const { return link && !link->sends; }
};

// The two links of a stage or tile on another node of the cluster, as one of the two nodes' supervisors knows them
// (remote_stages.h, guest_stages.h): that by which frames come here, and that by which they leave.
struct StageLinks {
  std::string key;             // of the other node; empty: the process of links does not know it yet
  unsigned listens = 0;        // the port at which it listens; 0: at none yet
  unsigned sends_to = 0;       // the port of the other node to which it was told to send; 0: to none yet
  LinkTransport listens_by{};  // as this node has chosen
  LinkTransport sends_by{};    // as the other one has
  bool again = false;          // a process before has had them

  // The process that had them is gone, and the next one knows nothing; or the other node is another one.
  void begin_again() { *this = {.key = {}, .again = again || !key.empty()}; }
};

// The process that runs a node: its worker, or the process of links if it has none.
constexpr ProcessId process_of_node(unsigned worker) {
  return worker == no_worker ? link_process : worker_process(worker);
}

// A thread of the camera's in a worker; or, where another node of the cluster does the work, the two links to that in
// the process of links.
struct CameraNode {
  NodeId id;
  unsigned worker = 0;           // its number; or no_worker
  std::string gpu = "cpu";       // the worker's: "0", or "cpu"
  unsigned first_filter = 0;     // of the camera's: those before are done when its frames come
  std::optional<unsigned> tile;  // it makes this part of each frame of the camera's own stream,
  std::string remote = {};       // another node of the cluster does its work: "node-b/0"; empty: this one
  StageLinks links = {};         // then
  bool joins = false;            // or reads these parts: the edges of all tiles, in their order
  bool done = false;             // it has no work any more, or never had
  ThreadWatch watch{thread_hangs};
  [[nodiscard]] ProcessId process() const { return process_of_node(worker); }
};

// The work of one of its nodes goes over to another worker (app/supervisor/moving/moves.h).
struct CameraMove {
  std::shared_ptr<HandOver> page;
  NodeId from;
  NodeId to;
  unsigned worker = 0;                       // of `to`
  std::map<OutputId, Placement> placements;  // of the node's outputs, there
  std::map<EdgeId, RingMemory> memories;     // of what it writes for further nodes, there
  std::map<EdgeId, std::uint64_t> missed;    // frames of what it reads that were not for it, until `to` came
  Clock::time_point begun = Clock::now();
  std::string reason;
  bool by_user = false;
  bool cancelled = false;  // `to` is about to end
  bool to_died = false;    // its process did, after it had taken over
  bool from_died = false;  // the other one's did, before it was done
  // Who asked, and waits for the answer; 0: has it.
  pid_t asker = 0;
  std::uint64_t request = 0;

  [[nodiscard]] bool is_committed() const { return page->boundary().has_value(); }
};

// It goes on elsewhere (app/supervisor/moving/relocations.h).
struct CameraRelocation {
  Clock::time_point begun = Clock::now();
  bool nodes_end = false;       // they were told that no further ring comes
  std::set<NodeId> given_up{};  // they were asked to end at once
};

// Its work has gone over.
struct LastMove {
  unsigned from = 0;  // workers
  unsigned to = 0;
  std::int64_t at = utc_now_ns();
  std::string reason;
  bool by_user = false;
};

// Of a ring of packets to be decoded: as messages::SourceRing's.
struct SourceRingStart {
  std::int64_t packet = 0;
  bool again = false;
};

struct CameraSource {
  Placement placement;      // where it is decoded, for whom
  std::string gpu = "cpu";  // that decodes it, where it can: "0", or "cpu"
  // Of `placement`, before a worker came to read its frames that cannot read that GPU's memory
  // (app/supervisor/moving/moves.h).
  std::optional<RingMemory> gpu_memory;
  PacketRings<SourceRingStart> packets;  // to be decoded
  std::int64_t next_packet = 0;          // the number of the first packet of a ring that is made next
  bool over = false;                     // no packet will come any more
  std::optional<std::string> away;       // why nothing comes just now; none: something does, or nothing has yet
  bool gone = true;                      // no source has a thread for it: it was never sent one, or that has ended
  ThreadWatch watch{thread_hangs};

  // Before another ring is made, or by another process: packets are numbered on from what the newest ring says.
  void keep_next_packet();
};

struct SourceDecoding {
  ProcessId process = master_process;        // the master that decodes it, or would
  std::string role = "master";               // likewise, as the status calls it
  std::optional<unsigned> quarantine;        // likewise: the number of one for cameras that are decoded apart
  std::optional<Clock::time_point> crashed;  // it brought down its master,
  bool isolate = false;                      // so the next one is such a one,
  bool skips = false;                        // twice: it goes on behind what was tried
  bool given_up = false;                     // too often: only what needs no frames goes on
  bool over = false;                         // no frame ring will come any more
  bool gone = true;                          // no master has a thread for it
  std::optional<std::string> failing;        // why it cannot be decoded just now
  ThreadWatch watch{thread_hangs};
};

struct Camera {
  Camera();

  CameraId id;
  std::vector<Output> outputs;      // its own stream first; the vector does not change while it lives
  Indirect<CameraConfig> asked;     // as it was loaded
  std::optional<SentStream> sends;  // what its source was found to send, if `asked` depends on it
  Indirect<CameraConfig> config;    // as it is run

  CameraSource source;
  SourceDecoding decoding;
  std::string decoder;
  std::string ipc_memory = "host";  // of the newest ring of its source
  std::vector<CameraNode> nodes;    // in the order in which frames come to them; at least one
  // Likewise: the source's, those that nodes write, and those for mosaics. Of a mosaic: those of cells whose cameras
  // are on other nodes.
  std::list<CameraEdge> edges;
  std::vector<messages::CellState> cells;      // of a mosaic: as its node knows them
  std::optional<CameraMove> move;              // then it has two nodes for one, behind one another in `nodes`
  std::optional<LastMove> last_move;           // of those since it came
  std::optional<CameraRelocation> relocation;  // nothing of it is decoded until its nodes are others
  std::optional<std::string> stalled;          // why nothing comes of its frames: a process that they need is away
  ShedStep shed = ShedStep::none;              // what it gives up for others,
  std::int64_t shed_since = 0;                 // and since when it gives up anything
  bool shown = false;                          // by a mosaic: its node has work, whatever its outputs are
  CounterTotals counted;                       // by the supervisor itself
  Clock::time_point begun = Clock::now();

  std::optional<Device> home;  // the GPU that it ran on before that was gone; none: it is where it was placed
  std::string stands_in;       // where it is to run instead, as people write it; empty: where plan() says
  bool displaced = false;      // it goes since a GPU is gone, or is here again, and comes anew elsewhere

  bool retiring = false;                            // asked to end while the rig runs on
  std::optional<Indirect<CameraConfig>> successor;  // what comes in its place then; none: nothing
  std::optional<bool> successor_records;            // whether that records, where it was asked; none: as any that comes

  QuarantinePolicy faults;   // of its threads in the source, the master and its worker
  bool quarantined = false;  // all of it: it comes again only where somebody asks for it

  // Without a source: what it shows comes from other cameras.
  [[nodiscard]] bool is_mosaic() const;
  // Of its source's frames; not of a mosaic.
  [[nodiscard]] CameraEdge& frames() { return edges.front(); }
  [[nodiscard]] const CameraEdge& frames() const { return edges.front(); }
  [[nodiscard]] CameraNode& node(NodeId node);
  [[nodiscard]] const CameraNode& node(NodeId node) const;
  [[nodiscard]] CameraEdge& edge(EdgeId edge);
  [[nodiscard]] const CameraEdge& edge(EdgeId edge) const;
  // That it reads: one, those that it joins, or none of a mosaic's.
  [[nodiscard]] std::vector<CameraEdge*> edges_to(const CameraNode& node);
  [[nodiscard]] std::vector<const CameraEdge*> edges_to(const CameraNode& node) const;
  // An edge, and who takes the frames from it; null: the tiles of a join, which accounts for each frame of the edge
  // itself.
  struct Hop {
    const CameraEdge* edge = nullptr;
    const EdgeReader* reader = nullptr;
  };
  // The way of an encoded output's frames, from the source on; of a mosaic's: none.
  [[nodiscard]] std::vector<Hop> path_of(const Output& output) const;
  // The output's frames, or parts of them, come over the edge.
  [[nodiscard]] bool needs(const Output& output, const CameraEdge& edge) const;
  // During a move, without the one that is to take over.
  [[nodiscard]] std::vector<const CameraNode*> planned_nodes() const;
  // It is processed by stage or by tile.
  [[nodiscard]] bool is_staged() const { return planned_nodes().size() > 1; }
  // Tells the writer of the edge's newest ring whose frames belong together, and whom it has to wait for, if it waits
  // at all. During a move, not for the two nodes of that: it waits for whichever there is.
  void require_readers(CameraEdge& edge) const;
  // It is not to be sent anything of the camera's frames just now, or any more, because of a move.
  [[nodiscard]] bool is_held_back(NodeId node) const;
  // Who encodes an output.
  [[nodiscard]] const CameraNode& encoder_of(const Output& output) const { return node(output.node); }
  [[nodiscard]] ProcessId writer_of(const CameraEdge& edge) const;
  // No ring of it will come any more.
  [[nodiscard]] bool is_over(const CameraEdge& edge) const;
  // Nor anything else that the node works on.
  [[nodiscard]] bool input_is_over(const CameraNode& node) const;
  // Some output or mosaic needs its frames, or may need them.
  [[nodiscard]] bool is_decoded() const;
  // It runs, and is neither being changed nor placed anew.
  [[nodiscard]] bool is_at_work() const { return own().state == CameraState::running && !retiring && !relocation; }
  // Its nodes have work.
  [[nodiscard]] bool uses_worker() const { return shown || needs_worker(*config); }
  [[nodiscard]] bool nodes_done() const;
  [[nodiscard]] Output& own() { return outputs.front(); }
  [[nodiscard]] const Output& own() const { return outputs.front(); }
  [[nodiscard]] const std::string& name() const;
  // It is going, and nothing comes in its place: for requests for changes it is not there any more.
  [[nodiscard]] bool is_removed() const { return retiring && !successor; }
  // It need not come anew to be as `wanted` says. One that failed does: the user has repaired what was wrong.
  [[nodiscard]] bool runs_as(const CameraConfig& wanted) const;
  // Some process has, or had, work with it.
  [[nodiscard]] bool takes_part() const { return own().state != CameraState::disabled; }
  [[nodiscard]] bool all_failed() const;
  [[nodiscard]] bool all_encoded_failed() const;  // of those that are not copied
};

}  // namespace campipe
