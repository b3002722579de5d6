#include "tests/sim/wrong_messages.h"

#include <nlohmann/json.hpp>

#include "app/control/json_fields.h"
#include "app/control/messages/cameras.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/from_master.h"
#include "app/control/messages/from_publisher.h"
#include "app/control/messages/from_source.h"
#include "app/control/messages/from_worker.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/messages/requests.h"
#include "app/control/stream_json.h"
#include "tests/sim/checks.h"
#include "tests/sim/child.h"
#include "tests/sim/machine.h"

namespace campipe::sim {
namespace {

struct Body {
  std::string type;
  nlohmann::json json;
  std::size_t descriptors = 0;
};

struct Table {
  std::vector<WrongMessage> messages;
  std::vector<Body> bodies;

  template <typename M>
  void add(const std::string& title, Part sender, const M& message, const std::string& reason,
           std::size_t descriptors = 0) {
    messages.push_back({title, sender, reason});
    bodies.push_back({std::string(M::type), write_json(message), descriptors});
  }
};

constexpr const char* not_its_own = "which is not for this process";
constexpr const char* no_stream = "a source's stream that cannot be";
const SentStream hevc{"hevc", "yuv420p", 0, false};

void add_sources(Table& table) {
  constexpr Part source = Part::source;
  const CameraId camera(0);
  table.add("requests", source, messages::RemoveCamera{1, "gate", false}, not_its_own);
  table.add("decodes", source, messages::FrameRing{EdgeId(0), 2, 25, 0, "", {}}, not_its_own, 2);
  table.add("encodes", source, messages::PacketRing{OutputId(0), 2, {}}, "packets that another process makes", 1);
  table.add("has a ring that jumps", source, messages::SourceRing{camera, 9, 0, false}, "does not follow", 1);
  table.add("has no such camera", source, messages::SourceOver{CameraId(4096), "", false}, "for camera 4096");
  table.add("sees no stream", source, messages::FoundStream{camera, {"a\nb", "", 0, false}}, no_stream);
  table.add("opens an endless stream", source, messages::OpenedStream{camera, {"h264", 1 << 20, 100, 25}}, no_stream);
  table.add("opens a stream of no rate", source, messages::OpenedStream{camera, {"h264", 100, 100, -1}}, no_stream);
  table.add("opens a stream of no codec", source, messages::OpenedStream{camera, {"h\n264", 100, 100, 25}}, no_stream);
  table.add("gives up", source, messages::SourceOver{camera, "", false}, "whose source has no end");
  table.add("has an end of no end", source, messages::SourceOver{camera, "", true}, "whose source has no end");
}

void add_masters(Table& table) {
  constexpr Part master = Part::master;
  const CameraId camera(0);
  table.add("requests", master, messages::RemoveCamera{1, "gate", false}, not_its_own);
  table.add("publishes", master, messages::NodeDone{{NodeId(0)}}, not_its_own);
  table.add("encodes", master, messages::PacketRing{OutputId(0), 2, {}}, not_its_own, 1);
  table.add("reads", master, messages::SourceRing{camera, 2, 0, false}, not_its_own, 1);
  table.add("connects", master, messages::SourceState{camera, false, "away"}, not_its_own);
  table.add("stops decoding", master, messages::DecodingOver{camera, ""}, "which is still read");
  table.add("leaves", master, messages::DecodingLeft{{camera}}, "which it was not asked to");
  table.add("has too many descriptors", master, messages::FrameRing(), "with 3 descriptors", 3);
  table.add("tilts", master, messages::FrameRing{EdgeId(0), 2, 25, 45, "", {}}, "a rotation that cannot be", 2);
  table.add("has a ring that jumps", master, messages::FrameRing{EdgeId(0), 9, 25, 0, "", {}}, "does not follow", 2);
}

void add_workers(Table& table) {
  constexpr Part worker = Part::worker;
  table.add("has no such output", worker, messages::OutputFailed{{OutputId(4096), ""}}, "for output 4096");
  table.add("sees a stream", worker, messages::FoundStream{CameraId(0), hevc}, not_its_own);
  table.add("opens a stream", worker, messages::OpenedStream{CameraId(0), {"h264", 100, 100, 25}}, not_its_own);
  table.add("moves", worker, messages::MoveCamera{1, "gate", 1, {}}, not_its_own);
  table.add("requests", worker, messages::Reload{1}, not_its_own);
  table.add("gives up", worker, messages::NodeDone{{NodeId(0)}}, "which has not ended");
}

void add_publishers(Table& table) {
  constexpr Part publisher = Part::publisher;
  table.add("is not ready", publisher, messages::NotReady{NodeId(0), ""}, not_its_own);
  table.add("gives up", publisher, messages::OutputDone{{OutputId(0)}}, "which has not ended");
  table.add("has many targets", publisher, messages::PushChanged{OutputId(0), "rtmp://nowhere", "failed", "", ""},
            "more targets than there are");
  table.add("decodes", publisher, messages::SourceOver{CameraId(0), "none", false}, not_its_own);
  table.messages.push_back({"has no such word", publisher, not_its_own});
  table.bodies.push_back({"no such message", {{"camera", 0}}});
  table.messages.push_back({"has no such field", publisher, "output must be an integer that fits"});
  table.bodies.push_back({"file", {{"output", "first"}, {"path", "x"}}});
}

const Table& table() {
  static const Table all = [] {
    Table made;
    add_sources(made);
    add_masters(made);
    add_workers(made);
    add_publishers(made);
    return made;
  }();
  return all;
}

}  // namespace

const std::vector<WrongMessage>& wrong_messages() { return table().messages; }

void send_wrong_message(Child& child, std::uint64_t detail) {
  const Body& body = table().bodies.at(detail - first_wrong_message);
  child.machine().checks().on_lie();
  child.send(body.type, body.json, std::vector<int>(body.descriptors, child.page().shared_fd()));
}

}  // namespace campipe::sim
