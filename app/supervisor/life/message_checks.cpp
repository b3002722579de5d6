#include "app/supervisor/life/message_checks.h"

#include <algorithm>

#include "app/config/camera_config.h"
#include "app/control/messages/cameras.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/from_master.h"
#include "app/control/messages/from_publisher.h"
#include "app/control/messages/from_source.h"
#include "app/control/messages/from_worker.h"
#include "app/control/messages/links.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/messages/requests.h"
#include "app/supervisor/processes/processes.h"
#include "app/supervisor/rig/accounting.h"
#include "core/orientation.h"
#include "ipc/ring_checks.h"
#include "stages/sources/source_end.h"

namespace campipe {
namespace {

constexpr double highest_rate = 10'000;  // frames a second
constexpr std::size_t longest_text = 1024;
constexpr std::size_t longest_path = 4096;
constexpr auto ring_opened = std::chrono::seconds(30);  // by then, also by a process that has just started

void require(bool holds, const std::string& what) {
  if (!holds) throw BadMessage(what);
}

void require_rate(double rate) {
  require(rate >= 0 && rate <= highest_rate, "a ring with a frame rate that cannot be");
}

void require_rotation(int degrees) { require(is_orientation(degrees), "a ring with a rotation that cannot be"); }

// Rings are numbered without gaps: a number that jumps would leave the successors none.
void require_next(std::uint64_t epoch, std::uint64_t newest) {
  require(epoch != 0 && epoch == newest + 1, "a ring that does not follow the newest one");
}

void require_given(const RingsSent& rings) {
  const bool given = rings.number > 0 && Clock::now() - rings.newest < ring_opened;
  require(given, "that a ring is lost, though it was given none just now");
}

// A process that fails or is confused must not end cameras: its word counts only where nothing more can come.
void require_over(bool is_over, const std::string& name) {
  require(is_over, "that it is done with " + name + ", which has not ended");
}

void shorten_texts(nlohmann::json& body, std::size_t most) {
  if (body.is_string()) {
    auto& text = body.get_ref<std::string&>();
    if (text.size() > most) text.resize(most);
  } else if (body.is_structured()) {
    for (nlohmann::json& part : body) shorten_texts(part, most);
  }
}

}  // namespace

void require_own(const AboutCamera& about) {
  require(!about.camera.is_mosaic(), "something for a mosaic");
  const bool own = about.by.kind != ProcessKind::master || about.camera.decoding.process == about.by.id;
  require(own, "something for a camera that another master decodes");
}

void require_own(const AboutNode& about) {
  require(about.node.process() == about.by.id, "something for a node of another worker");
}

bool takes_over(const Camera& camera, ProcessId process) {
  return camera.move && camera.move->is_committed() && worker_process(camera.move->worker) == process;
}

// Who takes over may find that it fails before the other one is done. Who wrote it before, and was asked to end it, may
// answer when its work has just gone over.
void require_own(const AboutEdge& about) {
  const auto& move = about.camera.move;
  const bool is_to_write = move && about.edge.writer == move->from && takes_over(about.camera, about.by.id);
  require(is_to_write || about.edge.ended || about.camera.writer_of(about.edge) == about.by.id,
          "something for an edge that another process writes");
}

// Likewise.
void require_own(const AboutOutput& about) {
  const bool own = about.by.kind != ProcessKind::worker ||
                   (!about.output.is_copy() && (takes_over(about.camera, about.by.id) ||
                                                about.camera.encoder_of(about.output).process() == about.by.id));
  require(own, "something for an output of another worker");
}

void require_possible(const AboutEdge& about, const messages::FrameRing& ring) {
  require(about.camera.writer_of(about.edge) == about.by.id, "frames of an edge that it has not taken over");
  require_possible(about.edge, ring);
}

void require_possible(const CameraEdge& edge, const messages::FrameRing& ring) {
  require_next(ring.epoch, edge.epoch);
  require_rate(ring.frame_rate);
  require_rotation(ring.rotation);
}

void require_possible(const AboutOutput& about, const messages::PacketRing& ring) {
  const bool encodes =
      about.by.kind != ProcessKind::worker || about.camera.encoder_of(about.output).process() == about.by.id;
  require(encodes, "packets of an output that it has not taken over");
  require(about.output.is_copy() == (about.by.kind == ProcessKind::source), "packets that another process makes");
  require_next(ring.epoch, about.output.packets.epoch);
  require(is_possible(ring.stream.format, false), "packets of a format that cannot be");
  require_rate(ring.stream.frame_rate);
  require_rotation(ring.stream.rotation);
}

void require_possible(const AboutOutput& about, const messages::AudioRing& ring) {
  require_next(ring.epoch, about.output.audio.epoch);
}

void require_possible(const AboutCamera& about, const messages::SourceRing& ring) {
  require_next(ring.epoch, about.camera.source.packets.epoch);
}

// Decoding ends with the packets, or fails.
void require_possible(const AboutCamera& about, const messages::DecodingOver& over) {
  const Camera& camera = about.camera;
  const bool asked = about.rig.phase != RunPhase::running || camera.retiring || camera.all_failed();
  require(!over.failure.empty() || asked || camera.source.over,
          "the end of " + camera.name() + ", which is still read");
}

void require_possible(const AboutCamera& about, const messages::DecodingLeft&) {
  const Camera& camera = about.camera;
  require(camera.relocation && !camera.decoding.gone,
          "that it has left " + camera.name() + ", which it was not asked to");
}

void require_possible(const AboutCamera&, const messages::FoundStream& found) {
  require(is_possible(found.sends), "a source's stream that cannot be");
}

void require_possible(const AboutCamera&, const messages::OpenedStream& opened) {
  require(is_possible(opened.stream), "a source's stream that cannot be");
}

// A source ends when it is asked to, fails, or has an end and is there. A failure is accepted: it is reported, and
// the rig's exit status shows it.
void require_possible(const AboutCamera& about, const messages::SourceOver& over) {
  const Camera& camera = about.camera;
  const bool asked = about.rig.phase != RunPhase::running || camera.retiring || camera.all_failed();
  const bool ended = over.at_end && can_end(camera.config->source);
  require(!over.failure.empty() || asked || ended, "the end of " + camera.name() + ", whose source has no end");
}

void require_possible(const AboutOutput& about, const messages::PushChanged& push) {
  const Output& output = about.output;
  const bool known = output.push.contains(push.url) || output.push.size() < output.config.push.size();
  require(known, "the state of more targets than there are");
}

void require_possible(const AboutNode& about, const messages::FrameRingLost& lost) {
  const Camera* const camera = about.rig.cameras.find(lost.edge);
  const EdgeReader* reader = nullptr;
  if (camera != nullptr) {
    const auto& readers = camera->edge(lost.edge).readers;
    const auto found = std::ranges::find(readers, about.node.id, &EdgeReader::node);
    if (found != readers.end()) reader = &*found;
  }
  // A cell's edge ends without its mosaic.
  require(reader != nullptr || about.camera.is_mosaic(), "that a ring of an edge is lost that it does not read");
  if (reader != nullptr) require_given(reader->sent);
}

void require_possible(const AboutOutput& about, const messages::RingLost&) {
  require_given(about.output.publisher.rings_sent);
}

// Of a move: one has left its frames to the other one, or that ends because it was cancelled.
void require_possible(const AboutNode& about, const messages::NodeDone&) {
  if (const auto& move = about.camera.move) {
    const std::optional<std::uint64_t> boundary = move->page->boundary();
    const bool may_leave = boundary && *boundary <= newest_frame(about.camera, about.node, about.rig.page) + 1;
    if (about.node.id == move->from && may_leave) return;
    if (about.node.id == move->to)
      return require(move->page->is_cancelled(),
                     "that it is done with " + about.camera.name() + ", which it takes over");
  }
  if (!about.node.done) require_over(about.camera.input_is_over(about.node), about.camera.name());
}

void require_possible(const AboutEdge& about, const messages::EdgeDone&) {
  require(about.edge.ending, "that an edge is done with that it was to write");
}

void require_possible(const AboutEdge& about, const messages::LinkListens& listens) {
  const bool comes_back = about.edge.writer && !about.camera.node(*about.edge.writer).remote.empty();
  require((about.edge.is_received() || comes_back) && listens.port > 0 && listens.port <= 65'535,
          "a port that cannot be");
}

void require_possible(const AboutOutput& about, const messages::OutputDone&) {
  const Output& output = about.output;
  if (!has_work(about.by, about.camera, output)) return;
  require_over(output.packets_over || about.rig.files_closed, output.config.name);
}

void shorten_texts(Message& message) {
  if (messages::is_put(message.type)) return;
  shorten_texts(message.body, message.type == messages::FileBegun::type ? longest_path : longest_text);
}

}  // namespace campipe
