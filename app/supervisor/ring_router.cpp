#include "app/supervisor/ring_router.h"

#include <utility>

#include "app/config/names.h"
#include "app/control/ring_descriptors.h"
#include "app/supervisor/accounting.h"
#include "core/log.h"

namespace campipe {
namespace {

// Of a camera's packets, and of its audio, that the publisher has not finished: a source that changes its sizes without
// end makes many while the publisher is away, and each takes descriptors.
constexpr std::size_t most_rings = 64;
constexpr auto too_many_rings = "too many of its rings wait for the publisher";

// Its writer's word may have been written by any of its readers: who takes it back shall not find a ring without pixels
// offered to the next reader.
void forget_pixels(CameraFrames::Ring& ring) {
  ring.observer.forget_pixels();
  ring.without_pixels = true;
}

// A writer whose packets have no reader any more must not wait: other outputs are on the same thread.
void give_back_unread(Output& output) {
  if (!output.publisher.unread) return;
  if (output.packets.newest) output.packets.newest->give_back_all();
  if (output.audio.newest) output.audio.newest->give_back_all();
}

}  // namespace

void RingRouter::offer(Camera& camera) {
  ManagedProcess& worker = processes_.worker(camera.worker.number);
  CameraFrames& frames = camera.frames;
  if (!worker.child || frames.unsettled || !frames.newest || !has_work(worker, camera)) return;
  CameraFrames::Ring& ring = *frames.newest;
  ring.reader.reset();
  if (!processes_.master().child || ring.observer.writer_state() != WriterState::open) return;
  if (ring.without_pixels) return renew(camera, "its frame ring was said to be closed, and is not");
  ring.reader = ring.observer.reserve();
  if (!ring.reader) return renew(camera, "no reader has a place in its frame ring any more");
  if (camera.config.drop_policy == DropPolicy::block) ring.observer.require(1U << *ring.reader);
  frames.sent.add();
  processes_.send_for(worker, camera, messages::OfferFrameRing{camera.id, *ring.reader, ring.frame_rate, ring.rotation},
                      descriptors_of(ring.observer.memory()));
}

// The master makes one of the next epoch, with the next key frame.
void RingRouter::renew(const Camera& camera, const std::string& why) {
  spdlog::warn("{}: {}; it is replaced", camera.name(), why);
  processes_.send_for(processes_.master(), camera, messages::RenewRing());
}

void RingRouter::add(Camera& camera, const messages::FrameRing& ring, std::vector<UniqueFd>& fds) {
  UniqueFd pixels = fds.size() == 2 ? std::move(fds[1]) : UniqueFd();
  auto memory = FrameRingMemory::open(std::move(fds[0]), std::move(pixels), FrameRingMemory::Role::observer);
  camera.frames.epoch = ring.epoch;
  camera.decoder = ring.decoder;
  camera.ipc_memory = choice_name(ring.memory);
  camera.frames.newest.emplace(
      CameraFrames::Ring{FrameRingObserver(std::move(memory)), ring.frame_rate, ring.rotation});
  for (Output& output : camera.outputs) CameraLifecycle::begin(output);
  offer(camera);
}

void RingRouter::add(Camera& camera, Output& output, const messages::PacketRing& ring, std::vector<UniqueFd>& fds) {
  const PacketRingObserver observer(PacketRingMemory::open(std::move(fds[0])));
  output.packets.epoch = ring.epoch;
  output.packets.newest = observer;
  output.stream = ring.stream;
  CameraLifecycle::begin(output);
  if (output.is_own()) CameraLifecycle::begin_on_demand(camera);
  if (output.publisher.unread) return;
  if (output.packets.unread.size() >= most_rings) return lose(camera, too_many_rings);
  output.packets.unread.push_back({ring.epoch, ring.stream, observer});
  pass_on(camera, output, output.packets.unread.back());
}

void RingRouter::add(Camera& camera, Output& output, const messages::AudioRing& ring, std::vector<UniqueFd>& fds) {
  const PacketRingObserver observer(PacketRingMemory::open(std::move(fds[0])));
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

void RingRouter::lose(Camera& camera, const std::string& reason) {
  CameraLifecycle::fail(camera, "its frames or packets cannot be handed on: " + reason);
  processes_.send_for(processes_.master(), camera, messages::StopCamera());
}

void RingRouter::settle() {
  for (Camera& camera : rig_.cameras.all()) settle(camera);
}

void RingRouter::settle(Camera& camera) {
  CameraFrames& frames = camera.frames;
  const bool writer_lives =
      frames.newest && frames.newest->observer.writer_state() == WriterState::open && processes_.master().child;
  if (frames.newest && !writer_lives) forget_pixels(*frames.newest);
  for (Output& output : camera.outputs) give_back_unread(output);
  if (!frames.unsettled) return;
  const bool cleared = !frames.newest || !frames.newest->reader || !writer_lives ||
                       frames.newest->observer.reader_state(*frames.newest->reader) == ReaderState::empty;
  if (!cleared) return;
  for (const Output& output : camera.outputs) {
    if (output.is_copy()) continue;
    const auto lost = campipe::settle(camera, output, rig_.page, DropCause::worker_lost);
    if (lost > 0) spdlog::warn("{}: frames lost with its worker: {}", output.config.name, lost);
  }
  frames.unsettled = false;
  offer(camera);
}

}  // namespace campipe
