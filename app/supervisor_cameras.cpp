// The supervisor's cameras: their rings, from who made them to who reads them, and what their processes say of them.
#include <utility>

#include "app/ring_descriptors.h"
#include "app/supervisor.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {

bool Supervisor::send(Member& member, const std::string& type, const nlohmann::json& body,
                      const std::vector<int>& fds) {
  if (!member.child) return false;
  try {
    return member.child->channel().send(type, body, fds);
  } catch (const std::exception& error) {
    spdlog::error("{} is ended: {}", role_of(member), error.what());
    member.child->kill();  // its death is found like any other
    return false;
  }
}

void Supervisor::introduce_camera(Member& member, CameraState& camera) {
  nlohmann::json body{{"camera", camera.index}, {"config", to_json(camera.config)}};
  if (member.kind != Kind::publisher) body["placement"] = to_json(camera.placement);
  if (member.kind == Kind::master) {
    body["epoch"] = camera.frame_epoch + 1;
    body["base"] = camera.frames_published();
    body["resume"] = camera.last_pts ? nlohmann::json(*camera.last_pts) : nlohmann::json();
  } else if (member.kind == Kind::worker) {
    body["epoch"] = camera.packet_epoch + 1;
    body["base"] = camera.packets_published();
  }
  send(member, "camera", body);
  if (member.kind == Kind::worker) {
    offer_ring(camera);
    if (camera.source_over) send(member, "camera_over", {{"camera", camera.index}});
  }
  if (member.kind == Kind::publisher) {
    for (const auto& ring : camera.packets) {
      send(member, "packet_ring", {{"camera", camera.index}, {"epoch", ring.epoch}, {"stream", ring.stream}},
           {ring.observer.fd()});
    }
    if (camera.worker_done) send(member, "camera_over", {{"camera", camera.index}});
  }
}

// Gives the worker the newest frame ring, unless a dead predecessor's frames are still in it.
void Supervisor::offer_ring(CameraState& camera) {
  Member& member = worker(camera.worker);
  if (!member.child || camera.unsettled || !camera.frames || camera.worker_done) return;
  CameraState::FrameRing& ring = *camera.frames;
  ring.reader = ring.observer.empty_reader();
  if (!ring.reader) throw Error("a frame ring without a free place");
  send(member, "frame_ring", {{"camera", camera.index}, {"reader", *ring.reader}, {"frame_rate", ring.frame_rate}},
       descriptors_of(ring.observer.memory()));
}

// Once a dead worker's bits are gone from the ring, all that is neither encoded nor dropped died with it.
void Supervisor::settle_cameras() {
  for (CameraState& camera : cameras_) {
    if (!camera.unsettled) continue;
    const bool writer_lives =
        camera.frames && camera.frames->observer.writer_state() != WriterState::gone && master().child;
    const bool cleared = !camera.frames || !camera.frames->reader || !writer_lives ||
                         camera.frames->observer.reader_state(*camera.frames->reader) == ReaderState::empty;
    if (!cleared) continue;
    const auto lost = settle(camera, page_.camera(camera.index), DropCause::worker_lost);
    spdlog::warn("{}: frames lost with its worker: {}", camera.config.name, lost);
    camera.unsettled = false;
    offer_ring(camera);
  }
}

void Supervisor::handle(Member& member, Message& message) {
  const nlohmann::json& body = message.body;
  CameraState& camera = cameras_.at(body.at("camera").get<std::size_t>());
  const std::string& type = message.type;
  if (type == "frame_ring") return on_frame_ring(camera, message);
  if (type == "source_over") return on_source_over(camera, body.at("failure"));
  if (type == "packet_ring") return on_packet_ring(camera, message);
  if (type == "camera_failed") {
    fail(camera, body.at("reason"));
    send(master(), "stop_camera", {{"camera", camera.index}});
  } else if (type == "camera_done" && member.kind == Kind::worker) {
    on_worker_done(camera);
  } else if (type == "camera_done") {
    camera.publisher_done = true;
    next_tick_ = Clock::now();  // it may have been the last
    if (camera.state != CameraState::State::failed) camera.state = CameraState::State::ended;
  } else if (type == "packet_ring_done") {
    camera.packets.remove_if([&](const auto& ring) { return ring.epoch == body.at("epoch"); });
  } else if (type == "file") {
    camera.file = body.at("path");
    spdlog::info("{}: recording to {}", camera.config.name, camera.file);
  } else if (type == "record_failed") {
    camera.record_failed = true;
    camera.reason = "recording stopped: " + body.at("reason").get<std::string>();
    spdlog::error("{}: {}", camera.config.name, camera.reason);
  } else {
    throw Error("the supervisor does not know the message '" + type + "'");
  }
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
                        std::nullopt);
  if (camera.state == CameraState::State::starting) camera.state = CameraState::State::running;
  offer_ring(camera);
}

void Supervisor::on_packet_ring(CameraState& camera, Message& message) {
  if (message.fds.size() != 1) throw Error("a packet ring without its descriptor");
  const nlohmann::json& body = message.body;
  PacketRingObserver observer(PacketRingMemory::open(std::move(message.fds[0])));
  camera.packet_epoch = body.at("epoch");
  camera.encoder = body.at("stream").at("encoder");
  camera.newest_packets = observer;
  camera.packets.push_back({camera.packet_epoch, body.at("stream"), observer});
  send(publisher(), "packet_ring",
       {{"camera", camera.index}, {"epoch", camera.packet_epoch}, {"stream", body.at("stream")}}, {observer.fd()});
}

void Supervisor::on_source_over(CameraState& camera, const std::string& failure) {
  if (camera.source_over) return;
  camera.source_over = true;
  if (!failure.empty()) fail(camera, failure);
  send(worker(camera.worker), "camera_over", {{"camera", camera.index}});
}

void Supervisor::on_worker_done(CameraState& camera) {
  if (camera.worker_done) return;
  camera.worker_done = true;
  send(publisher(), "camera_over", {{"camera", camera.index}});
}

void Supervisor::fail(CameraState& camera, const std::string& reason) {
  if (camera.state == CameraState::State::failed) return;
  camera.state = CameraState::State::failed;
  camera.reason = reason;
  spdlog::error("{}: {}", camera.config.name, reason);
}

// There is no master any more, and none will be started.
void Supervisor::give_up_sources() {
  for (CameraState& camera : cameras_) on_source_over(camera, "");
}

}  // namespace campipe
