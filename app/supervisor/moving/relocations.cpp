#include "app/supervisor/moving/relocations.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/config/camera_config.h"
#include "app/control/messages/cameras.h"
#include "app/control/messages/nodes.h"
#include "app/supervisor/rig/accounting.h"
#include "app/supervisor/rig/camera_parts.h"
#include "core/log.h"
#include "ipc/edge_blocks.h"
#include "ipc/encode_block.h"

namespace campipe {
namespace {

// A decoder may wait for a GPU that does not answer.
constexpr auto longest_letting_go = std::chrono::milliseconds(2500);

}  // namespace

void Relocations::begin(Camera& camera, const std::string& stands_in) {
  moves_.cancel(camera, "it is placed anew");
  if (camera.is_mosaic() || camera.all_failed()) return roster_.displace(camera, stands_in);
  camera.stands_in = stands_in;
  camera.config = roster_.as_run(*camera.asked, camera.sends, stands_in);  // so much is counted on by now
  if (camera.relocation) return;
  camera.relocation.emplace();
  processes_.send_to_master(camera, messages::LeaveCamera{{camera.id}});
  rig_.next_tick = Clock::now();
}

void Relocations::follow() {
  if (rig_.phase == RunPhase::leaving) return;
  for (Camera& camera : rig_.cameras.all()) {
    if (camera.relocation) follow(camera);
  }
}

void Relocations::follow(Camera& camera) {
  if (!camera.decoding.gone) return let_go(camera);
  end_nodes(camera);
  if (camera.nodes_done() && !camera.move) go_on(camera);
}

// A master of which nothing is heard is no better off with the camera.
void Relocations::let_go(const Camera& camera) {
  ManagedProcess& master = processes_.master_of(camera);
  const bool late = Clock::now() - camera.relocation->begun > longest_letting_go;
  if (late && master.child && !master.child->killed())
    Processes::end(master,
                   fmt::format("is ended: it does not let go of {}, which is to go on elsewhere", camera.name()));
}

void Relocations::end_nodes(Camera& camera) {
  if (!std::exchange(camera.relocation->nodes_end, true)) lifecycle_.end_frames(camera);
  std::vector<NodeId> dead;
  for (const CameraNode& node : camera.nodes) {
    if (!node.done && !processes_.of(node.process()).child) dead.push_back(node.id);
  }
  for (const NodeId id : dead) {
    if (rig_.cameras.find(id) != &camera) continue;  // it was the other one of a move
    CameraNode& node = camera.node(id);
    if (!moves_.on_node_done(camera, node)) lifecycle_.on_node_done(camera, node);
  }
  give_up_waiting_nodes(camera);
}

// With policy block a node waits for whoever reads its frames, for half a minute with each, and here nobody comes any
// more. It ends, and says so.
void Relocations::give_up_waiting_nodes(Camera& camera) {
  if (camera.config->drop_policy != DropPolicy::block) return;
  for (const CameraEdge& edge : camera.edges) {
    if (edge.cell || !edge.writer || camera.node(*edge.writer).done) continue;
    const bool is_unread =
        std::ranges::all_of(edge.readers, [&](const EdgeReader& reader) { return camera.node(reader.node).done; });
    if (!is_unread || !camera.relocation->given_up.insert(*edge.writer).second) continue;
    processes_.send_to_node(camera, camera.node(*edge.writer), messages::ForgetNode{{*edge.writer}});
  }
}

void Relocations::go_on(Camera& camera) {
  try {
    camera.config = roster_.as_run(*camera.asked, camera.sends, camera.stands_in);
    const CameraPlan where = workers_.choose(*camera.config, true);
    const PartIds ids = rig_.cameras.free_parts(where.nodes.size());
    const bool apart = camera.decoding.quarantine || camera.decoding.isolate;
    ManagedProcess& master = roster_.master_for(*camera.config, where, apart);
    camera.relocation.reset();
    camera.decoding.isolate = false;
    place(camera, ids, where);
    for (const CameraNode& node : camera.nodes) {
      if (!node.done) setup_.send_new_node(camera, node);
    }
    setup_.decode_in(camera, master);
  } catch (const std::exception& error) {
    spdlog::error("{}: cannot go on elsewhere, and comes anew: {}", camera.name(), error.what());
    return come_anew(camera);
  }
  spdlog::info("{}: runs on {} now", camera.name(), name_of_place(camera));
  rig_.next_status = Clock::now();
}

// Nothing of it has changed place.
void Relocations::come_anew(Camera& camera) {
  camera.relocation.reset();
  lifecycle_.on_decoding_over(camera, "");
  lifecycle_.end_encoded(camera);
  roster_.displace(camera, camera.stands_in);
}

void Relocations::settle_all(Camera& camera) const {
  for (CameraEdge& edge : camera.edges) {
    for (EdgeReader& reader : edge.readers) {
      edge.end_seat(reader);
      reader.unsettled = false;
    }
  }
  for (const CameraNode& node : camera.nodes) settle_lost(camera, node, rig_.page);
}

// Nothing may throw here.
void Relocations::place(Camera& camera, const PartIds& ids, const CameraPlan& where) {
  settle_all(camera);
  Drops dropped;
  std::map<OutputId, ProcessId> encoders;
  for (const Output& output : camera.outputs) {
    encoders[output.id] = camera.encoder_of(output).process();
    if (!output.is_copy()) dropped[output.id] = dropped_behind_source(camera, output, rig_.page);
  }
  const ProcessId first = process_of_node(where.nodes.front().worker);
  forget_old(camera, ids.nodes.front(), first);

  const Devices& devices = rig_.machine.devices;
  add_nodes(camera, ids.nodes, ids.edges, where, devices);
  rig_.cameras.add_parts(camera);
  const std::vector<ResolvedOutput> outputs = resolved_outputs(*camera.config);
  for (std::size_t i = 0; i < camera.outputs.size(); ++i) {
    Output& output = camera.outputs[i];
    place_output(output, outputs.at(i), ids.nodes, where, devices);
    if (output.is_copy()) continue;
    const ProcessId encoder = camera.encoder_of(output).process();
    if (encoders[output.id] != encoder) rig_.page.move(output.id, encoders[output.id], encoder);
    replace_dropped(rig_.page.encode(output.id, encoder).dropped, dropped[output.id]);
  }
  // What came before is encoded, or counted as dropped by who encodes.
  const std::uint64_t published = camera.frames().published();
  for (CameraEdge& edge : camera.edges) {
    if (edge.writer) edge.base = published;
    for (EdgeReader& reader : edge.readers) reader.meant = published;
  }
  camera.source.placement = where.placement;
  camera.source.gpu_memory.reset();
  camera.source.gpu = gpu_name(devices, where.placement.decode_gpu);
}

// `first`: the new node that reads the source's frames, in `process`: what the old ones have counted goes there.
void Relocations::forget_old(Camera& camera, NodeId first, ProcessId process) {
  const EdgeId source = camera.frames().id;
  std::vector<EdgeId> cells;
  std::vector<EdgeId> between;
  for (const CameraEdge& edge : camera.edges) {
    if (edge.cell) {
      cells.push_back(edge.id);  // the mosaic gets another one
    } else if (edge.writer) {
      between.push_back(edge.id);
    }
  }
  for (const EdgeId id : cells) setup_.remove_cell_edge(camera, id);
  for (const EdgeReader& reader : camera.frames().readers) {
    if (reader.process != process) rig_.page.move(source, reader.process, process);
  }
  for (const EdgeId id : between) {
    const CameraEdge& edge = camera.edge(id);
    const ProcessId writer = camera.writer_of(edge);
    const ProcessId reader = edge.readers.front().process;
    Counters& counters = rig_.page.edge_reader(source, process).counters;
    counters.add(rig_.page.edge_writer(id, writer).counters);
    counters.add(rig_.page.edge_reader(id, reader).counters);
    rig_.page.clear(id, writer, reader);
    rig_.cameras.remove_edge(camera, id);
  }
  for (const CameraNode& node : std::vector(camera.nodes)) {
    rig_.page.move(node.id, node.process(), first, process);
    processes_.send(processes_.of(node.process()), messages::ForgetNode{{node.id}});
    rig_.cameras.remove_node(camera, node.id);
  }
  camera.frames().readers.clear();
  processes_.send(processes_.master_of(camera), messages::ForgetCamera{{camera.id}});
}

}  // namespace campipe
