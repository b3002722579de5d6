// What the supervisor and its processes send one another over their control channels (ipc/channel.h): a struct for each
// message, and a list of messages for each direction. `type` is its name on the channel, `fields` its JSON
// (app/control/json_fields.h), `descriptors` how many descriptors travel with it, where any do. What a message is about
// is named by its id (ipc/ids.h): source and master are sent cameras, workers are sent nodes, the publisher is sent
// outputs.
//
// A new message is a struct here, a place in the list of its direction, a function on() at its receiver, and a sender.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/config.h"
#include "app/control/camera_placement.h"
#include "app/control/config_json.h"
#include "app/control/json_fields.h"
#include "app/control/known_stream.h"
#include "app/control/link_messages.h"
#include "app/control/message_parts.h"
#include "app/control/node_messages.h"
#include "app/control/requests.h"
#include "app/control/sent_stream.h"
#include "app/control/shed_step.h"
#include "app/control/stream_json.h"

namespace campipe {

namespace messages {

// ---- To every process

// The first one. The descriptors: the rig's shared page, and the process's own.
struct Setup {
  static constexpr std::string_view type = "setup";
  static constexpr DescriptorCount descriptors{2, 2};
  std::string role;  // "worker 0", for its log
  ProcessId process;
  std::optional<ServerConfig> server;    // for the publisher
  std::optional<ClusterConfig> cluster;  // likewise, of a node
  std::string log_level;
  Device gpu;                // that a worker, or a master, works on
  std::vector<Device> sees;  // the GPUs that CUDA shows it
  int numa_node = -1;
  std::vector<unsigned> cpus;  // empty: not pinned
  static void fields(auto& m, auto&& f) {
    f("role", m.role), f("process", m.process), f("server", m.server), f("cluster", m.cluster),
        f("log_level", m.log_level), f("gpu", m.gpu), f("sees", m.sees), f("numa_node", m.numa_node), f("cpus", m.cpus);
  }
};

// To workers and the publisher: every camera that there is has been named.
struct Start {
  static constexpr std::string_view type = "start";
  std::uint32_t phase = 0;  // of the barrier; a successor finds the rig beyond 0
  static void fields(auto& m, auto&& f) { f("phase", m.phase); }
};

// To workers and the publisher: no further camera will come; leave when all are done.
struct RigOver : Empty {
  static constexpr std::string_view type = "rig_over";
};

// ---- To the source

// An output that takes packets as the source sends them.
struct Copy {
  OutputId output;
  std::uint64_t epoch = 1;                  // of the first ring
  std::uint64_t base = 0;                   // packets of earlier epochs
  std::optional<std::int64_t> resume;       // the dts of the newest packet that a source that died passed on
  std::optional<std::int64_t> shown_until;  // when the last frame that it passed on ends
  std::vector<FilterConfig> filters;        // that look at its frames
  static void fields(auto& m, auto&& f) {
    f("output", m.output), f("epoch", m.epoch), f("base", m.base), f("resume", m.resume),
        f("shown_until", m.shown_until), f("filters", m.filters);
  }
};

struct ReadCamera {
  static constexpr std::string_view type = "read_camera";
  CameraId camera;
  CameraConfig config;
  std::uint64_t epoch = 1;             // of the first ring of packets to be decoded
  std::int64_t packet = 0;             // the number of its first packet
  std::optional<std::int64_t> resume;  // until then frames have come, or will, of a source that died
  std::int64_t set_move = 0;           // SetHealth::move
  bool decode = true;                  // some output needs frames, with or without viewers
  bool on_demand = false;              // else: some output needs them while it has viewers
  bool shown = false;                  // else: a mosaic needs them
  bool undecided = false;              // run like this only where the source sends what fits()
  std::vector<Copy> copies;
  std::vector<OutputEpoch> audio;  // outputs that take audio, with the epoch of the first ring
  static void fields(auto& m, auto&& f) {
    f("camera", m.camera), f("config", m.config), f("epoch", m.epoch), f("packet", m.packet), f("resume", m.resume),
        f("set_move", m.set_move), f("decode", m.decode), f("on_demand", m.on_demand), f("shown", m.shown),
        f("undecided", m.undecided), f("copies", m.copies), f("audio", m.audio);
  }
};

// Nothing of the camera is decoded any more: of its outputs, those with codec `copy` that are named here go on.
struct EndDecoding {
  static constexpr std::string_view type = "end_decoding";
  CameraId camera;
  std::vector<OutputId> outputs;
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("outputs", m.outputs); }
};

// ---- To a master

struct DecodeCamera {
  static constexpr std::string_view type = "decode_camera";
  // An output whose packets are copied, and whose filters look at its frames.
  struct Look {
    OutputId output;
    std::vector<FilterConfig> filters;
    static void fields(auto& m, auto&& f) { f("output", m.output), f("filters", m.filters); }
  };
  CameraId camera;
  EdgeId edge;           // its frame rings
  unsigned readers = 1;  // of each
  CameraConfig config;   // what decoding needs of it: nothing of where the camera is
  bool live = false;
  Placement placement;
  std::uint64_t epoch = 1;                    // of the first frame ring
  std::uint64_t base = 0;                     // frames of earlier epochs
  std::optional<std::int64_t> resume;         // the pts of the newest frame of a master that died
  std::optional<std::int64_t> resume_packet;  // that it came in
  bool decode = true;                         // some output needs frames, with or without viewers
  std::vector<OutputId> on_demand;            // else: outputs that need them only while they have viewers
  bool shown = false;                         // else: a mosaic needs them
  ShedStep shed = ShedStep::none;             // what it gives up
  bool skips = false;                         // what masters have crashed at is not decoded again
  std::vector<Look> copies;
  static void fields(auto& m, auto&& f) {
    f("camera", m.camera), f("edge", m.edge), f("readers", m.readers), f("config", m.config), f("live", m.live),
        f("placement", m.placement), f("epoch", m.epoch), f("base", m.base), f("resume", m.resume),
        f("resume_packet", m.resume_packet), f("decode", m.decode), f("on_demand", m.on_demand), f("shown", m.shown),
        f("shed", m.shed), f("skips", m.skips), f("copies", m.copies);
  }
};

// A camera's packets, from the source and on to its master.
struct SourceRing {
  static constexpr std::string_view type = "source_ring";
  static constexpr DescriptorCount descriptors{1, 1};
  CameraId camera;
  std::uint64_t epoch = 0;
  std::int64_t packet = 0;  // the number of its first packet
  bool again = false;       // of a source that goes on for one that died: what came before may come again
  static void fields(auto& m, auto&& f) {
    f("camera", m.camera), f("epoch", m.epoch), f("packet", m.packet), f("again", m.again);
  }
};

// No further one will come.
struct SourceRingsOver : OfCamera {
  static constexpr std::string_view type = "source_rings_over";
};

// To source and master. A mosaic needs its frames, or needs them no more: of a camera that is not decoded otherwise.
struct ShowCamera {
  static constexpr std::string_view type = "show_camera";
  CameraId camera;
  bool shown = false;
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("shown", m.shown); }
};

