// Rings on their way through the supervisor, from who made them to who reads them.
#include <utility>

#include "app/control/ring_descriptors.h"
#include "app/supervisor/supervisor.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto out_of_descriptors = "the supervisor is out of descriptors (LimitNOFILE, ulimit -n)";

// Of a camera's packets, and of its audio, that the publisher has not finished: a source that changes its sizes without
// end makes many while the publisher is away, and each takes descriptors.
constexpr std::size_t most_rings = 64;
constexpr auto too_many_rings = "too many of its rings wait for the publisher";

void note_sent(CameraState::RingsSent& rings) {
  ++rings.number;
  rings.newest = Clock::now();
}

}  // namespace

// Gives the worker the newest frame ring, unless a dead predecessor's frames are still in it. One whose writer has
// closed it or is gone gets no further frame, and nobody who would free a place in it: the next ring is offered.
void Supervisor::offer_ring(CameraState& camera) {
  Member& member = worker(camera.worker);
  if (!member.child || camera.unsettled || !camera.frames || !has_camera(member, camera)) return;
  CameraState::FrameRing& ring = *camera.frames;
  ring.reader.reset();
  if (!master().child || ring.observer.writer_state() != WriterState::open) return;
  if (ring.without_pixels) return renew_ring(camera, "its frame ring was said to be closed, and is not");
  ring.reader = ring.observer.empty_reader();
  if (!ring.reader) return renew_ring(camera, "no reader has a place in its frame ring any more");
  note_sent(camera.rings_to_worker);
  send_for(member, camera, "frame_ring",
           {{"reader", *ring.reader}, {"frame_rate", ring.frame_rate}, {"rotation", ring.rotation}},
           descriptors_of(ring.observer.memory()));
}

// The master makes one of the next epoch, with the next key frame.
void Supervisor::renew_ring(const CameraState& camera, const std::string& why) {
  spdlog::warn("{}: {}; it is replaced", camera.config.name, why);
  send_for(master(), camera, "renew_ring");
}

void Supervisor::on_frame_ring(CameraState& camera, Message& message) {
  if (message.fds.empty() || message.fds.size() > 2) throw Error("a frame ring without its descriptors");
  UniqueFd pixels = message.fds.size() == 2 ? std::move(message.fds[1]) : UniqueFd();
  auto memory = FrameRingMemory::open(std::move(message.fds[0]), std::move(pixels), FrameRingMemory::Role::observer);
  const nlohmann::json& body = message.body;
  camera.frame_epoch = body.at("epoch");
  camera.decoder = body.at("decoder");
  camera.ipc_memory = body.at("memory");
  camera.frames.emplace(camera.frame_epoch, body.at("frame_rate").get<double>(), FrameRingObserver(std::move(memory)),
                        std::nullopt, body.at("rotation").get<int>());
  for (const unsigned output : camera.outputs) {
    CameraState& state = cameras_[output];
    if (state.state == CameraState::State::starting) state.become(CameraState::State::running);
  }
  offer_ring(camera);
}

void Supervisor::on_packet_ring(CameraState& camera, Message& message) {
  if (message.fds.size() != 1) throw Error("a packet ring without its descriptor");
  const nlohmann::json& body = message.body;
  PacketRingObserver observer(PacketRingMemory::open(std::move(message.fds[0])));
  camera.packet_epoch = body.at("epoch");
  camera.encoder = body.at("stream").at("encoder");
  camera.stream = body.at("stream");
  camera.newest_packets = observer;
  if (camera.state == CameraState::State::starting) camera.become(CameraState::State::running);
  begin_on_demand(camera);
  if (camera.unread) return;
  if (camera.packets.size() >= most_rings) return lose_ring(camera, too_many_rings);
  pass_on_ring(camera, camera.packets.emplace_back(camera.packet_epoch, body.at("stream"), observer));
}

void Supervisor::on_audio_ring(CameraState& camera, Message& message) {
  if (message.fds.size() != 1) throw Error("an audio ring without its descriptor");
  const nlohmann::json& body = message.body;
  PacketRingObserver observer(PacketRingMemory::open(std::move(message.fds[0])));
  camera.audio_epoch = body.at("epoch");
  camera.newest_audio = observer;
  if (camera.unread) return;
  if (camera.audio.size() >= most_rings) return lose_ring(camera, too_many_rings);
  pass_on_ring(camera, camera.audio.emplace_back(camera.audio_epoch, body.at("audio"), observer));
}

void Supervisor::pass_on_ring(CameraState& camera, const CameraState::AudioRing& ring) {
  note_sent(camera.rings_to_publisher);
  send_for(publisher(), camera, "audio_ring", {{"epoch", ring.epoch}, {"audio", ring.audio}}, {ring.observer.fd()});
}

void Supervisor::pass_on_ring(CameraState& camera, const CameraState::PacketRing& ring) {
  note_sent(camera.rings_to_publisher);
  send_for(publisher(), camera, "packet_ring", {{"epoch", ring.epoch}, {"stream", ring.stream}}, {ring.observer.fd()});
}

// Its writer's word may have been written by any of its readers: who takes it back shall not find a ring without pixels
// offered to the next reader.
void Supervisor::forget_pixels(CameraState::FrameRing& ring) {
  ring.observer.forget_pixels();
  ring.without_pixels = true;
}

// Who writes what nobody takes any more must not wait for it: other outputs are on the same thread.
void Supervisor::give_back_unread(CameraState& camera) {
  if (!camera.unread) return;
  if (camera.newest_packets) camera.newest_packets->give_back_all();
  if (camera.newest_audio) camera.newest_audio->give_back_all();
}

void Supervisor::on_ring_lost(const Member& member, CameraState& camera, const std::string& reason) {
  --(member.kind == Kind::worker ? camera.rings_to_worker : camera.rings_to_publisher).number;
  lose_ring(camera, reason);
}

// The next ring has the next number.
void Supervisor::on_incomplete(CameraState& camera, const Message& message) {
  const std::uint64_t epoch = message.body.at("epoch");
  if (message.type == "frame_ring") camera.frame_epoch = epoch;
  if (message.type == "packet_ring") camera.packet_epoch = epoch;
  if (message.type == "audio_ring") camera.audio_epoch = epoch;
  lose_ring(camera, out_of_descriptors);
}

// A ring could not be taken by this process or by its reader. Whoever writes it waits for a reader that never comes, so
// the camera ends; the others have what they need.
void Supervisor::lose_ring(CameraState& camera, const std::string& reason) {
  CameraState& source = cameras_[source_of(camera)];
  fail(source, "its frames or packets cannot be handed on: " + reason);
  fail_all(source, source.reason);
  send_for(master(), source, "stop_camera");
}

}  // namespace campipe
