// Rings on their way through the supervisor, from who made them to who reads them.
#include <utility>

#include "app/config/names.h"
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
  send_for(member, camera, messages::OfferFrameRing{camera.index, *ring.reader, ring.frame_rate, ring.rotation},
           descriptors_of(ring.observer.memory()));
}

// The master makes one of the next epoch, with the next key frame.
void Supervisor::renew_ring(const CameraState& camera, const std::string& why) {
  spdlog::warn("{}: {}; it is replaced", camera.config.name, why);
  send_for(master(), camera, messages::RenewRing());
}

void Supervisor::on(Member&, CameraState& camera, const messages::FrameRing& ring, std::vector<UniqueFd>& fds) {
  UniqueFd pixels = fds.size() == 2 ? std::move(fds[1]) : UniqueFd();
  auto memory = FrameRingMemory::open(std::move(fds[0]), std::move(pixels), FrameRingMemory::Role::observer);
  camera.frame_epoch = ring.epoch;
  camera.decoder = ring.decoder;
  camera.ipc_memory = choice_name(ring.memory);
  camera.frames.emplace(ring.epoch, ring.frame_rate, FrameRingObserver(std::move(memory)), std::nullopt, ring.rotation);
  for (const unsigned output : camera.outputs) {
    CameraState& state = cameras_[output];
    if (state.state == CameraState::State::starting) state.become(CameraState::State::running);
  }
  offer_ring(camera);
}

void Supervisor::on(Member&, CameraState& camera, const messages::PacketRing& ring, std::vector<UniqueFd>& fds) {
  const PacketRingObserver observer(PacketRingMemory::open(std::move(fds[0])));
  camera.packet_epoch = ring.epoch;
  camera.stream = ring.stream;
  camera.newest_packets = observer;
  if (camera.state == CameraState::State::starting) camera.become(CameraState::State::running);
  begin_on_demand(camera);
  if (camera.unread) return;
  if (camera.packets.size() >= most_rings) return lose_ring(camera, too_many_rings);
  pass_on_ring(camera, camera.packets.emplace_back(ring.epoch, ring.stream, observer));
}

void Supervisor::on(Member&, CameraState& camera, const messages::AudioRing& ring, std::vector<UniqueFd>& fds) {
  const PacketRingObserver observer(PacketRingMemory::open(std::move(fds[0])));
  camera.audio_epoch = ring.epoch;
  camera.newest_audio = observer;
  if (camera.unread) return;
  if (camera.audio.size() >= most_rings) return lose_ring(camera, too_many_rings);
  pass_on_ring(camera, camera.audio.emplace_back(ring.epoch, ring.audio, observer));
}

void Supervisor::pass_on_ring(CameraState& camera, const CameraState::AudioRing& ring) {
  note_sent(camera.rings_to_publisher);
  send_for(publisher(), camera, messages::AudioRing{camera.index, ring.epoch, ring.audio}, {ring.observer.fd()});
}

void Supervisor::pass_on_ring(CameraState& camera, const CameraState::PacketRing& ring) {
  note_sent(camera.rings_to_publisher);
  send_for(publisher(), camera, messages::PacketRing{camera.index, ring.epoch, ring.stream}, {ring.observer.fd()});
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

void Supervisor::on(Member& member, CameraState& camera, const messages::RingLost& lost) {
  --(member.kind == Kind::worker ? camera.rings_to_worker : camera.rings_to_publisher).number;
  lose_ring(camera, lost.reason);
}

// The next ring has the next number.
void Supervisor::on_incomplete(CameraState& camera, const messages::FrameRing& ring) {
  camera.frame_epoch = ring.epoch;
  lose_ring(camera, out_of_descriptors);
}
void Supervisor::on_incomplete(CameraState& camera, const messages::PacketRing& ring) {
  camera.packet_epoch = ring.epoch;
  lose_ring(camera, out_of_descriptors);
}
void Supervisor::on_incomplete(CameraState& camera, const messages::AudioRing& ring) {
  camera.audio_epoch = ring.epoch;
  lose_ring(camera, out_of_descriptors);
}

// A ring could not be taken by this process or by its reader. Whoever writes it waits for a reader that never comes, so
// the camera ends; the others have what they need.
void Supervisor::lose_ring(CameraState& camera, const std::string& reason) {
  CameraState& source = cameras_[source_of(camera)];
  fail(source, "its frames or packets cannot be handed on: " + reason);
  fail_all(source, source.reason);
  send_for(master(), source, messages::StopCamera());
}

}  // namespace campipe
