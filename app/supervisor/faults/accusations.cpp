#include "app/supervisor/faults/accusations.h"

#include <fmt/format.h>

#include <algorithm>

#include "ipc/decode_blocks.h"
#include "ipc/edge_blocks.h"
#include "ipc/encode_block.h"
#include "ipc/publish_block.h"
#include "ipc/source_blocks.h"

namespace campipe {
namespace {

constexpr auto look_interval = std::chrono::milliseconds(200);
constexpr auto accusation_window = std::chrono::seconds(60);  // as QuarantinePolicy's

// The publisher may have taken the ring for finished.
void offer_newest_packets(const ManagedProcess& process, Output& output) {
  if (process.kind != ProcessKind::publisher || !output.packets.newest || !output.stream) return;
  auto& unread = output.packets.unread;
  const bool knows = std::ranges::any_of(unread, [&](const auto& ring) { return ring.epoch == output.packets.epoch; });
  if (!knows) unread.push_back({output.packets.epoch, *output.stream, *output.packets.newest});
}

}  // namespace

void Accusations::follow() {
  const auto now = Clock::now();
  if (now < next_look_) return;
  next_look_ = now + look_interval;
  for (Camera& camera : rig_.cameras.all()) {
    if (!camera.takes_part()) continue;
    follow_packets(camera);
    for (CameraEdge& edge : camera.edges) follow(camera, edge);
    for (Output& output : camera.outputs) {
      const ProcessId worker = camera.encoder_of(output).process();
      follow(camera, output, rig_.page.copy(output.id).accusation, source_process);
      follow(camera, output, rig_.page.encode(output.id, worker).accusation, worker);
      follow(camera, output, rig_.page.publish(output.id).accusation, publisher_process);
    }
  }
}

void Accusations::on_death() {
  next_look_ = {};
  follow();
}

void Accusations::follow_packets(Camera& camera) {
  if (camera.is_mosaic()) return;
  const ProcessId master = camera.decoding.process;
  if (rig_.page.source(camera.id).accusation.exchange(0) != 0)
    follow(camera, camera.own(), source_process, master, camera);
  if (rig_.page.decode(camera.id, master).accusation.exchange(0) != 0)
    follow(camera, camera.own(), master, source_process, camera);
}

// Its ends can accuse nobody but one another. Which of its readers damaged it, a writer does not know.
void Accusations::follow(Camera& camera, CameraEdge& edge) {
  std::uint32_t known = 0;  // seats of readers that live
  for (const EdgeReader& reader : edge.readers) known |= reader.seat && !reader.unsettled ? 1U << *reader.seat : 0;
  if (edge.newest) edge.newest->observer.turn_out_strangers(known);
  const ProcessId writer = camera.writer_of(edge);
  const bool by_writer = rig_.page.edge_writer(edge.id, writer).accusation.exchange(0) != 0;
  for (const EdgeReader& reader : edge.readers) {
    // Of a cell's edge the reader works for the mosaic. Who is ended is so on behalf of its own side.
    Camera* const owner = rig_.cameras.find(reader.node);
    if (owner == nullptr || (edge.cell && !owner->takes_part())) continue;
    if (by_writer) follow(*owner, owner->own(), writer, reader.process, camera);
    if (rig_.page.edge_reader(edge.id, reader.process).accusation.exchange(0) != 0)
      follow(camera, camera.own(), reader.process, writer, *owner);
  }
}

void Accusations::follow(Camera& camera, Output& output, Accusation& accusation, ProcessId accuser) {
  if (accusation.load() == 0) return;
  const std::uint32_t accused = accusation.exchange(0);
  const ProcessId worker = camera.encoder_of(output).process();
  for (const auto& [whom, process] : {std::pair(Accused::source, source_process), std::pair(Accused::worker, worker),
                                      std::pair(Accused::publisher, publisher_process)}) {
    if ((accused & static_cast<std::uint32_t>(whom)) != 0 && process != accuser)
      follow(camera, output, accuser, process, camera);
  }
}

// It is the accuser's word alone, which a process that was taken over may give as it likes: it is followed once. Who
// accuses the same process again so soon is ended instead, and so is who does it for a camera that was quarantined. A
// process that does damage again and again has its camera quarantined by either.
void Accusations::follow(Camera& camera, Output& output, ProcessId accuser_id, ProcessId accused_id,
                         const Camera& of_accuser) {
  ManagedProcess& accuser = processes_.of(accuser_id);
  ManagedProcess& accused = processes_.of(accused_id);
  const bool failed = output.state == CameraState::failed;
  if (!failed && (!has_work(accuser, of_accuser, output) || !has_work(accused, camera, output))) return;
  if (!accused.child || accused.child->killed()) return;
  const auto now = Clock::now();
  const auto [last, first] = accused_at_.try_emplace({accuser.id, accused.id}, now);
  const bool again = !first && now - std::exchange(last->second, now) < accusation_window;
  const std::string& name = output.config.name;
  if (!failed && !again) {
    offer_newest_packets(accused, output);
    return end(accused, camera, output, fmt::format("wrote into a ring of {} what cannot be; it is restarted", name));
  }
  end(accuser, camera, output,
      fmt::format("accuses {} again, of a ring of {}; it is restarted itself", role_of(accused), name));
}

// Like one that crashed in the camera's thread, so that a camera for which it comes again and again is quarantined.
void Accusations::end(ManagedProcess& process, Camera& camera, Output& output, const std::string& why) {
  if (!process.child || process.child->killed()) return;
  Processes::end(process, why);
  crashes_.record(process, camera, output, "its ring was damaged");
}

}  // namespace campipe