// What it gives up for other cameras, from now on.
struct ShedCamera {
  static constexpr std::string_view type = "shed_camera";
  CameraId camera;
  ShedStep step = ShedStep::none;
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("step", m.step); }
};

// To both. End its source; what it has read is still handed over.
struct StopCamera : OfCamera {
  static constexpr std::string_view type = "stop_camera";
};

// To its master. Another one goes on with it: nothing more is handed over. The answer is DecodingLeft.
struct LeaveCamera : OfCamera {
  static constexpr std::string_view type = "leave_camera";
};

// To both. Nothing of the camera is left, its ids are free.
struct ForgetCamera : OfCamera {
  static constexpr std::string_view type = "forget_camera";
};

// To both. End all sources.
struct Drain : Empty {
  static constexpr std::string_view type = "drain";
};

struct Leave : Empty {
  static constexpr std::string_view type = "leave";
};

using ToSource = MessageList<ReadCamera, ShowCamera, EndDecoding, StopCamera, ForgetCamera, Drain, Leave>;
using ToMaster = MessageList<DecodeCamera, SourceRing, SourceRingsOver, ShowCamera, ShedCamera, StopCamera, RenewRing,
                             LeaveCamera, ForgetCamera, Drain, Leave>;

// ---- To a worker

using ToWorker = MessageList<OfferGroupPage, OfferHandOver, RunNode, Start, OfferFrameRing, RenewRing, EdgeOver,
                             FinishNode, ShowCell, WriteEdge, StopEdge, ShrinkNode, GoOn, ForgetNode, RigOver>;

