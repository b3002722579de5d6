#include "app/supervisor/life/ring_router.h"

#include <utility>

#include "app/config/memory_names.h"
#include "app/control/messages/cameras.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/ring_descriptors.h"
#include "app/supervisor/rig/accounting.h"
#include "core/failpoint.h"
#include "core/log.h"

namespace campipe {
namespace {

// Of a camera's packets, and of its audio, that the publisher has not finished: a source that changes its sizes without
// end makes many while the publisher is away, and each takes descriptors.
constexpr std::size_t most_rings = 64;
constexpr auto too_many_rings = "too many of its rings wait for the publisher";
constexpr auto too_many_to_decode = "too many of its rings wait for the master";

// Its writer's word may have been written by any of its readers: who takes it back shall not find a ring without pixels
// offered to the next reader.
void forget_pixels(CameraEdge::Ring& ring) {
  ring.observer.forget_pixels();
  ring.without_pixels = true;
}

// A writer whose packets have no reader any more must not wait: other outputs are on the same thread.
void give_back_unread(Output& output) {
  if (!output.publisher.unread) return;
  if (output.packets.newest) output.packets.newest->give_back_all();
  if (output.audio.newest) output.audio.newest->give_back_all();
}

// Nothing of a reader that died is left in the newest ring.
bool is_cleared(const CameraEdge& edge, const EdgeReader& reader, bool writer_lives) {
  return !writer_lives || !reader.seat || edge.newest->observer.reader_state(*reader.seat) == ReaderState::empty;
}

}  // namespace

bool RingRouter::writer_lives(const CameraEdge& edge, ProcessId writer) {
  const bool open = edge.newest && edge.newest->observer.writer_state() == WriterState::open;
  return open && processes_.of(writer).child;
}

void RingRouter::offer(Camera& camera, CameraEdge& edge, EdgeReader& reader) {
  offer(camera, edge, std::span(&reader, 1));
}

// All have their seats before the first of them can come: a writer waits for those that it knows to be required.
void RingRouter::offer(Camera& camera, CameraEdge& edge, std::span<EdgeReader> readers) {
  if (!edge.newest) return;
  CameraEdge::Ring& ring = *edge.newest;
  std::vector<EdgeReader*> seated;
  for (EdgeReader& reader : readers) {
    if (!is_ready_for_ring(camera, edge, reader)) continue;
    edge.end_seat(reader);
    reader.unoffered = !writer_lives(edge, camera.writer_of(edge));
    if (reader.unoffered) continue;
    if (ring.without_pixels) return renew(camera, edge, "its frame ring was said to be closed, and is not");
    if (!edge.take_seat(reader)) return renew(camera, edge, "no reader has a place in its frame ring any more");
    seated.push_back(&reader);
  }
  if (seated.empty()) return;
  camera.require_readers(edge);
  for (EdgeReader* const reader : seated) {
    send(edge, *reader);
    failpoint("supervisor.offered", camera.name());
  }
}

void RingRouter::send(const CameraEdge& edge, EdgeReader& reader) {
  const CameraEdge::Ring& ring = *edge.newest;
  const messages::OfferFrameRing offer{reader.node, edge.id, *reader.seat, ring.frame_rate, ring.rotation};
  const std::vector<int> fds = descriptors_of(ring.observer.memory());
  reader.sent.add();
  processes_.send(processes_.of(reader.process), offer, fds);
}

bool RingRouter::is_ready_for_ring(const Camera& camera, const CameraEdge& edge, const EdgeReader& reader) {
  if (edge.is_sent()) return camera.takes_part() && edge.link->told && !edge.ending && !reader.unsettled;
  const Camera* const owner = rig_.cameras.find(reader.node);  // of a cell's reader: the mosaic
  if (owner == nullptr || !owner->takes_part() || !camera.takes_part() || reader.unsettled) return false;
  const CameraNode& node = owner->node(reader.node);
  return !owner->is_held_back(node.id) && !node.done && processes_.of(node.process()).child;
}

// Its writer makes one of the next epoch: a master with the next key frame, a node with the next frame.
void RingRouter::renew(const Camera& camera, CameraEdge& edge, const std::string& why) {
  spdlog::warn("{}: {}; it is replaced", camera.name(), why);
  if (edge.is_received()) {
    edge.link->told = false;  // the end of the link is begun anew
    return;
  }
  processes_.send(processes_.of(camera.writer_of(edge)), messages::RenewRing{edge.id, std::nullopt});
}

std::shared_ptr<FrameRingMemory> RingRouter::open(std::vector<UniqueFd>& fds) {
  return open_ring(fds, FrameRingMemory::Role::observer);
}

void RingRouter::add(Camera& camera, CameraEdge& edge, const messages::FrameRing& ring,
                     std::shared_ptr<FrameRingMemory> memory) {
  const bool is_source = !edge.writer && !edge.link;
  if (is_source) edge.keep_newest();
  add(edge, ring, std::move(memory));
  if (is_source) {
    camera.decoder = ring.decoder;
    camera.ipc_memory = choice_name(ring.memory);
    for (Output& output : camera.outputs) CameraLifecycle::begin(camera, output);
  }
  offer(camera, edge, edge.readers);
}

void RingRouter::add(CameraEdge& edge, const messages::FrameRing& ring, std::shared_ptr<FrameRingMemory> memory) {
  for (EdgeReader& reader : edge.readers) {
    edge.end_seat(reader);
    reader.left.reset();
  }
  edge.epoch = ring.epoch;
  edge.newest.emplace(CameraEdge::Ring{FrameRingObserver(std::move(memory)), ring.frame_rate, ring.rotation});
}

bool RingRouter::follow(CameraEdge& edge, ProcessId writer, bool is_ready) {
  if (!edge.newest) return true;
  EdgeReader& reader = edge.readers.front();
  edge.newest->observer.turn_out_strangers(reader.seat && !reader.unsettled ? 1U << *reader.seat : 0);
  const bool lives = writer_lives(edge, writer);
  if (!lives) forget_pixels(*edge.newest);
  if (reader.unsettled) {
    if (!is_cleared(edge, reader, lives)) return true;
    edge.end_seat(reader);
    reader.unsettled = false;
  }
  if (reader.seat || !is_ready || !lives) return true;
  if (edge.newest->without_pixels || !edge.take_seat(reader)) return false;
  send(edge, reader);
  return true;
}

void RingRouter::add(Camera& camera, const messages::SourceRing& ring, std::vector<UniqueFd>& fds) {
  const PacketRingObserver observer(PacketRingMemory::open(std::move(fds[0])));
  auto& packets = camera.source.packets;
  camera.source.keep_next_packet();
  packets.epoch = ring.epoch;
  packets.newest = observer;
  if (camera.decoding.over) return;
  if (packets.unread.size() >= most_rings) return lose(camera, too_many_to_decode);
  packets.unread.push_back({ring.epoch, {ring.packet, ring.again}, observer});
  pass_on(camera, packets.unread.back());
}

void RingRouter::pass_on(const Camera& camera, const PacketRings<SourceRingStart>::Ring& ring) {
  const auto& [packet, again] = ring.parameters;
  // Where no master has the camera, it is passed on with that.
  processes_.send_to_master(camera, messages::SourceRing{camera.id, ring.epoch, packet, again}, {ring.observer.fd()});
}

void RingRouter::pass_on_packets(const Camera& camera) {
  for (const auto& ring : camera.source.packets.unread) pass_on(camera, ring);
}

void RingRouter::add(Camera& camera, Output& output, const messages::PacketRing& ring, std::vector<UniqueFd>& fds) {
  const PacketRingObserver observer(PacketRingMemory::open(std::move(fds[0])));
  const bool any_packet = output.packets.newest && output.packets.newest->last_dts();
  output.keep_newest();
  output.packets.epoch = ring.epoch;
  output.packets.newest = observer;
  const bool is_other = any_packet && output.stream && *output.stream != ring.stream;
  if (is_other && output.config.record && output.recording.writes()) {
    if (const auto more = output.recording.new_stream_lines.pass())
      spdlog::info("{}: its {} another stream; a new file begins{}", output.config.name,
                   is_copy(output.config.encode) ? "source sends" : "encoder gives", *more);
  }
  output.stream = ring.stream;
  CameraLifecycle::begin(camera, output);
  if (output.is_own()) CameraLifecycle::begin_on_demand(camera);
  if (output.publisher.unread) return;
  if (output.packets.unread.size() >= most_rings) return lose(camera, too_many_rings);
  output.packets.unread.push_back({ring.epoch, ring.stream, observer});
  pass_on(camera, output, output.packets.unread.back());
}

void RingRouter::add(Camera& camera, Output& output, const messages::AudioRing& ring, std::vector<UniqueFd>& fds) {
  const PacketRingObserver observer(PacketRingMemory::open(std::move(fds[0])));
  output.keep_newest();
  output.audio.epoch = ring.epoch;
  output.audio.newest = observer;
  if (output.publisher.unread) return;
  if (output.audio.unread.size() >= most_rings) return lose(camera, too_many_rings);
  output.audio.unread.push_back({ring.epoch, ring.audio, observer});
  pass_on(camera, output, output.audio.unread.back());
}

void RingRouter::pass_on(const Camera& camera, Output& output, const PacketRings<StreamParameters>::Ring& ring) {
  output.publisher.rings_sent.add();
  processes_.send_to_publisher(camera, output, messages::PacketRing{output.id, ring.epoch, ring.parameters},
                               {ring.observer.fd()});
}

void RingRouter::pass_on(const Camera& camera, Output& output, const PacketRings<AudioParameters>::Ring& ring) {
  output.publisher.rings_sent.add();
  processes_.send_to_publisher(camera, output, messages::AudioRing{output.id, ring.epoch, ring.parameters},
                               {ring.observer.fd()});
}

void RingRouter::pass_on_all(const Camera& camera, Output& output) {
  for (const auto& ring : output.audio.unread) pass_on(camera, output, ring);
  for (const auto& ring : output.packets.unread) pass_on(camera, output, ring);
}

void RingRouter::offer_cells(const Camera& mosaic, const CameraNode& node) {
  for_each_cell(rig_.cameras, mosaic.id, [&](Camera& camera, CameraEdge& edge) {
    if (!edge.is_read_by(node.id)) return;
    EdgeReader& reader = edge.reader(node.id);
    reader.sent = {};
    offer(camera, edge, reader);
  });
}

void RingRouter::lose(Camera& camera, const std::string& reason) {
  CameraLifecycle::fail(camera, "its frames or packets cannot be handed on: " + reason);
  lifecycle_.stop(camera);
}

void RingRouter::lose(Camera& camera, CameraEdge& edge, const std::string& reason) {
  if (!edge.cell) return lose(camera, reason);
  lifecycle_.on_edge_failed(camera, edge, reason);
}

void RingRouter::settle() {
  for (Camera& camera : rig_.cameras.all()) {
    for (Output& output : camera.outputs) give_back_unread(output);
    for (CameraEdge& edge : camera.edges) settle(camera, edge);
  }
}

void RingRouter::settle(Camera& camera, CameraEdge& edge) {
  const bool lives = writer_lives(edge, camera.writer_of(edge));
  if (edge.newest && !lives) forget_pixels(*edge.newest);
  for (EdgeReader& reader : edge.readers) {
    if (reader.unsettled) {
      settle(camera, edge, reader);
    } else if (reader.unoffered && lives) {
      offer(camera, edge, reader);  // its writer has put right what a reader had written there
    }
  }
}

void RingRouter::settle(Camera& camera, CameraEdge& edge, EdgeReader& reader) {
  if (!is_cleared(edge, reader, writer_lives(edge, camera.writer_of(edge)))) return;
  edge.end_seat(reader);
  reader.unsettled = false;
  if (edge.cell) return offer(camera, edge, reader);  // a mosaic counts the ticks of its clock
  // What a join had in hands, its successor accounts for.
  if (const CameraNode& node = camera.node(reader.node); !node.joins) settle_lost(camera, node, rig_.page);
  offer(camera, edge, reader);
}

}  // namespace campipe
