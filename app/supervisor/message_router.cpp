#include "app/supervisor/message_router.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "app/control/messages/answer.h"
#include "app/control/messages/cameras.h"
#include "app/control/messages/cluster.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/from_master.h"
#include "app/control/messages/from_publisher.h"
#include "app/control/messages/from_source.h"
#include "app/control/messages/from_worker.h"
#include "app/control/messages/link_process.h"
#include "app/control/messages/links.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/messages/requests.h"
#include "app/control/messages/shared_links.h"
#include "app/supervisor/moving/move_rules.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto out_of_descriptors = "the supervisor is out of descriptors (LimitNOFILE, ulimit -n)";

// Requests that are no change of the configuration: one function for each, whose result, or exception, is the answer.
messages::Answer answer_to(const messages::SetRecording& asked, CameraRoster& roster) {
  return roster.set_recording(asked);
}

}  // namespace

void MessageRouter::handle(ManagedProcess& by, Message& message) {
  if (message.incomplete && messages::is_put(message.type)) {  // who asked is not answered
    return spdlog::error("out of descriptors (LimitNOFILE, ulimit -n): a request was lost");
  }
  if (message.incomplete && message.type == messages::ClusterSeen::type) {  // the next one tells as much
    return spdlog::error("out of descriptors (LimitNOFILE, ulimit -n): how the cluster is was lost");
  }
  shorten_texts(message);
  const auto take = [&](auto& read, auto&... fds) { receive(by, message, read, fds...); };
  const auto take_of_guest = [&](auto& read, auto&... fds) { receive_of_guest(by, message, read, fds...); };
  switch (by.kind) {
    case ProcessKind::source:
      return dispatch(messages::FromSource(), message, take);
    case ProcessKind::master:
      return dispatch(messages::FromMaster(), message, take);
    case ProcessKind::worker:
      if (by.place.for_others) return dispatch(messages::FromWorker(), message, take_of_guest);
      return dispatch(messages::FromWorker(), message, take);
    case ProcessKind::publisher:
      return dispatch(messages::FromPublisher(), message, take);
    case ProcessKind::link:
      return dispatch(messages::FromLink(), message, [&](auto& read, auto&... fds) {
        if constexpr (requires { read.edge; }) {
          if (guests_.has(read.edge)) return take_of_guest(read, fds...);
        }
        take(read, fds...);
      });
    case ProcessKind::cluster:
      return dispatch(messages::FromCluster(), message, [this](auto& read) {
        if constexpr (requires { cluster_control_.on(read); }) {
          cluster_control_.on(read);
        } else {
          cluster_.on(read);
        }
      });
  }
}

// Throws BadMessage where there can be none.
template <typename Id>
void MessageRouter::require_id(Id id, std::string_view kind) const {
  if (!rig_.cameras.is_id(id))
    throw BadMessage(fmt::format("something for {} {}, which there is not", kind, id.index()));
}

// Nothing: there is no such one just now.
template <typename M>
auto MessageRouter::find(ManagedProcess& by, const M& read) {
  if constexpr (requires { read.camera; }) {
    require_id(read.camera, "camera");
    Camera* camera = rig_.cameras.find(read.camera);
    return camera == nullptr ? std::nullopt : std::optional(AboutCamera{rig_, by, *camera});
  } else if constexpr (requires { read.node; }) {
    require_id(read.node, "node");
    Camera* camera = rig_.cameras.find(read.node);
    return camera == nullptr ? std::nullopt : std::optional(AboutNode{rig_, by, *camera, camera->node(read.node)});
  } else if constexpr (requires { read.edge; }) {
    require_id(read.edge, "edge");
    Camera* camera = rig_.cameras.find(read.edge);
    return camera == nullptr ? std::nullopt : std::optional(AboutEdge{rig_, by, *camera, camera->edge(read.edge)});
  } else {
    require_id(read.output, "output");
    Output* output = rig_.cameras.find(read.output);
    return output == nullptr ? std::nullopt : std::optional(AboutOutput{rig_, by, rig_.cameras.of(*output), *output});
  }
}