// ---- From source or worker to the supervisor, and from there to the publisher

struct PacketRing {
  static constexpr std::string_view type = "packet_ring";
  static constexpr DescriptorCount descriptors{1, 1};
  OutputId output;
  std::uint64_t epoch = 0;
  StreamParameters stream;
  static void fields(auto& m, auto&& f) { f("output", m.output), f("epoch", m.epoch), f("stream", m.stream); }
};

struct AudioRing {
  static constexpr std::string_view type = "audio_ring";
  static constexpr DescriptorCount descriptors{1, 1};
  OutputId output;
  std::uint64_t epoch = 0;
  AudioParameters audio;
  static void fields(auto& m, auto&& f) { f("output", m.output), f("epoch", m.epoch), f("audio", m.audio); }
};

// ---- To the publisher

struct PublishOutput {
  static constexpr std::string_view type = "output";
  OutputId output;
  ResolvedOutput config;
  bool recording = true;              // what was asked last
  std::optional<std::string> events;  // the file for events
  std::string fence;                  // of a node of a cluster; empty: none
  static void fields(auto& m, auto&& f) {
    f("output", m.output), f("config", m.config), f("recording", m.recording), f("events", m.events),
        f("fence", m.fence);
  }
};

// Of a node of a cluster, whose camera has got a newer one: its files are named by it from now on.
struct RecordUnder {
  static constexpr std::string_view type = "record_under";
  OutputId output;
  std::string fence;
  static void fields(auto& m, auto&& f) { f("output", m.output), f("fence", m.fence); }
};

// Nothing of it runs, but there may be recordings of it.
struct DisabledCamera {
  static constexpr std::string_view type = "disabled_camera";
  ResolvedOutput config;
  static void fields(auto& m, auto&& f) { f("config", m.config); }
};

struct Record {
  static constexpr std::string_view type = "record";
  OutputId output;
  bool on = true;
  static void fields(auto& m, auto&& f) { f("output", m.output), f("on", m.on); }
};

// No further ring of the output will come.
struct OutputOver : OfOutput {
  static constexpr std::string_view type = "output_over";
};

// Nothing of the output is left: its id is free.
struct ForgetOutput : OfOutput {
  static constexpr std::string_view type = "forget_output";
};

// Close every file as it is.
struct CloseFiles : Empty {
  static constexpr std::string_view type = "close_files";
};

struct ChangeServer {
  static constexpr std::string_view type = "server";
  ServerConfig server;
  static void fields(auto& m, auto&& f) { f("server", m.server); }
};

// Each second, for the API and the metrics: as docs/api.md describes it.
struct Status {
  static constexpr std::string_view type = "status";
  nlohmann::json status;
  static void fields(auto& m, auto&& f) { f("status", m.status); }
};

using ToPublisher = MessageList<PublishOutput, DisabledCamera, Start, PacketRing, AudioRing, OutputOver, ForgetOutput,
                                Record, RecordUnder, CloseFiles, ChangeServer, Status, ShareLinks, Answer, RigOver>;

// ---- From the source

struct SourceOver {
  static constexpr std::string_view type = "source_over";
  CameraId camera;
  std::string failure;  // empty: it ended as it should
  bool at_end = false;  // the source itself has an end, and was there
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("failure", m.failure), f("at_end", m.at_end); }
};

// Of a live source.
struct SourceState {
  static constexpr std::string_view type = "source_state";
  CameraId camera;
  bool delivers = false;
  std::string reason;  // why not
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("delivers", m.delivers), f("reason", m.reason); }
};

// What an undecided camera's source sends (app/control/sent_stream.h).
struct FoundStream {
  static constexpr std::string_view type = "sent_stream";
  CameraId camera;
  SentStream sends;
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("sends", m.sends); }
};

