#include "app/master.h"

#include <map>
#include <memory>

#include "app/child.h"
#include "app/ingest.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

class Master {
 public:
  int run() {
    return child_.run(
        {[this](Message& message) { handle(message); }, [this] { stop_all(); }, [this] { return tick(); }});
  }

 private:
  void handle(const Message& message) {
    if (message.type == "camera") {
      start_camera(message.body);
    } else if (message.type == "stop_camera") {
      if (const auto found = cameras_.find(message.body.at("camera")); found != cameras_.end()) found->second->stop();
    } else if (message.type == "drain") {
      stop_all();
    } else if (message.type == "leave") {
      leave_ = true;
    } else {
      throw Error("the master does not know the message '" + message.type + "'");
    }
  }

  void start_camera(const nlohmann::json& body) {
    Ingest::Start start;
    start.camera = body.at("camera");
    start.config = camera_from_json(body.at("config"));
    start.epoch = body.at("epoch");
    start.base = body.at("base");
    if (const auto& resume = body.at("resume"); !resume.is_null()) start.resume = resume.get<std::int64_t>();
    const unsigned camera = start.camera;
    auto epoch = std::make_shared<std::uint64_t>(start.epoch);  // grows with every ring; only the ingest thread uses it
    Ingest::Events events;
    events.on_ring = [this, camera, epoch](const FrameRingMemory& ring, const SourceStream& stream) {
      child_.send(
          "frame_ring",
          {{"camera", camera}, {"epoch", (*epoch)++}, {"frame_rate", stream.frame_rate}, {"decoder", stream.decoder}},
          {ring.control_fd(), ring.pixel_fd()});
    };
    events.on_over = [this, camera](const std::string& failure) {
      child_.send("source_over", {{"camera", camera}, {"failure", failure}});
    };
    cameras_[camera] = std::make_unique<Ingest>(start, child_.page(), events);
  }

  void stop_all() {
    for (auto& [camera, ingest] : cameras_) ingest->stop();
  }

  // An abandoned master has closed its rings once its threads have ended.
  bool tick() {
    bool all_over = true;
    for (auto& [camera, ingest] : cameras_) {
      ingest->service();
      all_over = all_over && ingest->over();
    }
    return leave_ || (child_.abandoned() && all_over);
  }

  Child child_;
  std::map<unsigned, std::unique_ptr<Ingest>> cameras_;
  bool leave_ = false;
};

}  // namespace

int run_master() { return Master().run(); }

}  // namespace campipe
