#include "app/supervisor/life/camera_setup.h"

#include <algorithm>
#include <utility>

#include "app/config/rig_config.h"
#include "app/config/serves.h"
#include "app/control/messages/cameras.h"
#include "app/control/messages/node_parts.h"
#include "app/control/messages/nodes.h"
#include "app/control/messages/run_node.h"
#include "app/control/messages/to_master.h"
#include "app/control/messages/to_publisher.h"
#include "app/control/messages/to_source.h"
#include "ipc/decode_blocks.h"
#include "ipc/node_block.h"
#include "stages/sources/source.h"

namespace campipe {
namespace {

// ns. What waits to be decoded is shown so much later than what has been, at most; the master may have written more.
constexpr std::int64_t most_ahead = 3'600'000'000'000;

bool takes_audio(const Camera& camera, const Output& output, const RigConfig& rig) {
  const bool used = output.config.record || !output.config.push.empty() || serves(rig);
  return used && camera.config->source.audio == Audio::copy;
}

// That need frames only while they have viewers.
std::vector<OutputId> on_demand_outputs(const Camera& camera) {
  std::vector<OutputId> outputs;
  if (encoded_outputs(*camera.config) > 0) return outputs;
  for (const Output& output : camera.outputs) {
    if (!output.is_copy() && output.state != CameraState::failed) outputs.push_back(output.id);
  }
  return outputs;
}

// Who decodes is not to know where the camera is.
CameraConfig for_decoding(const CameraConfig& camera) {
  CameraConfig config;
  config.name = camera.name;
  config.source.loop = camera.source.loop;
  config.decode_threads = camera.decode_threads;
  config.on_corrupt = camera.on_corrupt;
  config.drop_policy = camera.drop_policy;
  config.queue_size = camera.queue_size;
  config.group = camera.group;
  return config;
}

unsigned tiles_of(const Camera& camera) {
  return static_cast<unsigned>(
      std::ranges::count_if(camera.planned_nodes(), [](const CameraNode* node) { return node->tile.has_value(); }));
}

messages::WrittenEdge written(const Camera& camera, const CameraEdge& edge) {
  messages::WrittenEdge message;
  message.edge = edge.id;
  message.name = camera.name();
  message.filters = edge.filters;
  message.rate = edge.rate;
  message.drop_policy = edge.drop_policy(*camera.config);
  message.queue_size = edge.queue_size(*camera.config);
  message.memory = edge.memory;
  message.readers = static_cast<unsigned>(edge.readers.size());
  message.epoch = edge.epoch + 1;
  message.base = edge.published();
  message.failed = edge.failed;
  message.cell = edge.cell.has_value();
  const std::optional<unsigned> tile = edge.cell ? std::nullopt : camera.node(*edge.writer).tile;
  if (tile) message.tile = messages::Tile{*tile, tiles_of(camera)};
  return message;
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
    if (has_work(process, camera)) send_new_work(process, camera);
  }
}

void CameraSetup::send_new_work(ManagedProcess& process, Camera& camera) {
  if (process.child) {
    send(process, camera);
  } else if (!process.start_at) {
    processes_.start(process);
  }
}

void CameraSetup::send(ManagedProcess& process, Camera& camera) {
  if (!has_work(process, camera)) return;
  switch (process.kind) {
    case ProcessKind::source:
      return send_to_source(camera);
    case ProcessKind::master:
      return send_to_master(camera);
    case ProcessKind::worker:
    case ProcessKind::link:
      return send_nodes(process, camera);
    case ProcessKind::publisher:
      for (Output& output : camera.outputs) {
        if (has_work(process, camera, output)) send_to_publisher(camera, output);
      }
      return;
    case ProcessKind::cluster:
      return;
  }
}

void CameraSetup::send_to_source(Camera& camera) {
  CameraSource& source = camera.source;
  CameraEdge& frames = camera.frames();
  messages::ReadCamera message;
  message.camera = camera.id;
  message.config = *camera.config;
  message.epoch = source.packets.epoch + 1;
  source.keep_next_packet();
  message.packet = source.next_packet;
  message.resume = frames.newest_pts();
  // A file that does not begin again goes back for what has not been published; of all others nothing comes again.
  const bool goes_back = !is_live(camera.config->source.url) && !camera.config->source.loop;
  const auto shown_until = source.packets.newest ? source.packets.newest->shown_until() : std::nullopt;
  if (!goes_back && shown_until.value_or(0) - message.resume.value_or(0) < most_ahead)
    message.resume = std::max(message.resume, shown_until);
  message.set_move = rig_.page.decode(camera.id, camera.decoding.process).sets.move;
  const bool decoded = !camera.decoding.given_up;
  message.decode = decoded && encoded_outputs(*camera.config) > 0;
  message.on_demand = decoded && !on_demand_outputs(camera).empty();
  message.shown = decoded && camera.shown;
  message.undecided = depends_on_stream(*camera.asked) && (!camera.sends || fits(*camera.asked, *camera.sends));
  for (Output& output : camera.outputs) {
    if (!decoded && !output.is_plain_copy()) continue;
    output.keep_newest();
    if (output.is_copy()) {
      message.copies.push_back({output.id, output.packets.epoch + 1, output.packets_published(), output.copied.dts,
                                output.copied.shown_until, output.config.filters});
    }
    if (takes_audio(camera, output, *rig_.config))
      message.audio.push_back({output.id, output.audio.epoch + 1, output.copied.audio});
  }
  source.gone = !processes_.send(processes_.source(), message);
}

void CameraSetup::send_to_master(Camera& camera) {
  CameraEdge& frames = camera.frames();
  messages::DecodeCamera message;
  message.camera = camera.id;
  message.edge = frames.id;
  message.readers = static_cast<unsigned>(frames.readers.size());
  message.config = for_decoding(*camera.config);
  message.live = is_live(camera.config->source.url);
  message.placement = camera.source.placement;
  message.epoch = frames.epoch + 1;
  message.base = frames.published();
  message.resume = frames.last_pts;
  message.resume_packet = frames.last_packet;
  message.decode = encoded_outputs(*camera.config) > 0;
  message.on_demand = on_demand_outputs(camera);
  message.shown = camera.shown;
  message.shed = camera.shed;
  message.skips = std::exchange(camera.decoding.skips, false);
  for (const Output& output : camera.outputs) {
    if (output.is_copy()) message.copies.push_back({output.id, output.config.filters});
  }
  camera.decoding.gone = !processes_.send(processes_.master_of(camera), message);
  rings_.pass_on_packets(camera);
  if (camera.source.over) processes_.send_to_master(camera, messages::SourceRingsOver{{camera.id}});
  // One that is to end soon does not wait for its readers.
  const bool ends = camera.retiring || camera.all_failed() || rig_.phase != RunPhase::running;
  if (ends) processes_.send_to_master(camera, messages::StopCamera{{camera.id}});
}

void CameraSetup::set_master(Camera& camera, const ManagedProcess& master) {
  camera.decoding.process = master.id;
  camera.decoding.role = role_of(master);
  camera.decoding.quarantine = master.quarantine;
}

void CameraSetup::decode_in(Camera& camera, ManagedProcess& master) {
  const ProcessId before = camera.decoding.process;
  set_master(camera, master);
  if (before != master.id) {
    rig_.page.move(camera.id, before, master.id);
    rig_.page.move_written(camera.frames().id, before, master.id);
    for (const Output& output : camera.outputs) rig_.page.move_look(output.id, before, master.id);
  }
  if (has_work(master, camera)) send_new_work(master, camera);
}

void CameraSetup::send_shown(Camera& camera) {
  const messages::ShowCamera message{camera.id, camera.shown};
  processes_.send_for(processes_.source(), camera, message);
  ManagedProcess& master = processes_.master_of(camera);
  if (!camera.decoding.gone) {
    processes_.send(master, message);
  } else if (has_work(master, camera)) {
    send_new_work(master, camera);
  }
}

void CameraSetup::send_nodes(const ManagedProcess& process, Camera& camera) {
  for (const CameraNode& node : camera.nodes) {
    if (node.process() == process.id && !node.done && !camera.is_held_back(node.id)) send_node(camera, node);
  }
}

void CameraSetup::send_new_node(Camera& camera, const CameraNode& node) {
  ManagedProcess& process = processes_.of(node.process());
  if (process.child) {
    send_node(camera, node);
  } else if (!process.start_at) {
    processes_.start(process);
  }
}

void CameraSetup::send_node(Camera& camera, const CameraNode& node) {
  const std::vector<CameraEdge*> inputs = camera.edges_to(node);
  messages::RunNode message;
  for (CameraEdge* input : inputs) {
    input->reader(node.id).sent = {};
    message.inputs.push_back(input->id);
  }
  if (node.joins) {
    message.join = messages::Join{camera.config->filters, camera.frames().published(), {}};
    for (const CameraEdge* input : inputs) {
      if (!camera.node(*input->writer).remote.empty()) message.join->elsewhere.push_back(input->id);
    }
  }
  message.name = camera.name();
  message.drop_policy = frame_policy(*camera.config);
  message.queue_size = static_cast<unsigned>(camera.config->queue_size);
  if (camera.is_mosaic()) message.compose = messages::Compose{*camera.config->mosaic, camera.cells, {}};
  const CameraMove* const takes_over = camera.move && camera.move->to == node.id ? &*camera.move : nullptr;
  message.takes_over = takes_over != nullptr;
  if (message.takes_over && message.compose) {
    const TickClock& clock = rig_.page.node(takes_over->from, camera.node(takes_over->from).process()).clock;
    message.compose->clock = messages::TickOrigin{clock.first, clock.media_offset};
  }
  if (message.takes_over) processes_.send_to_node(camera, node, messages::OfferHandOver(), {takes_over->page->fd()});
  for (Output& output : camera.outputs) {
    const NodeId encoder = takes_over != nullptr ? takes_over->from : node.id;
    if (output.is_copy() || output.node != encoder) continue;
    messages::EncodedOutput& encoded = message.outputs.emplace_back();
    encoded.output = output.id;
    encoded.config = of_this_node(output.config);
    std::vector<FilterConfig>& filters = encoded.config.filters;
    if (output.is_own()) filters.erase(filters.begin(), filters.begin() + node.first_filter);
    encoded.drop_policy = message.drop_policy;
    encoded.placement = takes_over != nullptr ? takes_over->placements.at(output.id) : output.placement;
    encoded.waits = takes_over != nullptr;
    encoded.epoch = output.packets.epoch + 1;
    encoded.base = output.packets_published();
    encoded.failed = output.state == CameraState::failed;
    encoded.joined = node.joins;
    encoded.half_size = camera.shed >= ShedStep::half_size;
    if (output.config.group && !encoded.failed) encoded.seat = take_seat(camera, node, output);
  }
  for (const CameraEdge& edge : camera.edges) {
    if (edge.writer == node.id && !edge.ending) message.edges.push_back(written(camera, edge));
    if (takes_over == nullptr || edge.cell || edge.writer != takes_over->from) continue;
    messages::WrittenEdge& taken = message.edges.emplace_back(written(camera, edge));
    taken.memory = takes_over->memories.at(edge.id);
    taken.waits = true;
  }
  processes_.send_to_node(camera, node, message);
  if (camera.is_mosaic()) {
    rings_.offer_cells(camera, node);
    if (camera.source.over) processes_.send_to_node(camera, node, messages::FinishNode());
  }
  for (CameraEdge* input : inputs) {
    rings_.offer(camera, *input, input->reader(node.id));
    if (camera.is_over(*input)) processes_.send_to_node(camera, node, messages::EdgeOver{{node.id, input->id}});
  }
}

void CameraSetup::send_edge(Camera& camera, const CameraEdge& edge) {
  const CameraNode& writer = camera.node(*edge.writer);
  if (writer.done) return start_nodes(camera);
  processes_.send_to_node(camera, writer, messages::WriteEdge{{}, written(camera, edge)});
}

// They had nothing to do for the camera's own outputs.
void CameraSetup::start_nodes(Camera& camera) {
  for (CameraNode& node : camera.nodes) {
    node.done = false;
    if (processes_.of(node.process()).child) send_node(camera, node);
  }
}

void CameraSetup::remove_cell_edge(Camera& camera, EdgeId id) {
  const CameraEdge& edge = camera.edge(id);
  for (const EdgeReader& reader : edge.readers) rig_.page.clear(id, camera.writer_of(edge), reader.process);
  rig_.cameras.remove_edge(camera, id);
}

// The page goes first. A member that comes while its group runs, or after another one of its name, has no part in what
// was before.
messages::GroupSeat CameraSetup::take_seat(const Camera& camera, const CameraNode& node, Output& output) {
  output.keep_newest();
  const SyncGroups::Seat seat = rig_.groups.join(camera.id, *output.config.group);
  processes_.send(processes_.worker(node.worker), messages::OfferGroupPage{{output.id}}, {seat.page->fd()});
  return {seat.place, seat.from_start && !output.before, output.newest_set};
}

void CameraSetup::send_to_publisher(Camera& camera, Output& output) {
  output.recording.paused.clear();  // a new one reports it again
  output.push.clear();
  output.publisher.rings_sent = {};
  const auto fence = rig_.fences.find(camera.name());
  processes_.send(
      processes_.publisher(),
      messages::PublishOutput{output.id, of_this_node(output.config), output.recording.on, rig_.events,
                              fence == rig_.fences.end() ? "" : fence->second, reports_motion(camera, output)});
  rings_.pass_on_all(camera, output);
  if (output.packets_over) processes_.send_to_publisher(camera, output, messages::OutputOver());
}

ResolvedOutput CameraSetup::of_this_node(ResolvedOutput config) const {
  if (rig_.config->cluster) config.node = node_name(*rig_.config->cluster);
  return config;
}

void CameraSetup::send_disabled(const Camera& camera) {
  if (camera.takes_part()) return;
  for (const Output& output : camera.outputs) {
    processes_.send(processes_.publisher(), messages::DisabledCamera{of_this_node(output.config)});
  }
}

void CameraSetup::send_forget(const Camera& camera) {
  if (!camera.takes_part()) return;
  rig_.groups.forget(camera.id);
  processes_.send(processes_.source(), messages::ForgetCamera{{camera.id}});
  processes_.send(processes_.master_of(camera), messages::ForgetCamera{{camera.id}});
  for (const CameraNode& node : camera.nodes)
    processes_.send(processes_.of(node.process()), messages::ForgetNode{{node.id}});
  for (const Output& output : camera.outputs)
    processes_.send(processes_.publisher(), messages::ForgetOutput{{output.id}});
}

}  // namespace campipe
