#include "app/supervisor/rig/camera.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "app/config/camera_config.h"
#include "app/rings/cell_queue.h"

namespace campipe {
namespace {

// Whoever asks for one that is not there has a fault; each step of the supervisor is guarded against that.
template <typename Parts, typename Id>
auto& part_of(Parts& parts, Id wanted) {
  const auto found = std::ranges::find(parts, wanted, [](const auto& part) { return part.id; });
  if (found == parts.end()) throw std::logic_error("a camera has no such part");
  return *found;
}

}  // namespace

const char* name_of(CameraState state) {
  switch (state) {
    case CameraState::starting:
      return "starting";
    case CameraState::running:
      return "running";
    case CameraState::waiting:
      return "waiting";
    case CameraState::ended:
      return "ended";
    case CameraState::failed:
      return "failed";
    case CameraState::disabled:
      return "disabled";
  }
  return "";
}

Camera::Camera() = default;

const CameraNode& Camera::node(NodeId wanted) const { return part_of(nodes, wanted); }

CameraNode& Camera::node(NodeId wanted) { return part_of(nodes, wanted); }

const CameraEdge& Camera::edge(EdgeId wanted) const { return part_of(edges, wanted); }

CameraEdge& Camera::edge(EdgeId wanted) { return part_of(edges, wanted); }

std::vector<CameraEdge*> Camera::edges_to(const CameraNode& node) {
  std::vector<CameraEdge*> inputs;
  if (is_mosaic()) return inputs;
  for (CameraEdge& edge : edges) {
    if (edge.is_read_by(node.id)) inputs.push_back(&edge);
  }
  return inputs;
}

std::vector<const CameraEdge*> Camera::edges_to(const CameraNode& node) const {
  const auto inputs = const_cast<Camera&>(*this).edges_to(node);
  return {inputs.begin(), inputs.end()};
}

bool Camera::needs(const Output& output, const CameraEdge& edge) const {
  if (edge.is_read_by(output.node)) return true;
  const auto path = path_of(output);
  return std::ranges::find(path, &edge, &Hop::edge) != path.end();
}

std::vector<Camera::Hop> Camera::path_of(const Output& output) const {
  std::vector<Hop> path;
  if (is_mosaic()) return path;
  for (NodeId at = output.node;;) {
    if (node(at).joins) {
      path.insert(path.begin(), {&frames(), nullptr});
      return path;
    }
    const CameraEdge& edge = *edges_to(node(at)).front();
    path.insert(path.begin(), {&edge, &edge.reader(at)});
    if (!edge.writer) return path;
    at = *edge.writer;
  }
}

ProcessId Camera::writer_of(const CameraEdge& edge) const {
  if (edge.is_received()) return link_process;
  return edge.writer ? node(*edge.writer).process() : decoding.process;
}

bool Camera::is_over(const CameraEdge& edge) const {
  if (edge.writer) return node(*edge.writer).done;
  return decoding.over || (relocation && decoding.gone);  // the next ring is for other nodes
}

bool Camera::input_is_over(const CameraNode& node) const {
  if (is_mosaic()) return source.over;
  return std::ranges::all_of(edges_to(node), [this](const CameraEdge* edge) { return is_over(*edge); });
}

CopiedUntil Output::copied_until() const {
  CopiedUntil until = copied;
  const auto heard = audio.newest ? audio.newest->last_dts() : std::nullopt;
  if (heard) until.audio = std::max(heard, until.audio);
  if (!is_copy() || !packets.newest) return until;
  if (const auto dts = packets.newest->last_dts()) until.dts = dts;
  if (const auto end = packets.newest->shown_until()) until.shown_until = std::max(end, until.shown_until);
  return until;
}

void Output::keep_newest() {
  copied = copied_until();
  const auto frame = config.group && packets.newest ? packets.newest->newest() : std::nullopt;
  if (frame && frame->set_state == SetState::own) newest_set = messages::NewestSet{frame->set, frame->pts};
}

std::vector<const CameraNode*> Camera::planned_nodes() const {
  std::vector<const CameraNode*> planned;
  for (const CameraNode& node : nodes) {
    if (!move || node.id != move->to) planned.push_back(&node);
  }
  return planned;
}

void Camera::require_readers(CameraEdge& edge) const {
  if (!edge.newest || edge.cell) return;
  FrameRingObserver& ring = edge.newest->observer;
  std::uint32_t at_work = 0;
  std::uint32_t awaited = 0;
  bool tiled = false;
  for (const EdgeReader& reader : edge.readers) {
    const CameraNode& its = node(reader.node);
    const auto seat = reader.place();  // who is away is waited for
    if (!seat || its.done || (move && its.id == move->to)) continue;
    at_work |= 1U << *seat;
    if (!move || move->cancelled || its.id != move->from) awaited |= 1U << *seat;
    tiled = tiled || its.tile;
  }
  if (tiled) ring.keep_together(at_work);
  if (config->drop_policy == DropPolicy::block) ring.require(awaited);
}

bool Camera::is_held_back(NodeId node) const {
  if (!move) return false;
  // It ends as soon as it sees that. A frame ring that it came to before the other node did would begin with frames
  // that are for it alone, and lost.
  if (node == move->to && move->page->is_cancelled()) return true;
  if (!move->is_committed()) return false;
  return node == move->from || (node == move->to && move->to_died);
}

bool Camera::is_decoded() const {
  if (is_mosaic() || decoding.given_up) return false;
  const auto needs_frames = [](const Output& output) {
    if (output.is_copy()) return !output.config.filters.empty();
    return !output.config.on_demand || output.state != CameraState::failed;
  };
  return shown || std::ranges::any_of(outputs, needs_frames);
}

bool Camera::nodes_done() const { return std::ranges::all_of(nodes, &CameraNode::done); }

std::optional<std::int64_t> CameraEdge::newest_pts() const {
  const auto pts = newest ? newest->observer.last_pts() : std::nullopt;
  return pts ? pts : last_pts;
}

// The master, too, writes to that ring: what it makes of it must not bring the numbers to their end.
void CameraSource::keep_next_packet() {
  constexpr std::int64_t most = 1'000'000'000;
  const auto newest = packets.newest ? packets.newest->last_dts() : std::nullopt;
  if (newest && *newest >= next_packet && *newest - next_packet < most) next_packet = *newest + 1;
}

void CameraEdge::keep_newest() {
  if (!newest) return;
  if (const auto pts = newest->observer.last_pts()) last_pts = pts;
  if (const auto packet = newest->observer.last_packet()) last_packet = packet;
}

bool CameraEdge::is_read_by(NodeId node) const {
  return std::ranges::find(readers, node, &EdgeReader::node) != readers.end();
}

const EdgeReader& CameraEdge::reader(NodeId node) const { return *std::ranges::find(readers, node, &EdgeReader::node); }

EdgeReader& CameraEdge::reader(NodeId node) { return *std::ranges::find(readers, node, &EdgeReader::node); }

ReaderFrames CameraEdge::frames_for(const EdgeReader& reader) const {
  ReaderFrames frames{reader.meant, reader.recalled};
  if (!reader.seat || !newest) return frames;
  const SeatFrames now = newest->observer.frames_of(*reader.seat);
  if (now.tenure == reader.tenure || now.first == 0) return frames;  // the writer has not seen it yet
  const std::uint64_t first = newest->observer.base() + now.first;
  std::uint64_t begin = first;
  std::uint64_t end = first + now.meant();
  std::uint64_t recalled = std::min(now.recalled, now.meant());
  if (const auto boundary = reader.gives_over ? reader.gives_over->boundary() : std::nullopt) {
    // Also those that were published after its death. What it has not taken was recalled.
    end = std::clamp(*boundary, first, std::max(first, newest->observer.published() + 1));
    const auto taken = reader.gives_over->taken_by_old();
    recalled = taken ? end - first - std::min(end - first, *taken) : std::min(recalled, end - first);
  }
  if (reader.takes_over) {
    const auto boundary = reader.takes_over->boundary();
    if (!boundary) return frames;  // they are another one's
    begin = std::clamp(*boundary, first, end);
    const std::uint64_t before = begin - first;  // which it has rehearsed, or they were recalled
    recalled -= std::min(recalled, before - std::min(before, reader.takes_over->taken_by_new()));
  }
  frames.meant += end - begin;
  frames.recalled += std::min(recalled - std::min(recalled, reader.not_recalled), end - begin);
  return frames;
}

ReaderFrames CameraEdge::frames_from(const EdgeReader& reader) const {
  ReaderFrames frames = frames_for(reader);
  if (!reader.gives_over) return frames;
  for (const EdgeReader& other : readers) {
    if (other.takes_over != reader.gives_over) continue;
    const ReaderFrames its = frames_for(other);
    frames.meant += its.meant;
    frames.recalled += its.recalled;
  }
  return frames;
}

void CameraEdge::remove_reader(NodeId node) {
  const EdgeReader& gone = reader(node);
  if (newest && gone.seat) {
    const ReaderState state = newest->observer.reader_state(*gone.seat);
    const bool sits = state == ReaderState::reserved || state == ReaderState::live;
    if (sits) newest->observer.mark_reader_gone(*gone.seat);
  }
  std::erase_if(readers, [node](const EdgeReader& one) { return one.node == node; });
}

DropPolicy CameraEdge::drop_policy(const CameraConfig& camera) const {
  return cell ? DropPolicy::drop : frame_policy(camera);
}

unsigned CameraEdge::queue_size(const CameraConfig& camera) const {
  return cell ? cell_queue_size : static_cast<unsigned>(camera.queue_size);
}

void CameraEdge::end_seat(EdgeReader& reader) const {
  const ReaderFrames frames = frames_for(reader);
  reader.meant = frames.meant;
  reader.recalled = frames.recalled;
  if (!reader.seat) return;
  reader.left = std::exchange(reader.seat, std::nullopt);
  reader.not_recalled = 0;
}

bool CameraEdge::take_seat(EdgeReader& reader) {
  reader.left.reset();
  reader.seat = newest->observer.reserve(seats());
  if (reader.seat) reader.tenure = newest->observer.frames_of(*reader.seat).tenure;
  return reader.seat.has_value();
}

std::uint32_t CameraEdge::seats() const {
  std::uint32_t seats = 0;
  for (const EdgeReader& reader : readers) {
    if (const auto seat = reader.place()) seats |= 1U << *seat;
  }
  return seats;
}

bool Camera::all_failed() const {
  return std::ranges::all_of(outputs, [](const Output& output) { return output.state == CameraState::failed; });
}

bool Camera::all_encoded_failed() const {
  return !shown && std::ranges::all_of(outputs, [](const Output& output) {
    return output.is_copy() || output.state == CameraState::failed;
  });
}

bool Camera::is_mosaic() const { return config->mosaic.has_value(); }
const std::string& Camera::name() const { return config->name; }
bool Camera::runs_as(const CameraConfig& wanted) const {
  return !retiring && *asked == wanted && own().state != CameraState::failed;
}

}  // namespace campipe