// One of a camera that was disabled or removed since may still have been on its way: nothing becomes of it.
template <typename M, typename... Descriptors>
void MessageRouter::receive(ManagedProcess& by, const Message& message, M& read, Descriptors&... fds) {
  if constexpr (requires { read.request; }) {
    on_request(by, read);
  } else if constexpr (std::is_same_v<M, messages::PeerLinks> || std::is_same_v<M, messages::LinkTransports>) {
    exchange_.on(read);
  } else {
    const auto about = find(by, read);
    if (!about) return;
    require_own(*about);
    if (!about->camera.takes_part()) return;
    require_possible(*about, read);
    if constexpr (sizeof...(fds) > 0) {
      if (message.incomplete) return on_incomplete(*about, read);
    }
    on(*about, read, fds...);
  }
}

// Takes a message about a stage that this node runs for another one.
template <typename M, typename... Descriptors>
void MessageRouter::receive_of_guest(const ManagedProcess& by, const Message& message, const M& read,
                                     Descriptors&... fds) {
  if constexpr (requires { guests_.on(by, read, fds..., message.incomplete); }) {
    guests_.on(by, read, fds..., message.incomplete);
  } else if constexpr (requires { guests_.on(by, read); }) {
    guests_.on(by, read);
  } else {
    throw BadMessage("what is none of a part that is done for another node");
  }
}

void MessageRouter::on(const AboutEdge& about, const messages::FrameRing& ring, std::vector<UniqueFd>& fds) {
  auto memory = RingRouter::open(fds);
  const auto& move = about.camera.move;
  if (move && about.edge.is_read_by(move->from)) moves_.cancel(about.camera, why_cancelled_by(about.edge, *memory));
  rings_.add(about.camera, about.edge, ring, std::move(memory));
}

void MessageRouter::on(const AboutOutput& about, const messages::PacketRing& ring, std::vector<UniqueFd>& fds) {
  rings_.add(about.camera, about.output, ring, fds);
}

void MessageRouter::on(const AboutOutput& about, const messages::AudioRing& ring, std::vector<UniqueFd>& fds) {
  rings_.add(about.camera, about.output, ring, fds);
}

void MessageRouter::on(const AboutNode& about, const messages::FrameRingLost& lost) {
  if (const auto& move = about.camera.move; move && move->to == about.node.id && !move->is_committed())
    return moves_.cancel(about.camera, lost.reason);
  Camera* const camera = rig_.cameras.find(lost.edge);  // of a cell's edge: not the mosaic
  if (camera == nullptr) return;
  CameraEdge& edge = camera->edge(lost.edge);
  const auto reader = std::ranges::find(edge.readers, about.node.id, &EdgeReader::node);
  if (reader == edge.readers.end()) return;
  --reader->sent.number;
  rings_.lose(*camera, edge, lost.reason);
}

void MessageRouter::on(const AboutOutput& about, const messages::RingLost& lost) {
  --about.output.publisher.rings_sent.number;
  rings_.lose(about.camera, lost.reason);
}

// The next ring has the next number.
void MessageRouter::on_incomplete(const AboutCamera& about, const messages::SourceRing& ring) {
  about.camera.source.packets.epoch = ring.epoch;
  rings_.lose(about.camera, out_of_descriptors);
}

void MessageRouter::on_incomplete(const AboutEdge& about, const messages::FrameRing& ring) {
  about.edge.epoch = ring.epoch;
  rings_.lose(about.camera, about.edge, out_of_descriptors);
}

void MessageRouter::on_incomplete(const AboutOutput& about, const messages::PacketRing& ring) {
  about.output.packets.epoch = ring.epoch;
  rings_.lose(about.camera, out_of_descriptors);
}

void MessageRouter::on_incomplete(const AboutOutput& about, const messages::AudioRing& ring) {
  about.output.audio.epoch = ring.epoch;
  rings_.lose(about.camera, out_of_descriptors);
}

void MessageRouter::on(const AboutOutput& about, const messages::PacketRingDone& done) {
  about.output.packets.forget(done.epoch);
}

void MessageRouter::on(const AboutOutput& about, const messages::AudioRingDone& done) {
  about.output.audio.forget(done.epoch);
}

void MessageRouter::on(const AboutCamera& about, const messages::SourceRing& ring, std::vector<UniqueFd>& fds) {
  rings_.add(about.camera, ring, fds);
}

void MessageRouter::on(const AboutCamera& about, const messages::SourceRingDone& done) {
  about.camera.source.packets.forget(done.epoch);
}

void MessageRouter::on(const AboutCamera& about, const messages::DecodingState& state) {
  lifecycle_.on_decoding_state(about.camera, state.decodes, state.reason);
}

