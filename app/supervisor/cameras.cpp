// The supervisor's cameras: their rings, from who made them to who reads them, and what their processes say of them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/supervisor/supervisor.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

bool takes_audio(const CameraConfig& config, const ServerConfig& server) {
  return (config.record || !config.push.empty() || serves(server)) && config.source.audio == Audio::copy;
}

// For processes that read no source: they need not know its password.
CameraConfig without_source(CameraConfig config) {
  config.source = {};
  return config;
}

// For its worker, which shares its frames with its copies: what is decoded for viewers alone holds up nobody.
CameraConfig for_worker(CameraConfig config, const CameraConfig& source) {
  if (encoded_outputs(source) == 0) config.drop_policy = DropPolicy::drop;
  return without_source(std::move(config));
}

}  // namespace

bool Supervisor::send(Member& member, std::string_view type, const nlohmann::json& body, const std::vector<int>& fds) {
  if (!member.child) return false;
  try {
    return member.child->outbox().send(std::string(type), body, fds);
  } catch (const MessageTooLarge&) {  // it will not be smaller for its successor
    guard_.run("tell a process", [] { throw; });
    return false;
  } catch (const std::exception& error) {
    end(member, fmt::format("is ended: {}", error.what()));
    return false;
  }
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
  messages::ReadCamera message;
  message.camera = camera.index;
  message.config = camera.config;
  message.placement = camera.placement;
  message.epoch = camera.frame_epoch + 1;
  message.base = camera.frames_published();
  message.resume = camera.last_pts;
  message.decode = encoded_outputs(camera.config) > 0;
  message.undecided = depends_on_stream(camera.asked) && (!camera.sends || fits(camera.asked, *camera.sends));
  for (const unsigned output : camera.outputs) {
    CameraState& state = cameras_[output];
    if (is_copy(state.config.encode)) {
      if (const auto dts = state.newest_packets ? state.newest_packets->last_dts() : std::nullopt) state.last_dts = dts;
      message.copies.push_back(
          {output, state.packet_epoch + 1, state.packets_published(), state.last_dts, without_source(state.config)});
    } else if (!message.decode && state.state != CameraState::State::failed) {
      message.on_demand.push_back(output);
    }
    if (takes_audio(state.config, rig_.server)) message.audio.push_back({output, state.audio_epoch + 1});
  }
  send(master(), message);
}

void Supervisor::introduce_to_worker(Member& member, CameraState& camera) {
  camera.rings_to_worker = {};
  messages::EncodeCamera message{camera.index, for_worker(camera.config, camera.config), {}};
  for (const unsigned output : camera.outputs) {
    const CameraState& state = cameras_[output];
    if (is_copy(state.config.encode)) continue;
    message.outputs.push_back({output, for_worker(state.config, camera.config), state.placement, state.packet_epoch + 1,
                               state.packets_published(), state.state == CameraState::State::failed});
  }
  send(member, message);
  offer_ring(camera);
  if (camera.source_over) send_for(member, camera, messages::CameraOver());
}

void Supervisor::introduce_to_publisher(CameraState& camera) {
  camera.recording_paused.clear();  // a new one reports it again
  camera.push.clear();
  camera.rings_to_publisher = {};
  send(publisher(), messages::PublishCamera{camera.index, without_source(camera.config), camera.recording_on, events_});
  for (const auto& ring : camera.audio) pass_on_ring(camera, ring);
  for (const auto& ring : camera.packets) pass_on_ring(camera, ring);
  if (camera.packets_over) send_for(publisher(), camera, messages::CameraOver());
}