// What a camera's source sends, each time that it has been opened.
struct OpenedStream {
  static constexpr std::string_view type = "opened_stream";
  CameraId camera;
  KnownStream stream;
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("stream", m.stream); }
};

using FromSource = MessageList<SourceRing, PacketRing, AudioRing, SourceOver, SourceState, FoundStream, OpenedStream>;

// ---- From the master

// All of that ring has been taken.
struct SourceRingDone {
  static constexpr std::string_view type = "source_ring_done";
  CameraId camera;
  std::uint64_t epoch = 0;
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("epoch", m.epoch); }
};

// Of a live camera: is decoded, or is not for this reason, and is tried again.
struct DecodingState {
  static constexpr std::string_view type = "decoding_state";
  CameraId camera;
  bool decodes = false;
  std::string reason;
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("decodes", m.decodes), f("reason", m.reason); }
};

// No frame ring of the camera will come any more.
struct DecodingOver {
  static constexpr std::string_view type = "decoding_over";
  CameraId camera;
  std::string failure;  // empty: it ended as it should
  static void fields(auto& m, auto&& f) { f("camera", m.camera), f("failure", m.failure); }
};

// It was asked to leave it. What it has published can still be read.
struct DecodingLeft : OfCamera {
  static constexpr std::string_view type = "decoding_left";
};

using FromMaster = MessageList<FrameRing, SourceRingDone, DecodingState, DecodingOver, DecodingLeft>;

// ---- From workers

struct OutputFailed : OutputReason {
  static constexpr std::string_view type = "output_failed";
};

using FromWorker =
    MessageList<FrameRing, PacketRing, OutputFailed, EdgeFailed, EdgeDone, NodeDone, NotReady, FrameRingLost>;

// ---- To and from a worker whose work another node of the cluster does, and one that does such work (app/remote)

template <typename... M, typename... N>
MessageList<M..., N...> both(MessageList<M...>, MessageList<N...>);
using ToRemote = decltype(both(ToWorker(), MessageList<LinkIdentity, SendLink, ReceiveLink, StopLink>()));
using FromRemote = decltype(both(FromWorker(), MessageList<LinkListens, LinkTransports>()));

// ---- To and from the process of links (app/control/link_messages.h)

using ToLink = MessageList<LinkIdentity, SendLink, ReceiveLink, StopLink, OfferFrameRing, Leave>;
using FromLink = MessageList<FrameRing, EdgeDone, LinkListens, LinkTransports>;

// ---- From the publisher

// Everything that came of the output is done with.
struct OutputDone : OfOutput {
  static constexpr std::string_view type = "output_done";
};

// A ring of it that it was sent cannot be opened, through no process's fault.
struct RingLost : OutputReason {
  static constexpr std::string_view type = "ring_lost";
};

// It has read all of that ring.
struct PacketRingDone : OutputEpoch {
  static constexpr std::string_view type = "packet_ring_done";
};
struct AudioRingDone : OutputEpoch {
  static constexpr std::string_view type = "audio_ring_done";
};

struct FileBegun {
  static constexpr std::string_view type = "file";
  OutputId output;
  std::string path;
  static void fields(auto& m, auto&& f) { f("output", m.output), f("path", m.path); }
};

// For good.
struct RecordFailed : OutputReason {
  static constexpr std::string_view type = "record_failed";
};

struct RecordPaused : OutputReason {
  static constexpr std::string_view type = "record_paused";
};

struct RecordResumed : OfOutput {
  static constexpr std::string_view type = "record_resumed";
};

struct PushChanged {
  static constexpr std::string_view type = "push_state";
  OutputId output;
  std::string url;  // without its password
  std::string state;
  std::string reason;
  static void fields(auto& m, auto&& f) {
    f("output", m.output), f("url", m.url), f("state", m.state), f("reason", m.reason);
  }
};

template <typename... M, typename... R>
MessageList<M..., R...> with_requests(MessageList<M...>, std::variant<R...>*);
using FromPublisher =
    decltype(with_requests(MessageList<OutputDone, RingLost, PacketRingDone, AudioRingDone, FileBegun, RecordFailed,
                                       RecordPaused, RecordResumed, PushChanged, PeerLinks>(),
                           static_cast<Request*>(nullptr)));

}  // namespace messages
}  // namespace campipe