void MessageRouter::on(const AboutCamera& about, const messages::DecodingOver& over) {
  about.camera.decoding.gone = true;
  lifecycle_.on_decoding_over(about.camera, over.failure);
}

void MessageRouter::on(const AboutCamera& about, const messages::DecodingLeft&) {
  CameraLifecycle::on_decoding_left(about.camera);
  rig_.next_tick = Clock::now();
}

void MessageRouter::on(const AboutCamera& about, const messages::SourceState& source) {
  lifecycle_.on_source_state(about.camera, source.delivers, source.reason);
}

void MessageRouter::on(const AboutCamera& about, const messages::SourceOver& over) {
  about.camera.source.gone = true;
  lifecycle_.on_source_over(about.camera, over.failure);
}

void MessageRouter::on(const AboutCamera& about, const messages::FoundStream& found) {
  roster_.on_sent_stream(about.camera, found.sends);
}

void MessageRouter::on(const AboutCamera& about, const messages::OpenedStream& opened) {
  roster_.on_opened_stream(about.camera, opened.stream);
}

void MessageRouter::on(const AboutNode& about, const messages::NodeDone&) {
  if (moves_.on_node_done(about.camera, about.node)) return;
  lifecycle_.on_node_done(about.camera, about.node);
}

void MessageRouter::on(const AboutNode& about, const messages::NotReady& not_ready) {
  moves_.cancel(about.camera, not_ready.reason);  // if it is still about to be moved
}

void MessageRouter::on(const AboutEdge& about, const messages::EdgeFailed& failed) {
  lifecycle_.on_edge_failed(about.camera, about.edge, failed.reason);
  if (about.camera.all_failed()) lifecycle_.stop(about.camera);
}

void MessageRouter::on(const AboutEdge& about, const messages::EdgeDone& /*done*/) { about.edge.ended = true; }

void MessageRouter::on(const AboutEdge& about, const messages::LinkListens& listens) {
  if (about.edge.link) {
    about.edge.link->port = listens.port;
  } else {
    about.camera.node(*about.edge.writer).links.listens = listens.port;
  }
}

void MessageRouter::on(const AboutOutput& about, const messages::OutputDone&) {
  if (has_work(about.by, about.camera, about.output)) lifecycle_.on_publisher_done(about.output);
}

void MessageRouter::on(const AboutOutput& about, const messages::OutputFailed& failed) {
  CameraLifecycle::fail(about.output, failed.reason);
  moves_.cancel(about.camera, failed.reason);
  if (about.output.config.group) rig_.groups.leave(about.camera.id);
  if (about.camera.all_failed()) lifecycle_.stop(about.camera);
}

void MessageRouter::on(const AboutOutput& about, const messages::FileBegun& file) {
  about.output.recording.file = file.path;
  about.output.recording.paused.clear();
  spdlog::info("{}: recording to {}", about.output.config.name, file.path);
}

void MessageRouter::on(const AboutOutput& about, const messages::RecordFailed& failed) {
  about.output.recording.failed = true;
  about.output.recording.paused.clear();
  about.output.reason = "recording stopped: " + failed.reason;
  spdlog::error("{}: {}", about.output.config.name, about.output.reason);
}

void MessageRouter::on(const AboutOutput& about, const messages::RecordPaused& paused) {
  if (about.output.recording.on) about.output.recording.pause(paused.reason);
}

void MessageRouter::on(const AboutOutput& about, const messages::RecordResumed&) {
  about.output.recording.paused.clear();
}

void MessageRouter::on(const AboutOutput& about, const messages::PushChanged& changed) {
  Push& push = about.output.push[changed.url];
  if (push.state != changed.state) push.since = utc_now_ns();
  push.state = changed.state;
  push.reason = changed.reason;
  push.cause = changed.cause;
}

void MessageRouter::on_request(const ManagedProcess& by, messages::Request request) {
  const auto handle = [&]<typename M>(M& asked) {
    if constexpr (std::is_constructible_v<messages::ConfigChange, M>) {
      config_.ask(std::move(asked), by.child->pid());
    } else if constexpr (std::is_same_v<M, messages::MoveCamera>) {
      moves_.begin(asked, by.child->pid());
    } else if constexpr (requires { cluster_control_.ask(asked, 0); }) {
      cluster_control_.ask(std::move(asked), by.child->pid());
    } else {
      config_.answer(by.child->pid(), asked.request, [&] { return answer_to(asked, roster_); });
    }
  };
  std::visit(handle, request);
}

}  // namespace campipe