// There may be recordings of it.
void Supervisor::tell_disabled(const CameraState& camera) {
  if (camera.state != CameraState::State::disabled) return;
  send(publisher(), messages::DisabledCamera{without_source(camera.config)});
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

// Throws Error for what its sender has no business to send; the caller ends it.
void Supervisor::handle(Member& member, Message& message) {
  if (message.incomplete && message.type == messages::PutCamera::type) {  // who asked is not answered
    return spdlog::error("out of descriptors (LimitNOFILE, ulimit -n): a request was lost");
  }
  shorten_texts(message);
  const auto take = [&](auto& read, auto&... fds) { receive(member, message, read, fds...); };
  switch (member.kind) {
    case Kind::master:
      return dispatch(messages::FromMaster(), message, take);
    case Kind::worker:
      return dispatch(messages::FromWorker(), message, take);
    case Kind::publisher:
      return dispatch(messages::FromPublisher(), message, take);
  }
}

// Of a camera that was disabled or removed since, nothing is to become any more.
template <typename M, typename... Descriptors>
void Supervisor::receive(Member& member, const Message& message, M& read, Descriptors&... fds) {
  if constexpr (requires { read.request; }) {
    on_request(read);
  } else {
    CameraState* camera = camera_for(member, read.camera);
    if (camera == nullptr) return;
    require_possible(member, *camera, read);
    if constexpr (sizeof...(fds) > 0) {
      if (message.incomplete) return on_incomplete(*camera, read);
    }
    on(member, *camera, read, fds...);
  }
}

void Supervisor::on(Member&, CameraState& camera, const messages::SourceOver& over) {
  on_source_over(camera, over.failure);
}

void Supervisor::on(Member&, CameraState& camera, const messages::FoundStream& found) {
  on_sent_stream(camera, found.sends);
}

void Supervisor::on(Member&, CameraState& camera, const messages::CameraFailed& failed) {
  fail(camera, failed.reason);
  const CameraState& source = cameras_[source_of(camera)];
  if (all_failed(source, false)) send(master(), messages::StopCamera{{source.index}});
}

void Supervisor::on(Member&, CameraState& camera, const messages::PacketRingDone& done) {
  camera.packets.remove_if([&](const auto& ring) { return ring.epoch == done.epoch; });
}

void Supervisor::on(Member&, CameraState& camera, const messages::AudioRingDone& done) {
  camera.audio.remove_if([&](const auto& ring) { return ring.epoch == done.epoch; });
}

void Supervisor::on(Member& member, CameraState& camera, const messages::CameraDone&) {
  if (!has_camera(member, camera)) return;
  if (member.kind == Kind::worker) return on_worker_done(camera);
  camera.publisher_done = true;
  next_tick_ = Clock::now();  // it may have been the last
  const bool kept = camera.state == CameraState::State::failed || camera.state == CameraState::State::waiting;
  if (!kept) camera.become(CameraState::State::ended);
}

void Supervisor::on(Member&, CameraState& camera, const messages::FileBegun& file) {
  camera.file = file.path;
  spdlog::info("{}: recording to {}", camera.config.name, camera.file);
}

void Supervisor::on(Member&, CameraState& camera, const messages::RecordFailed& failed) {
  camera.record_failed = true;
  camera.reason = "recording stopped: " + failed.reason;
  spdlog::error("{}: {}", camera.config.name, camera.reason);
}

void Supervisor::on(Member&, CameraState& camera, const messages::RecordPaused& paused) {
  if (camera.recording_on) camera.recording_paused = paused.reason;
}

void Supervisor::on(Member&, CameraState& camera, const messages::RecordResumed&) { camera.recording_paused.clear(); }

void Supervisor::on(Member&, CameraState& camera, const messages::PushChanged& changed) {
  camera.push[changed.url] = {changed.state, changed.reason};
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
void Supervisor::on(Member&, CameraState& camera, const messages::SourceState& source) {
  using State = CameraState::State;
  const bool came_before = camera.frames_published() + camera.packets_published() > 0;
  if (source.delivers && camera.state == State::waiting && came_before) ++camera.reconnects;
  for (const unsigned output : camera.outputs) {
    CameraState& state = cameras_[output];
    if (state.state != State::running && state.state != State::waiting && state.state != State::starting) continue;
    state.become(source.delivers ? State::running : State::waiting);
    if (!state.record_failed) state.reason = source.reason;
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
  send_for(worker(camera.worker), camera, messages::CameraOver());
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
  send_for(publisher(), camera, messages::CameraOver());
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
