#include "app/publisher/publisher.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "app/control/child.h"
#include "app/control/stream_json.h"
#include "app/publisher/camera_publisher.h"
#include "app/publisher/events_file.h"
#include "app/publisher/server/servers.h"
#include "core/error.h"
#include "core/log.h"
#include "core/utc_text.h"

namespace campipe {
namespace {

// Of the supervisor, whose process lives as long as the rig. Where that is not to be seen (hidepid), this process's
// own.
RunStart start_of_rig() {
  std::ifstream in("/proc/" + std::to_string(::getppid()) + "/stat");
  std::string text;
  std::getline(in, text);
  // Behind the name, which may hold anything, come the 3rd field and so on; the 22nd is the start, in ticks since boot.
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  std::int64_t ticks = 0;
  timespec now{};
  if (!(fields >> ticks) || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) return {};
  const std::chrono::nanoseconds since_boot = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  const std::chrono::duration<double> began(static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK)));
  return RunStart(since_boot - std::chrono::duration_cast<std::chrono::nanoseconds>(began));
}

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
      if (body.at("phase") == 0) child_.arrive(0);  // a successor finds the rig running
      started_ = true;
    } else if (message.type == "packet_ring" || message.type == "audio_ring") {
      take_ring(message);
    } else if (message.type == "camera_over") {
      if (auto* camera = camera_of(message, cameras_)) camera->finish();
    } else if (message.type == "close_files") {
      abandon_all();
    } else if (message.type == "status") {
      servers_.set_status(body);
    } else if (message.type == "answer") {
      servers_.on_answer(body);
    } else if (message.type == "server") {
      servers_.update(server_from_json(body));
    } else if (message.type == "record") {
      if (auto* camera = camera_of(message, cameras_)) camera->set_recording(body.at("on"));
    } else if (message.type == "disabled_camera") {
      servers_.add_disabled(camera_from_json(body.at("config")));
    } else if (message.type == "forget_camera") {
      forget(body.at("camera"));
    } else if (message.type == "rig_over") {
      over_ = true;
    } else {
      throw Error("the publisher does not know the message '" + message.type + "'");
    }
  }

  void take_ring(Message& message) {
    auto* camera = camera_of(message, cameras_);
    if (camera == nullptr) return;
    const nlohmann::json& body = message.body;
    const bool packets = message.type == "packet_ring";
    try {
      if (message.fds.size() != 1) throw Error("a ring of packets without its descriptor");
      auto memory = PacketRingMemory::open(std::move(message.fds[0]));
      if (packets) {
        camera->add({std::move(memory), body.at("epoch"), stream_from_json(body.at("stream"))});
      } else {
        camera->add_audio({std::move(memory), body.at("epoch"), audio_from_json(body.at("audio"))});
      }
    } catch (const SystemError& error) {  // no memory: nobody else's trouble
      child_.send("ring_lost", {{"camera", body.at("camera")}, {"reason", error.what()}});
    } catch (const Error& error) {  // it is no ring, which whoever writes it has to answer for
      spdlog::error("a camera's ring cannot be used: {}", error.what());
      const bool of_worker = packets && body.at("stream").value("encoder", "") != "copy";
      accuse(child_.page().publisher(body.at("camera")).accusation, of_worker ? Accused::worker : Accused::master);
      child_.send(packets ? "packet_ring_done" : "audio_ring_done",
                  {{"camera", body.at("camera")}, {"epoch", body.at("epoch")}});
    }
  }

  void start_camera(const nlohmann::json& body) {
    const unsigned camera = body.at("camera");
    const CameraConfig config = camera_from_json(body.at("config"));
    const std::string name = config.name;
    CameraPublisher::Events events;
    events.on_ring_done = [this, camera](std::uint64_t epoch) {
      child_.send("packet_ring_done", {{"camera", camera}, {"epoch", epoch}});
    };
    events.on_audio_ring_done = [this, camera](std::uint64_t epoch) {
      child_.send("audio_ring_done", {{"camera", camera}, {"epoch", epoch}});
    };
    events.on_file = [this, camera](const std::string& path) {
      child_.send("file", {{"camera", camera}, {"path", path}});
    };
    events.on_record_failed = [this, camera](const std::string& reason) {
      child_.send("record_failed", {{"camera", camera}, {"reason", reason}});
    };
    events.on_record_paused = [this, camera, name](const std::string& reason) {
      spdlog::error("{}: recording paused, and tried again: {}", name, reason);
      child_.send("record_paused", {{"camera", camera}, {"reason", reason}});
    };
    events.on_record_resumed = [this, camera, name](std::uint64_t unrecorded) {
      spdlog::info("{}: recording goes on; {} packets are not in it", name, unrecorded);
      child_.send("record_resumed", {{"camera", camera}, {"unrecorded", unrecorded}});
    };
    events.on_push_state = [this, camera](const std::string& url, PushState state, const std::string& reason) {
      child_.send("push_state", {{"camera", camera}, {"url", url}, {"state", name_of(state)}, {"reason", reason}});
    };
    if (const auto path = body.find("events"); path != body.end() && path->is_string() && !events_file_)
      events_file_.emplace(path->get<std::string>());
    events.on_motion = [this, config, camera](const Recording::Motion& motion) {
      if (motion.begins) child_.page().publisher(camera).motions.fetch_add(1);
      tell_motion(config, motion);
    };
    events.on_done = [this, camera] {
      child_.send("camera_done", {{"camera", camera}});
      ++done_;
      child_.wake();
    };
    auto live = servers_.add(camera, config);
    const bool records = body.at("recording");
    cameras_[camera] =
        std::make_unique<CameraPublisher>(camera, config, child_.page(), events, std::move(live), records, run_);
  }

  void forget(unsigned camera) {
    servers_.remove(camera);
    done_ -= cameras_.erase(camera);
  }

  void tell_motion(const CameraConfig& config, const Recording::Motion& motion) {
    spdlog::info("{}: motion {}", config.name, motion.begins ? "begins" : "is over");
    if (!events_file_) return;
    events_file_->append({{"time", utc_text(motion.utc)},
                          {"camera", camera_name(config)},
                          {"output", config.output},
                          {"event", motion.begins ? "motion_begin" : "motion_end"},
                          {"score", std::round(double{motion.score} * 1000) / 1000},
                          {"file", motion.file}});
  }

  void leave_soon() {
    for (auto& [camera, publisher] : cameras_) publisher->finish();
    abandoned_at_ = Clock::now();
  }

  void abandon_all() {
    for (auto& [camera, publisher] : cameras_) publisher->abandon();
  }

  bool tick() {
    servers_.tick();
    const bool all_done = done_ == cameras_.size();
    if (child_.abandoned()) {
      // Workers close their rings within three seconds; what has not ended by then is closed as it is.
      if (Clock::now() > abandoned_at_ + std::chrono::seconds(3)) abandon_all();
      return all_done;
    }
    if (!started_ || !over_ || !all_done) return false;
    child_.arrive(1);
    return child_.page().barrier().wait(1, Clock::now() + beat_interval) == 0;
  }

  Child child_;
  const RunStart run_ = start_of_rig();
  std::atomic<std::size_t> done_{0};
  std::optional<EventsFile> events_file_;
  Servers servers_{server_from_json(child_.setup().at("server")), child_.page(),
                   [this](const nlohmann::json& request) { child_.send("request", request); }};
  std::map<unsigned, std::unique_ptr<CameraPublisher>> cameras_;
  bool started_ = false;
  bool over_ = false;  // no further camera will come
  Clock::time_point abandoned_at_;
};

}  // namespace

int run_publisher() { return Publisher().run(); }

}  // namespace campipe
