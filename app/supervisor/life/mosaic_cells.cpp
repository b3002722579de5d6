#include "app/supervisor/life/mosaic_cells.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "app/config/camera_config.h"
#include "app/control/messages/node_parts.h"
#include "app/control/messages/nodes.h"
#include "app/placement/mosaic_plan.h"
#include "core/gpu.h"

namespace campipe {

bool runs_as_mosaic(const Camera& camera) {
  return camera.is_mosaic() && camera.takes_part() && !camera.retiring && !camera.source.over;
}

bool may_be_shown(const Camera& camera) {
  const bool has_frames = !camera.source.over && !camera.decoding.given_up;
  return camera.takes_part() && !camera.retiring && has_frames && !camera.move && !camera.relocation;
}

namespace {

// Without addresses and paths: who may watch the mosaic need not be allowed to see where its cameras are.
std::string without_places(const std::string& reason) {
  std::istringstream words(reason);
  std::string kept;
  for (std::string word; words >> word;) {
    const bool is_place = word.find("://") != std::string::npos || word.find('/') < 2;
    if (!is_place) kept += (kept.empty() ? "" : " ") + word;
    if (is_place && word.ends_with(':') && !kept.empty() && !kept.ends_with(':')) kept += ':';
  }
  return kept;
}

// `camera`: null: the rig has none of that name just now, since it is removed, or comes anew, or is another node's.
messages::CellState state_of(const Camera* camera, const CameraEdge* edge) {
  messages::CellState state;
  if (camera == nullptr) {
    state.reason = edge != nullptr ? "no frames" : "starting";
    if (edge != nullptr && !edge->ending) state.edge = edge->id;
    return state;
  }
  const Output& own = camera->own();
  state.since = own.since;
  if (edge != nullptr && !edge->ending) state.edge = edge->id;
  switch (own.state) {
    case CameraState::running:
      state.reason = edge != nullptr && edge->failed ? edge->reason : "no frames";
      state.away = edge != nullptr && edge->failed;
      if (!state.away) state.since = 0;  // since the last one, which the node knows
      break;
    case CameraState::starting:
      state.reason = "starting";
      break;
    case CameraState::waiting:
    case CameraState::failed:
      state.away = true;
      state.reason = without_places(own.reason);
      if (state.reason.empty()) state.reason = name_of(own.state);
      break;
    case CameraState::ended:
    case CameraState::disabled:
      state.away = true;
      state.reason = name_of(own.state);
      break;
  }
  return state;
}

}  // namespace

void MosaicCells::follow() {
  end_cells_of_others();
  if (std::ranges::any_of(rig_.cameras.all(), runs_as_mosaic)) follow_mosaics();
  for (Camera& camera : rig_.cameras.all()) {
    if (!camera.is_mosaic()) show(camera);
  }
}

void MosaicCells::follow_mosaics() {
  CamerasByName cameras;
  for (Camera& camera : rig_.cameras.all()) {
    if (!camera.is_mosaic()) cameras[camera.name()] = &camera;
  }
  for (Camera& camera : rig_.cameras.all()) {
    if (runs_as_mosaic(camera)) follow(camera, cameras);
  }
}

// Of mosaics that have gone or are going; and those that have ended.
void MosaicCells::end_cells_of_others() {
  for (Camera& camera : rig_.cameras.all()) {
    std::vector<EdgeId> over;
    for (CameraEdge& edge : camera.edges) {
      if (!edge.cell) continue;
      if (edge.ended) over.push_back(edge.id);
      if (edge.link) continue;  // MosaicLinks sees to it
      const Camera* const mosaic = rig_.cameras.find(edge.cell->mosaic);
      const bool is_read =
          mosaic != nullptr && runs_as_mosaic(*mosaic) && edge.readers.front().node == mosaic->nodes.front().id;
      if (is_read || edge.ending) continue;
      end(camera, edge);
      if (edge.ended) over.push_back(edge.id);
    }
    for (const EdgeId edge : over) setup_.remove_cell_edge(camera, edge);
  }
}

void MosaicCells::end(Camera& camera, CameraEdge& edge) {
  edge.ending = true;
  const CameraNode& writer = camera.node(*edge.writer);
  edge.ended = !processes_.send_to_node(camera, writer, messages::StopEdge{{writer.id, edge.id}});
}

void MosaicCells::follow(Camera& mosaic, const CamerasByName& cameras) {
  const std::vector<MosaicCell>& cells = mosaic.config->mosaic->cells;
  mosaic.cells.resize(cells.size());
  for (unsigned i = 0; i < cells.size(); ++i) {
    const auto found = cameras.find(cells[i].camera);
    Camera* const camera = found != cameras.end() ? found->second : nullptr;
    CameraEdge* edge = camera != nullptr ? edge_for(*camera, {mosaic.id, i}) : edge_for(mosaic, {mosaic.id, i});
    // During a move of the mosaic its two nodes have the same cells.
    const bool is_new = edge == nullptr && camera != nullptr && may_be_shown(*camera) && !mosaic.move;
    if (is_new) edge = &add_edge(*camera, mosaic, i);
    messages::CellState state = state_of(camera, edge);
    if (state != mosaic.cells[i]) {
      mosaic.cells[i] = std::move(state);
      for (const CameraNode& node : mosaic.nodes)
        processes_.send_to_node(mosaic, node, messages::ShowCell{{}, i, mosaic.cells[i]});
    }
    if (is_new) setup_.send_edge(*camera, *edge);
  }
}

CameraEdge* MosaicCells::edge_for(Camera& camera, const CellPlace& place) {
  const auto is_it = [&](const CameraEdge& edge) { return edge.cell == place && !edge.ending; };
  const auto found = std::ranges::find_if(camera.edges, is_it);
  return found != camera.edges.end() ? &*found : nullptr;
}

// Where the mosaic's worker does not see that GPU, because it was started before the camera came, the camera's side
// copies the frames to host memory.
RingMemory MosaicCells::memory_between(const Camera& camera, const CameraNode& from, const CameraNode& to) const {
  const ProcessPlace& writer = processes_.of(from.process()).place;
  const ProcessPlace& reader = processes_.of(to.process()).place;
  RingMemory memory = cell_memory(*camera.config, writer.gpu, reader.gpu, rig_.machine.devices);
  const bool sees = !on_gpu(writer.gpu) || std::ranges::find(reader.sees, writer.gpu) != reader.sees.end();
  if (!sees) memory.kind = MemoryKind::host;
  return memory;
}

CameraEdge& MosaicCells::add_edge(Camera& camera, const Camera& mosaic, unsigned cell) {
  const CameraNode& writer = camera.nodes.back();
  const CameraNode& reader = mosaic.nodes.front();
  CameraEdge edge;
  edge.writer = writer.id;
  edge.filters = cell_filters(*camera.config, writer.first_filter, *mosaic.config->mosaic, cell);
  edge.memory = memory_between(camera, writer, reader);
  edge.cell = CellPlace{mosaic.id, cell};
  edge.rate = mosaic.config->mosaic->rate;
  EdgeReader& seat = edge.readers.emplace_back();
  seat.node = reader.id;
  seat.process = reader.process();
  return rig_.cameras.add_edge(camera, std::move(edge));
}

// Nobody answers any more whom the first node was to write no edge for.
void MosaicCells::go_over(Camera& camera, const CameraNode& from, const CameraNode& to) {
  for (CameraEdge& edge : camera.edges) {
    if (!edge.cell || edge.writer != from.id) continue;
    rig_.page.move_written(edge.id, from.process(), to.process());
    edge.writer = to.id;
    edge.ended = edge.ended || edge.ending;
    const Camera* const mosaic = rig_.cameras.find(edge.cell->mosaic);
    if (edge.ending || (mosaic == nullptr && !edge.link)) continue;
    const Device& gpu = processes_.of(to.process()).place.gpu;
    edge.memory = mosaic != nullptr ? memory_between(camera, to, mosaic->nodes.front())
                                    : cell_memory(*camera.config, gpu, {}, rig_.machine.devices);
    setup_.send_edge(camera, edge);
  }
}

// One that is not decoded for its own outputs is so while a mosaic shows it.
void MosaicCells::show(Camera& camera) {
  const bool shown = std::ranges::any_of(
      camera.edges, [](const CameraEdge& edge) { return edge.cell && !edge.ending && !edge.failed; });
  if (shown == camera.shown) return;
  camera.shown = shown;
  if (encoded_outputs(*camera.config) > 0) return;
  setup_.send_shown(camera);
}

}  // namespace campipe
