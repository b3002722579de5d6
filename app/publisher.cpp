#include "app/publisher.h"

#include <atomic>
#include <map>
#include <memory>
#include <utility>

#include "app/camera_publisher.h"
#include "app/child.h"
#include "app/stream_json.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

class Publisher {
 public:
  int run() {
    return child_.run(
        {[this](Message& message) { handle(message); }, [this] { leave_soon(); }, [this] { return tick(); }});
  }

 private:
  void handle(Message& message) {
    const nlohmann::json& body = message.body;
    if (message.type == "camera") {
      start_camera(body);
    } else if (message.type == "start") {
      if (body.at("phase") == 0) barrier_.arrive(participant_, 0);  // a successor finds the rig running
      started_ = true;
    } else if (message.type == "packet_ring") {
      if (message.fds.size() != 1) throw Error("a packet ring without its descriptor");
      auto memory = PacketRingMemory::open(std::move(message.fds[0]));
      cameras_.at(body.at("camera"))->add({std::move(memory), body.at("epoch"), stream_from_json(body.at("stream"))});
    } else if (message.type == "camera_over") {
      cameras_.at(body.at("camera"))->finish();
    } else if (message.type == "close_files") {
      abandon_all();
    } else {
      throw Error("the publisher does not know the message '" + message.type + "'");
    }
  }

  void start_camera(const nlohmann::json& body) {
    const unsigned camera = body.at("camera");
    CameraPublisher::Events events;
    events.on_ring_done = [this, camera](std::uint64_t epoch) {
      child_.send("packet_ring_done", {{"camera", camera}, {"epoch", epoch}});
    };
    events.on_file = [this, camera](const std::string& path) {
      child_.send("file", {{"camera", camera}, {"path", path}});
    };
    events.on_record_failed = [this, camera](const std::string& reason) {
      child_.send("record_failed", {{"camera", camera}, {"reason", reason}});
    };
    events.on_done = [this, camera] {
      child_.send("camera_done", {{"camera", camera}});
      ++done_;
      child_.wake();
    };
    cameras_[camera] =
        std::make_unique<CameraPublisher>(camera, camera_from_json(body.at("config")), child_.page(), events);
  }

  void leave_soon() {
    for (auto& [camera, publisher] : cameras_) publisher->finish();
    abandoned_at_ = Clock::now();
  }

  void abandon_all() {
    for (auto& [camera, publisher] : cameras_) publisher->abandon();
  }

  bool tick() {
    const bool all_done = done_ == cameras_.size();
    if (child_.abandoned()) {
      // Workers close their rings within three seconds; what has not ended by then is closed as it is.
      if (Clock::now() > abandoned_at_ + std::chrono::seconds(3)) abandon_all();
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
  std::map<unsigned, std::unique_ptr<CameraPublisher>> cameras_;
  bool started_ = false;
  Clock::time_point abandoned_at_;
};

}  // namespace

int run_publisher() { return Publisher().run(); }

}  // namespace campipe
