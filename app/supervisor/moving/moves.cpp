#include "app/supervisor/moving/moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/control/messages/answer.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/nodes.h"
#include "app/control/messages/requests.h"
#include "app/supervisor/life/answers.h"
#include "app/supervisor/moving/move_rules.h"
#include "app/supervisor/rig/accounting.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "ipc/counter_table.h"
#include "ipc/node_block.h"

namespace campipe {
namespace {

// Filters settle for up to two seconds, key frames come every few, and who asked waits for ten.
constexpr auto longest_move = std::chrono::seconds(8);
constexpr auto longest_arrival = std::chrono::seconds(1);  // a frame's time, mostly

Placement placement_at(const ProcessPlace& place, const Output& output, const Devices& devices) {
  CameraPlan camera;
  camera.placement = output.placement;
  NodePlan node;
  node.gpu = place.gpu;
  node.encode_cores = output.placement.encode_cores;
  return placement_of_output(camera, node, output.config, devices);
}

}  // namespace

void Moves::begin(const messages::MoveCamera& asked, pid_t asker) {
  const auto refuse = [&](int status, const std::string& why) { answer_(asker, asked.request, refused(status, why)); };
  Camera* const camera = rig_.cameras.find(asked.name);
  if (rig_.phase != RunPhase::running) return refuse(409, "the rig is ending");
  if (camera == nullptr || camera->is_removed()) return refuse(404, "there is no such camera");
  if (const std::string why = refusal(*camera, asked.worker, asked.from); !why.empty()) return refuse(409, why);
  try {
    CameraMove move;
    move.from = node_to_move(*camera, asked.from).id;
    move.worker = asked.worker;
    move.reason = "asked for";
    move.by_user = true;
    move.asker = asker;
    move.request = asked.request;
    begin(*camera, std::move(move));
  } catch (const std::exception& error) {
    refuse(409, error.what());
  }
}

std::string Moves::begin(Camera& camera, unsigned worker, const std::string& reason) {
  if (std::string why = refusal(camera, worker); !why.empty()) return why;
  try {
    CameraMove move;
    move.from = camera.nodes.front().id;
    move.worker = worker;
    move.reason = reason;
    begin(camera, std::move(move));
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

// Empty: it can be moved there.
std::string Moves::refusal(const Camera& camera, unsigned worker, std::optional<unsigned> from) const {
  const unsigned workers = processes_.count(ProcessKind::worker);
  if (waiting_.contains(camera.id)) return "it is being moved already";
  if (worker >= workers) {
    const std::string which =
        workers == 1 ? "the rig has worker 0 only" : fmt::format("the rig's are 0 to {}", workers - 1);
    return fmt::format("there is no worker {}; {}", worker, which);
  }
  if (std::string why = why_not_moved(rig_, camera); !why.empty()) return why;
  if (std::string why = why_no_node(camera, from); !why.empty()) return why;
  return why_not_moved(rig_, camera, node_to_move(camera, from), processes_.worker(worker));
}

// What the node reads: of a mosaic's, edges of other cameras.
template <typename Do>
void Moves::for_each_input(Camera& camera, const CameraNode& node, const Do& act) {
  if (!camera.is_mosaic()) {
    for (CameraEdge* const edge : camera.edges_to(node)) act(*edge);
    return;
  }
  for_each_cell(rig_.cameras, camera.id, [&](const Camera&, CameraEdge& edge) { act(edge); });
}

void Moves::begin(Camera& camera, CameraMove move) {
  const ManagedProcess& worker = processes_.worker(move.worker);
  const bool may_differ = !camera.is_mosaic() && !camera.is_staged();
  const std::string why = may_differ ? why_unreadable(rig_, camera, camera.nodes.front(), worker) : "";
  if (why.empty()) return start(camera, move);
  spdlog::info("{}: its frames are to come through host memory, since {}", camera.name(), why);
  const Placement& source = camera.source.placement;
  camera.source.gpu_memory = ring_memory(source, true);
  take_frames_in(camera, {MemoryKind::host, ReadySignal::immediate, source.decode_gpu});
  waiting_.insert_or_assign(camera.id, Waiting{camera.name(), std::move(move), camera.frames().epoch});
}

// With the next key frame.
void Moves::take_frames_in(Camera& camera, const RingMemory& memory) {
  camera.source.placement.memory = memory.kind;
  camera.source.placement.ready = memory.ready;
  processes_.send_to_master(camera, messages::RenewRing{camera.frames().id, memory});
}

// Where its worker can read them there.
void Moves::take_frames_where_they_were(Camera& camera) {
  const auto& memory = camera.source.gpu_memory;
  if (!memory || camera.nodes.size() != 1) return;
  const ManagedProcess& worker = processes_.worker(camera.nodes.front().worker);
  if (!why_unreadable(rig_, worker, *memory).empty()) return;
  spdlog::info("{}: its frames are to come in the memory of its GPU again", camera.name());
  take_frames_in(camera, *std::exchange(camera.source.gpu_memory, std::nullopt));
}

// The ring is there, and its reader has come: until then, the master must not take another one for it.
bool Moves::has_ring_in_host_memory(const Camera& camera) {
  const auto& ring = camera.frames().newest;
  const auto& seat = camera.frames().reader(camera.nodes.front().id).seat;
  if (!ring || !seat || ring->observer.memory().kind() != MemoryKind::host) return false;
  return ring->observer.writer_state() == WriterState::open && ring->observer.reader_state(*seat) == ReaderState::live;
}

void Moves::give_up(Camera& camera, CameraMove& move, const std::string& why) {
  spdlog::warn("{}: is not moved to worker {}: {}", camera.name(), move.worker, why);
  answer(move, refused(409, "it is not moved: " + why));
  take_frames_where_they_were(camera);
}

void Moves::follow_waiting() {
  std::vector<CameraId> all;
  for (const auto& [id, waiting] : waiting_) all.push_back(id);
  for (const CameraId id : all) {
    Waiting& waiting = waiting_.at(id);
    Camera* const camera = rig_.cameras.find(id);
    const bool is_here = camera != nullptr && camera->name() == waiting.name;
    const bool goes_on =
        is_here && !camera->retiring && !camera->relocation && !camera->source.over && rig_.phase == RunPhase::running;
    const bool runs = goes_on && camera->own().state == CameraState::running;  // and its master is not being restarted
    const bool may_begin = runs && camera->frames().epoch > waiting.epoch && has_ring_in_host_memory(*camera);
    const bool in_time = Clock::now() - waiting.move.begun < longest_move;
    if (goes_on && in_time && !may_begin) continue;
    CameraMove move = std::move(waiting_.extract(id).mapped().move);
    if (!is_here) {
      answer(move, refused(409, "it is not moved: it was removed"));
    } else if (!goes_on) {
      give_up(*camera, move, why_it_ends(rig_, *camera));
    } else if (!may_begin) {
      give_up(*camera, move,
              fmt::format("no key frame came within {} s, from which on its frames could come through host memory",
                          longest_move.count()));
    } else {
      begin_in_host_memory(*camera, std::move(move));
    }
  }
}

void Moves::begin_in_host_memory(Camera& camera, CameraMove move) {
  const std::string why = refusal(camera, move.worker);
  if (!why.empty()) return give_up(camera, move, why);
  try {
    start(camera, move);
  } catch (const std::exception& error) {
    give_up(camera, move, error.what());
  }
}

// Nothing has changed where it throws.
void Moves::start(Camera& camera, CameraMove& move) {
  const CameraNode from = camera.node(move.from);
  ManagedProcess& worker = processes_.worker(move.worker);
  move.page = HandOver::create();
  CameraNode node;
  node.worker = move.worker;
  node.gpu = worker.place.gpu_name;
  node.first_filter = from.first_filter;
  node.tile = from.tile;
  node.joins = from.joins;
  for (const Output& output : camera.outputs) {
    if (output.node == from.id) move.placements[output.id] = placement_at(worker.place, output, rig_.machine.devices);
  }
  for (const CameraEdge& edge : camera.edges) {
    if (!edge.cell && edge.writer == from.id)
      move.memories[edge.id] = cells_.memory_between(camera, node, camera.node(edge.readers.front().node));
  }
  const NodeId to = rig_.cameras.add_node(camera, from.id, std::move(node)).id;
  move.to = to;
  const bool counts_frames = !camera.is_mosaic() && !from.joins;  // else it accounts for them by other numbers
  for_each_input(camera, from, [&](CameraEdge& edge) {
    if (counts_frames) edge.reader(from.id).gives_over = move.page;
    const std::uint64_t published = edge.published();
    const std::uint64_t meant = edge.is_read_by(from.id) ? edge.frames_for(edge.reader(from.id)).meant : 0;
    move.missed[edge.id] = published - std::min(published, meant);
    EdgeReader& reader = edge.readers.emplace_back();
    reader.node = to;
    reader.process = worker.id;
    if (counts_frames) reader.takes_over = move.page;
  });
  spdlog::info("{}: its work is to go over from worker {} to worker {}: {}", camera.name(), from.worker, move.worker,
               move.reason);
  camera.move = std::move(move);
  require_readers(camera);
  rig_.next_status = Clock::now();
  processes_.send_to_node(camera, camera.node(from.id), messages::OfferHandOver(), {camera.move->page->fd()});
  failpoint("supervisor.move_offered", camera.name());
  setup_.send_new_node(camera, camera.node(to));
}

void Moves::follow() {
  follow_waiting();
  follow_arriving();
  for (Camera& camera : rig_.cameras.all()) {
    if (!camera.move || camera.move->cancelled || Clock::now() - camera.move->begun < longest_move) continue;
    const bool ready = camera.move->page->word().state == HandOver::State::ready;
    cancel(camera, ready ? fmt::format("no frame came at which it could go over within {} s", longest_move.count())
                         : fmt::format("worker {} did not get ready for it within {} s", camera.move->worker,
                                       longest_move.count()));
  }
}

// Its node in the other worker sees it, and ends.
void Moves::cancel(Camera& camera, const std::string& why) {
  if (auto waiting = waiting_.extract(camera.id)) give_up(camera, waiting.mapped().move, why);
  if (!camera.move || camera.move->cancelled || !camera.move->page->cancel()) return;
  note_cancelled(camera, why);
  end_cancelled(camera);
}

// Its node says when it is done; where it has no process, nobody does.
void Moves::end_cancelled(Camera& camera) {
  if (!processes_.worker(camera.move->worker).child) drop_new_node(camera);
}

void Moves::note_cancelled(Camera& camera, const std::string& why) {
  CameraMove& move = *camera.move;
  if (std::exchange(move.cancelled, true)) return;
  spdlog::warn("{}: is not moved to worker {}: {}", camera.name(), move.worker, why);
  require_readers(camera);
  answer(move, refused(409, "it is not moved: " + why));
}

void Moves::answer(CameraMove& move, const messages::Answer& answer) {
  if (const pid_t asker = std::exchange(move.asker, 0); asker != 0) answer_(asker, move.request, answer);
}

bool Moves::on_node_done(Camera& camera, const CameraNode& node) {
  if (!camera.move) return false;
  if (node.id == camera.move->from) {
    if (camera.move->is_committed()) {
      complete(camera);
      return true;
    }
    cancel(camera, why_it_ends(rig_, camera));
    return false;
  }
  if (node.id != camera.move->to) return false;
  note_cancelled(camera,
                 why_it_ends(rig_, camera));  // unless there was another reason: the old node may still be at work
  drop_new_node(camera);
  return true;
}

void Moves::on_worker_death(unsigned worker) {
  for (Camera& camera : rig_.cameras.all()) {
    if (!camera.move) continue;
    if (camera.move->worker == worker) {
      on_death_of_new(camera);
    } else if (camera.node(camera.move->from).worker == worker) {
      on_death_of_old(camera);
    }
  }
}

// What it had passed, and is in no packet ring, died with it.
void Moves::on_death_of_old(Camera& camera) {
  const CameraNode& old_node = camera.node(camera.move->from);
  if (old_node.done) return;
  if (!camera.move->page->decide_for_dead(newest_frame(camera, old_node, rig_.page))) {
    note_cancelled(camera, "its worker died before its work could go over");
    return end_cancelled(camera);
  }
  camera.move->from_died = true;
  for (Output& output : camera.outputs) {
    const bool is_its = !output.is_copy() && output.node == old_node.id;
    if (is_its && output.packets.newest) output.packets.newest->mark_writer_gone();
  }
  for (CameraEdge& edge : camera.edges) {
    if (edge.writer == old_node.id && edge.newest) edge.newest->observer.mark_writer_gone();
  }
  // With others of its nodes there, it is counted with those.
  const auto in_worker = std::ranges::count(camera.nodes, old_node.worker, &CameraNode::worker);
  if (in_worker == 1) ++camera.counted[Counter::worker_restarts];
  complete(camera);
}

void Moves::on_death_of_new(Camera& camera) {
  if (!camera.move->page->cancel()) {
    camera.move->to_died = true;  // the rest is as for any node
    return;
  }
  note_cancelled(camera, "that worker died");
  drop_new_node(camera);
}

// Of one that died, the ring may have taken back frames that were the other one's already.
void Moves::correct_recalled(Camera& camera, const CameraNode& from) {
  CameraEdge& edge = *camera.edges_to(from).front();
  EdgeReader& reader = edge.reader(from.id);
  const ReaderFrames came = edge.frames_for(reader);
  const std::uint64_t accounted = accounted_at(camera, from, rig_.page);
  const std::uint64_t taken = came.meant - came.recalled;
  if (taken < accounted) reader.not_recalled = accounted - taken;
}

// The old node is done, or its process is gone: what came before the boundary is encoded, dropped, or lost with it.
void Moves::complete(Camera& camera) {
  CameraMove move = std::move(*camera.move);
  const CameraNode from = camera.node(move.from);
  const CameraNode& to = camera.node(move.to);
  const std::uint64_t boundary = *move.page->boundary();
  if (camera.is_mosaic()) {
    // Tick k is frame k + 1. One that died may not have noted its last ones, or one that was to be the other one's.
    rig_.page.node(from.id, from.process()).clock.ticks = boundary - std::min<std::uint64_t>(boundary, 1);
  } else if (!from.joins) {
    correct_recalled(camera, from);
  }
  if (!from.joins) settle_lost(camera, from, rig_.page);  // what a join had in hands, its successor accounts for
  rig_.page.move(from.id, from.process(), to.id, to.process());
  for_each_input(camera, from, [&](CameraEdge& edge) {
    if (!edge.is_read_by(from.id) || !edge.is_read_by(to.id)) return;
    rig_.page.move(edge.id, from.process(), to.process());
    if (camera.is_mosaic() || from.joins) return keep_counts(move, edge);
    const ReaderFrames before = edge.frames_for(edge.reader(from.id));
    edge.reader(to.id).meant += before.meant;
    edge.reader(to.id).recalled += before.recalled;
  });
  messages::GoOn go_on{to.id, {}, {}, move.from_died};
  for (Output& output : camera.outputs) {
    if (output.node != from.id) continue;
    output.node = to.id;  // of a copy: where the camera is shown to be
    if (output.is_copy()) continue;
    rig_.page.move(output.id, from.process(), to.process());
    output.placement = move.placements.at(output.id);
    output.keep_newest();
    go_on.outputs.push_back({output.id, output.packets.epoch + 1, output.packets_published(),
                             output.state == CameraState::failed, output.newest_set});
  }
  take_edges(camera, move, go_on);
  Arriving arriving{camera.name(), {}, {}};
  for (const messages::GoOn::Edge& edge : go_on.edges) {
    arriving.edges.push_back(edge.edge);
    arriving.epochs += edge.epoch;
  }
  move.page->forget_fd();
  camera.move.reset();
  ++camera.counted[Counter::moves];
  camera.last_move = {.from = from.worker, .to = move.worker, .reason = move.reason, .by_user = move.by_user};
  cells_.go_over(camera, from, camera.node(move.to));
  remove_node(camera, from.id, from.worker);
  failpoint("supervisor.move_complete", camera.name());
  if (move.to_died) {
    if (camera.is_mosaic()) settle_lost(camera, camera.node(move.to), rig_.page);
    for (CameraEdge* const edge : camera.edges_to(camera.node(move.to))) edge->reader(move.to).unsettled = true;
    setup_.send_new_node(camera, camera.node(move.to));
  } else {
    processes_.send_to_node(camera, camera.node(move.to), std::move(go_on));
  }
  spdlog::info("{}: is on worker {} from frame {} on", camera.name(), move.worker, boundary);
  take_frames_where_they_were(camera);
  arriving.move = std::move(move);
  arriving_.push_back(std::move(arriving));
  follow_arriving();
}

// Who reads what a move's node writes is there.
void Moves::follow_arriving() {
  const auto has_come = [&](const Arriving& arriving) {
    const Camera* const camera = rig_.cameras.find(arriving.name);
    if (camera == nullptr || Clock::now() - arriving.begun > longest_arrival) return true;
    std::uint64_t epochs = 0;
    bool is_read = true;
    for (const CameraEdge& edge : camera->edges) {
      if (std::ranges::find(arriving.edges, edge.id) == arriving.edges.end()) continue;
      epochs += edge.epoch;
      const auto& seat = edge.readers.front().seat;
      is_read = is_read && edge.newest && seat && edge.newest->observer.reader_state(*seat) == ReaderState::live;
    }
    return epochs >= arriving.epochs && is_read;
  };
  arriving_.remove_if([&](Arriving& arriving) {
    if (!has_come(arriving)) return false;
    answer(arriving.move, moved_answer(arriving.move.worker));
    return true;
  });
}

// Where readers are not counted by frames: what the new node has rehearsed was not for it.
void Moves::keep_counts(const CameraMove& move, CameraEdge& edge) {
  const std::uint64_t published = edge.published();
  const ReaderFrames before = edge.frames_for(edge.reader(move.from));
  EdgeReader& to = edge.reader(move.to);
  const ReaderFrames now = edge.frames_for(to);
  const std::uint64_t meant = published - std::min(published, move.missed.at(edge.id));
  to.meant += meant - std::min(meant, now.meant);
  to.not_recalled = now.recalled;
  to.recalled += before.recalled;
}

// The other one has closed its rings to those behind it.
void Moves::take_edges(Camera& camera, const CameraMove& move, messages::GoOn& go_on) {
  const CameraNode& from = camera.node(move.from);
  for (CameraEdge& edge : camera.edges) {
    if (edge.cell || edge.writer != from.id) continue;
    rig_.page.move_written(edge.id, from.process(), camera.node(move.to).process());
    edge.writer = move.to;
    edge.memory = move.memories.at(edge.id);
    go_on.edges.push_back({edge.id, edge.epoch + 1, edge.published(), edge.failed});
  }
}

void Moves::drop_new_node(Camera& camera) {
  const CameraMove move = std::move(*camera.move);
  camera.move.reset();
  for (CameraEdge* const edge : camera.edges_to(camera.node(move.from))) edge->reader(move.from).gives_over.reset();
  const CameraNode to = camera.node(move.to);
  rig_.page.clear(to.id, to.process());
  remove_node(camera, move.to, move.worker);
  take_frames_where_they_were(camera);
}

void Moves::remove_node(Camera& camera, NodeId node, unsigned worker) {
  processes_.send(processes_.worker(worker), messages::ForgetNode{{node}});
  for_each_input(camera, camera.node(node), [node](CameraEdge& edge) {
    if (edge.is_read_by(node)) edge.remove_reader(node);
  });
  rig_.cameras.remove_node(camera, node);
  require_readers(camera);
}

void Moves::require_readers(Camera& camera) {
  for (CameraEdge& edge : camera.edges) camera.require_readers(edge);
}

void Moves::end_all() {
  for (Camera& camera : rig_.cameras.all()) {
    if (!camera.move) continue;
    const CameraNode& old_node = camera.node(camera.move->from);
    if (camera.move->page->decide_for_dead(newest_frame(camera, old_node, rig_.page))) {
      complete(camera);
    } else {
      drop_new_node(camera);
    }
  }
}

}  // namespace campipe
