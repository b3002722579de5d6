// The supervisor's cameras: their rings, from who made them to who reads them, and what their processes say of them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/supervisor/supervisor.h"
#include "core/error.h"
#include "core/log.h"
#include "stages/sources/source_end.h"

namespace campipe {
namespace {

bool takes_audio(const CameraConfig& config, const ServerConfig& server) {
  return (config.record || !config.push.empty() || serves(server)) && config.source.audio == Audio::copy;
}

// For processes that read no source: they need not know its password.
nlohmann::json without_source(CameraConfig config) {
  config.source = {};
  return to_json(config);
}

// For its worker, which shares its frames with its copies: what is decoded for viewers alone holds up nobody.
nlohmann::json for_worker(CameraConfig config, const CameraConfig& source) {
  if (encoded_outputs(source) == 0) config.drop_policy = DropPolicy::drop;
  return without_source(std::move(config));
}

}  // namespace

bool Supervisor::send(Member& member, const std::string& type, const nlohmann::json& body,
                      const std::vector<int>& fds) {
  if (!member.child) return false;
  try {
    return member.child->outbox().send(type, body, fds);
  } catch (const MessageTooLarge&) {  // it will not be smaller for its successor
    guard_.run("tell a process", [] { throw; });
    return false;
  } catch (const std::exception& error) {
    end(member, fmt::format("is ended: {}", error.what()));
    return false;
  }
}

// What is said about a camera goes only to processes that have it.
bool Supervisor::send_for(Member& member, const CameraState& camera, const std::string& type, nlohmann::json body,
                          const std::vector<int>& fds) {
  if (!has_camera(member, camera)) return false;
  body["camera"] = camera.index;
  return send(member, type, body, fds);
}

void Supervisor::introduce_camera(Member& member, CameraState& camera) {
  switch (member.kind) {
    case Kind::master:
      return introduce_to_master(camera);
    case Kind::worker:
      return introduce_to_worker(member, camera);
    case Kind::publisher:
      return introduce_to_publisher(camera);
  }
}

void Supervisor::introduce_to_master(CameraState& camera) {
  nlohmann::json copies = nlohmann::json::array();
  nlohmann::json audio = nlohmann::json::array();
  nlohmann::json on_demand = nlohmann::json::array();
  const bool decode = encoded_outputs(camera.config) > 0;
  for (const unsigned output : camera.outputs) {
    CameraState& state = cameras_[output];
    if (is_copy(state.config.encode)) {
      if (const auto dts = state.newest_packets ? state.newest_packets->last_dts() : std::nullopt) state.last_dts = dts;
      copies.push_back({{"camera", output},
                        {"config", without_source(state.config)},
                        {"epoch", state.packet_epoch + 1},
                        {"base", state.packets_published()},
                        {"resume", state.last_dts ? nlohmann::json(*state.last_dts) : nlohmann::json()}});
    } else if (!decode && state.state != CameraState::State::failed) {
      on_demand.push_back(output);
    }
    if (takes_audio(state.config, rig_.server)) audio.push_back({{"camera", output}, {"epoch", state.audio_epoch + 1}});
  }
  send(master(), "camera",
       {{"camera", camera.index},
        {"config", to_json(camera.config)},
        {"placement", to_json(camera.placement)},
        {"epoch", camera.frame_epoch + 1},
        {"base", camera.frames_published()},
        {"resume", camera.last_pts ? nlohmann::json(*camera.last_pts) : nlohmann::json()},
        {"decode", decode},
        {"on_demand", on_demand},
        {"undecided", depends_on_stream(camera.asked) && (!camera.sends || fits(camera.asked, *camera.sends))},
        {"copies", copies},
        {"audio", audio}});
}

void Supervisor::introduce_to_worker(Member& member, CameraState& camera) {
  camera.rings_to_worker = {};
  nlohmann::json outputs = nlohmann::json::array();
  for (const unsigned output : camera.outputs) {
    const CameraState& state = cameras_[output];
    if (is_copy(state.config.encode)) continue;
    outputs.push_back({{"camera", output},
                       {"config", for_worker(state.config, camera.config)},
                       {"placement", to_json(state.placement)},
                       {"epoch", state.packet_epoch + 1},
                       {"base", state.packets_published()},
                       {"failed", state.state == CameraState::State::failed}});
  }
  send(member, "camera",
       {{"camera", camera.index}, {"config", for_worker(camera.config, camera.config)}, {"outputs", outputs}});
  offer_ring(camera);
  if (camera.source_over) send_for(member, camera, "camera_over");
}

void Supervisor::introduce_to_publisher(CameraState& camera) {
  camera.recording_paused.clear();  // a new one tells again
  camera.push.clear();
  camera.rings_to_publisher = {};
  send(publisher(), "camera",
       {{"camera", camera.index},
        {"config", without_source(camera.config)},
        {"recording", camera.recording_on},
        {"events", events_ ? nlohmann::json(*events_) : nlohmann::json()}});
  for (const auto& ring : camera.audio) pass_on_ring(camera, ring);
  for (const auto& ring : camera.packets) pass_on_ring(camera, ring);
  if (camera.packets_over) send_for(publisher(), camera, "camera_over");
}

// There may be recordings of it.
void Supervisor::tell_disabled(const CameraState& camera) {
  if (camera.state != CameraState::State::disabled) return;
  send(publisher(), "disabled_camera", {{"config", without_source(camera.config)}});
}

// Once a dead worker's bits are gone from the ring, all that is neither encoded nor dropped died with it.
void Supervisor::settle_cameras() {
  for (CameraState& camera : cameras_) {
    const bool writer_lives =
        camera.frames && camera.frames->observer.writer_state() == WriterState::open && master().child;
    if (camera.frames && !writer_lives) forget_pixels(*camera.frames);
    give_back_unread(camera);
    if (!camera.unsettled) continue;
    const bool cleared = !camera.frames || !camera.frames->reader || !writer_lives ||
                         camera.frames->observer.reader_state(*camera.frames->reader) == ReaderState::empty;
    if (!cleared) continue;
    for (const unsigned output : camera.outputs) {
      const CameraState& state = cameras_[output];
      if (is_copy(state.config.encode)) continue;
      const auto lost = settle(cameras_, state, page_, DropCause::worker_lost);
      if (lost > 0) spdlog::warn("{}: frames lost with its worker: {}", state.config.name, lost);
    }
    camera.unsettled = false;
    offer_ring(camera);
  }
}

// Of a camera that was disabled or removed since, nothing is to become any more.
void Supervisor::handle(Member& member, Message& message) {
  shorten_texts(message);
  require_right(member, message);
  const nlohmann::json& body = message.body;
  if (message.type == "request" && message.incomplete) {  // who asked is not answered
    return spdlog::error("out of descriptors (LimitNOFILE, ulimit -n): a request was lost");
  }
  if (message.type == "request") return on_request(body);
  CameraState& camera = cameras_.at(body.at("camera").get<std::size_t>());
  if (!takes_part(camera)) return;
  const std::string& type = message.type;
  if (message.incomplete) return on_incomplete(camera, message);
  if (type == "ring_lost") return on_ring_lost(member, camera, body.at("reason"));
  if (type == "frame_ring") return on_frame_ring(camera, message);
  if (type == "source_over") {
    check_source_over(camera, body.at("failure"), body.at("at_end"));
    return on_source_over(camera, body.at("failure"));
  }
  if (type == "source_state") return on_source_state(camera, body.at("state") == "running", body.at("reason"));
  if (type == "sent_stream") return on_sent_stream(camera, sent_from_json(body.at("sends")));
  if (type == "packet_ring") return on_packet_ring(camera, message);
  if (type == "audio_ring") return on_audio_ring(camera, message);
  if (type == "camera_done") return on_camera_done(member, camera);
  if (type == "camera_failed") {
    fail(camera, body.at("reason"));
    const CameraState& source = cameras_[source_of(camera)];
    if (all_failed(source, false)) send(master(), "stop_camera", {{"camera", source.index}});
  } else if (type == "packet_ring_done") {
    camera.packets.remove_if([&](const auto& ring) { return ring.epoch == body.at("epoch"); });
  } else if (type == "audio_ring_done") {
    camera.audio.remove_if([&](const auto& ring) { return ring.epoch == body.at("epoch"); });
  } else {
    on_recording(camera, type, body);
  }
}

// A process that fails or is confused must not end cameras: it is believed only where nothing more can come. The caller
// ends it.
void Supervisor::on_camera_done(const Member& member, CameraState& camera) {
  if (!has_camera(member, camera)) return;
  const bool worker = member.kind == Kind::worker;
  const bool can_be = worker ? camera.source_over : camera.packets_over || files_closed_;
  if (!can_be) throw Error("it has given up " + camera.config.name + ", which has not ended");
  if (worker) return on_worker_done(camera);
  camera.publisher_done = true;
  next_tick_ = Clock::now();  // it may have been the last
  const bool kept = camera.state == CameraState::State::failed || camera.state == CameraState::State::waiting;
  if (!kept) camera.become(CameraState::State::ended);
}

// A source ends when it is told to, fails, or has an end and is there. That it failed is believed: it is reported, and
// the rig's exit status tells.
void Supervisor::check_source_over(const CameraState& camera, const std::string& failure, bool at_end) const {
  const bool told = phase_ != Phase::running || camera.retiring || all_failed(camera, false);
  const bool ended = at_end && can_end(camera.config.source);
  if (failure.empty() && !told && !ended) {
    throw Error("it has given up " + camera.config.name + ", whose source has no end");
  }
}

// What the publisher says of files and targets.
void Supervisor::on_recording(CameraState& camera, const std::string& type, const nlohmann::json& body) {
  if (type == "file") {
    camera.file = body.at("path");
    spdlog::info("{}: recording to {}", camera.config.name, camera.file);
  } else if (type == "record_failed") {
    camera.record_failed = true;
    camera.reason = "recording stopped: " + body.at("reason").get<std::string>();
    spdlog::error("{}: {}", camera.config.name, camera.reason);
  } else if (type == "record_paused") {
    if (camera.recording_on) camera.recording_paused = body.at("reason");
  } else if (type == "record_resumed") {
    camera.recording_paused.clear();
  } else if (type == "push_state") {
    camera.push[body.at("url")] = {body.at("state"), body.at("reason")};
  } else {
    throw Error("the supervisor does not know the message '" + type + "'");
  }
}

// Nobody waits for frames of outputs that are encoded on demand: they are there as soon as their camera is.
void Supervisor::begin_on_demand(const CameraState& source) {
  for (const unsigned output : source.outputs) {
    CameraState& state = cameras_[output];
    if (state.config.on_demand && state.state == CameraState::State::starting)
      state.become(CameraState::State::running);
  }
}

// The master has logged it.
void Supervisor::on_source_state(CameraState& camera, bool delivers, const std::string& reason) {
  using State = CameraState::State;
  const bool came_before = camera.frames_published() + camera.packets_published() > 0;
  if (delivers && camera.state == State::waiting && came_before) ++camera.reconnects;
  for (const unsigned output : camera.outputs) {
    CameraState& state = cameras_[output];
    if (state.state != State::running && state.state != State::waiting && state.state != State::starting) continue;
    state.become(delivers ? State::running : State::waiting);
    if (!state.record_failed) state.reason = reason;
  }
}

// What is passed on as it came ends here; the rest when the worker has encoded it.
void Supervisor::on_source_over(CameraState& camera, const std::string& failure) {
  if (camera.source_over) return;
  camera.source_over = true;
  if (!failure.empty()) {
    fail(camera, failure);
    fail_all(camera, failure);
  }
  for (const unsigned output : camera.outputs) {
    if (is_copy(cameras_[output].config.encode)) end_packets(cameras_[output]);
  }
  send_for(worker(camera.worker), camera, "camera_over");
}

void Supervisor::on_worker_done(CameraState& camera) {
  if (camera.worker_done) return;
  camera.worker_done = true;
  for (const unsigned output : camera.outputs) {
    if (!is_copy(cameras_[output].config.encode)) end_packets(cameras_[output]);
  }
}

void Supervisor::end_packets(CameraState& camera) {
  camera.packets_over = true;
  send_for(publisher(), camera, "camera_over");
}

// All outputs of a camera, for a reason that has been logged.
void Supervisor::fail_all(CameraState& source, const std::string& reason) {
  for (const unsigned output : source.outputs) {
    CameraState& state = cameras_[output];
    if (state.state == CameraState::State::failed) continue;
    state.become(CameraState::State::failed);
    state.reason = reason;
  }
}

bool Supervisor::all_failed(const CameraState& source, bool encoded_only) const {
  return std::ranges::all_of(source.outputs, [&](unsigned output) {
    const CameraState& state = cameras_[output];
    return state.state == CameraState::State::failed || (encoded_only && is_copy(state.config.encode));
  });
}

void Supervisor::fail(CameraState& camera, const std::string& reason) {
  if (camera.state == CameraState::State::failed) return;
  camera.become(CameraState::State::failed);
  camera.reason = reason;
  spdlog::error("{}: {}", camera.config.name, reason);
}

// There is no master any more, and none will be started.
void Supervisor::give_up_sources() {
  for (CameraState& camera : cameras_) {
    if (!camera.follows) on_source_over(camera, "");
  }
}

}  // namespace campipe
