#include "app/worker.h"

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "app/camera_stage.h"
#include "app/child.h"
#include "app/stream_json.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

class Worker {
 public:
  int run() {
    return child_.run(
        {[this](Message& message) { handle(message); }, [this] { abandon_all(); }, [this] { return tick(); }});
  }

 private:
  void handle(Message& message) {
    const nlohmann::json& body = message.body;
    if (message.type == "camera") {
      start_camera(body);
    } else if (message.type == "start") {
      if (body.at("phase") == 0) barrier_.arrive(participant_, 0);  // a successor finds the rig running
      started_ = true;
    } else if (message.type == "frame_ring") {
      if (message.fds.size() != 2) throw Error("a frame ring without its two descriptors");
      auto memory =
          FrameRingMemory::open(std::move(message.fds[0]), std::move(message.fds[1]), FrameRingMemory::Role::reader);
      cameras_.at(body.at("camera"))->add({std::move(memory), body.at("reader"), body.at("frame_rate")});
    } else if (message.type == "camera_over") {
      cameras_.at(body.at("camera"))->finish();
    } else {
      throw Error("a worker does not know the message '" + message.type + "'");
    }
  }

  void start_camera(const nlohmann::json& body) {
    CameraStage::Start start;
    start.camera = body.at("camera");
    start.config = camera_from_json(body.at("config"));
    start.epoch = body.at("epoch");
    start.base = body.at("base");
    const unsigned camera = start.camera;
    CameraStage::Events events;
    events.on_packets = [this, camera](const PacketRingMemory& ring, std::uint64_t epoch,
                                       const StreamParameters& parameters) {
      child_.send("packet_ring", {{"camera", camera}, {"epoch", epoch}, {"stream", to_json(parameters)}}, {ring.fd()});
    };
    events.on_failed = [this, camera](const std::string& reason) {
      child_.send("camera_failed", {{"camera", camera}, {"reason", reason}});
    };
    events.on_done = [this, camera] {
      child_.send("camera_done", {{"camera", camera}});
      ++done_;
      child_.wake();
    };
    cameras_[camera] = std::make_unique<CameraStage>(start, child_.page(), events);
  }

  void abandon_all() {
    for (auto& [camera, stage] : cameras_) stage->finish();
    abandoned_at_ = Clock::now();
  }

  bool tick() {
    const bool all_done = done_ == cameras_.size();
    if (child_.abandoned()) {
      // The master closes its rings within two seconds; what has not ended by then is not waited for.
      if (Clock::now() > abandoned_at_ + std::chrono::milliseconds(2500)) {
        for (auto& [camera, stage] : cameras_) stage->abandon();
      }
      return all_done;
    }
    if (!started_ || !all_done) return false;
    barrier_.arrive(participant_, 1);
    return barrier_.wait(1, Clock::now() + beat_interval) == 0;
  }

  Child child_;
  Barrier barrier_ = child_.page().barrier();
  unsigned participant_ = child_.setup().at("participant");
  std::atomic<std::size_t> done_{0};
  std::map<unsigned, std::unique_ptr<CameraStage>> cameras_;
  bool started_ = false;
  Clock::time_point abandoned_at_;
};

}  // namespace

int run_worker() { return Worker().run(); }

}  // namespace campipe
