#include "app/supervisor/camera_setup.h"

#include <utility>

namespace campipe {
namespace {

bool takes_audio(const Camera& camera, const Output& output, const ServerConfig& server) {
  const bool used = output.config.record || !output.config.push.empty() || serves(server);
  return used && camera.config.source.audio == Audio::copy;
}

// Of its worker, which shares its frames with its copies: what is decoded for viewers alone delays nothing else.
DropPolicy worker_drop_policy(const CameraConfig& camera) {
  return encoded_outputs(camera) == 0 ? DropPolicy::drop : camera.drop_policy;
}

}  // namespace

void CameraSetup::send_all(ManagedProcess& process) {
  for (Camera& camera : rig_.cameras.all()) {
    send(process, camera);
    if (process.kind == ProcessKind::publisher) send_disabled(camera);
  }
}

void CameraSetup::send(Camera& camera) {
  for (ManagedProcess& process : processes_.all()) {
    if (!has_work(process, camera)) continue;
    if (process.child) {
      send(process, camera);
    } else if (!process.start_at) {
      processes_.start(process);
    }
  }
}

void CameraSetup::send(ManagedProcess& process, Camera& camera) {
  if (!has_work(process, camera)) return;
  switch (process.kind) {
    case ProcessKind::master:
      return send_to_master(camera);
    case ProcessKind::worker:
      return send_to_worker(process, camera);
    case ProcessKind::publisher:
      for (Output& output : camera.outputs) {
        if (has_work(process, camera, output)) send_to_publisher(camera, output);
      }
  }
}

void CameraSetup::send_to_master(Camera& camera) {
  messages::ReadCamera message;
  message.camera = camera.id;
  message.edge = camera.frames().id;
  message.config = camera.config;
  message.placement = camera.source.placement;
  message.epoch = camera.frames().epoch + 1;
  message.base = camera.frames().published();
  message.resume = camera.frames().last_pts;
  message.decode = encoded_outputs(camera.config) > 0;
  message.undecided = depends_on_stream(camera.asked) && (!camera.sends || fits(camera.asked, *camera.sends));
  for (Output& output : camera.outputs) {
    if (output.is_copy()) {
      if (const auto& newest = output.packets.newest) {
        if (const auto dts = newest->last_dts()) output.copied.dts = dts;
        if (const auto end = newest->shown_until())
          output.copied.shown_until = std::max(end, output.copied.shown_until);
      }
      message.copies.push_back({output.id, output.packets.epoch + 1, output.packets_published(), output.copied.dts,
                                output.copied.shown_until, output.config.filters});
    } else if (!message.decode && output.state != CameraState::failed) {
      message.on_demand.push_back(output.id);
    }
    if (takes_audio(camera, output, rig_.config.server)) message.audio.push_back({output.id, output.audio.epoch + 1});
  }
  camera.source.gone = !processes_.send(processes_.master(), message);
}

void CameraSetup::send_to_worker(const ManagedProcess& worker, Camera& camera) {
  for (const CameraNode& node : camera.nodes) {
    if (node.worker == worker.number && !node.done) send_node(camera, node);
  }
}

void CameraSetup::send_node(Camera& camera, const CameraNode& node) {
  CameraEdge& input = camera.edge_to(node);
  EdgeReader& reader = input.reader(node.id);
  reader.sent = {};
  messages::RunNode message;
  message.inputs = {input.id};
  message.name = camera.name();
  message.drop_policy = worker_drop_policy(camera.config);
  message.queue_size = static_cast<unsigned>(camera.config.queue_size);
  for (Output& output : camera.outputs) {
    if (output.is_copy() || output.node != node.id) continue;
    messages::EncodedOutput& encoded = message.outputs.emplace_back();
    encoded.output = output.id;
    encoded.config = output.config;
    std::vector<FilterConfig>& filters = encoded.config.filters;
    if (output.is_own()) filters.erase(filters.begin(), filters.begin() + node.first_filter);
    encoded.drop_policy = message.drop_policy;
    encoded.placement = output.placement;
    encoded.epoch = output.packets.epoch + 1;
    encoded.base = output.packets_published();
    encoded.failed = output.state == CameraState::failed;
    if (output.config.group && !encoded.failed) encoded.seat = take_seat(camera, node, output);
  }
  for (const CameraEdge& edge : camera.edges) {
    if (edge.writer != node.id) continue;
    message.edges.push_back({edge.id, camera.name(), edge.filters, edge.memory,
                             static_cast<unsigned>(edge.readers.size()), edge.epoch + 1, edge.published(),
                             edge.failed});
  }
  processes_.send_to_node(camera, node, message);
  rings_.offer(camera, input, reader);
  if (camera.is_over(input)) processes_.send_to_node(camera, node, messages::EdgeOver{{node.id, input.id}});
}

// The page goes first. A member that comes while its group runs, or after another one of its name, has no part in what
// was before.
messages::GroupSeat CameraSetup::take_seat(const Camera& camera, const CameraNode& node, Output& output) {
  if (output.packets.newest) {
    const auto newest = output.packets.newest->newest();
    if (newest && newest->set_state == SetState::own) output.newest_set = messages::NewestSet{newest->set, newest->pts};
  }
  const SyncGroups::Seat seat = rig_.groups.join(camera.id, *output.config.group);
  processes_.send(processes_.worker(node.worker), messages::OfferGroupPage{{output.id}}, {seat.page->fd()});
  return {seat.place, seat.from_start && !output.before, output.newest_set};
}

void CameraSetup::send_to_publisher(Camera& camera, Output& output) {
  output.recording.paused.clear();  // a new one reports it again
  output.push.clear();
  output.publisher.rings_sent = {};
  processes_.send(processes_.publisher(),
                  messages::PublishOutput{output.id, output.config, output.recording.on, rig_.events});
  rings_.pass_on_all(camera, output);
  if (output.packets_over) processes_.send_to_publisher(camera, output, messages::OutputOver());
}

void CameraSetup::send_disabled(const Camera& camera) {
  if (camera.takes_part()) return;
  for (const Output& output : camera.outputs) {
    processes_.send(processes_.publisher(), messages::DisabledCamera{output.config});
  }
}

void CameraSetup::send_forget(const Camera& camera) {
  if (!camera.takes_part()) return;
  rig_.groups.forget(camera.id);
  processes_.send(processes_.master(), messages::ForgetCamera{{camera.id}});
  for (const CameraNode& node : camera.nodes)
    processes_.send(processes_.worker(node.worker), messages::ForgetNode{{node.id}});
  for (const Output& output : camera.outputs)
    processes_.send(processes_.publisher(), messages::ForgetOutput{{output.id}});
}

}  // namespace campipe
