#include "app/master/master.h"

#include <cstdlib>
#include <map>
#include <memory>

#include "app/config/names.h"
#include "app/control/camera_placement.h"
#include "app/control/child.h"
#include "app/control/ring_descriptors.h"
#include "app/control/stream_json.h"
#include "app/master/ingest.h"
#include "core/error.h"
#include "core/gpu.h"
#include "core/log.h"

namespace campipe {
namespace {

// Making a context takes a second or so. Here it delays no camera's first picture, and no beat of this process. What
// does not work is told again, and got around, by the cameras that need it.
void wake_gpus(const nlohmann::json& setup) {
  if constexpr (with_cuda) {
    for (const nlohmann::json& name : setup.at("sees")) {
      const auto gpu = device_from_string(name);
      if (!gpu) throw Error("the master is to decode on '" + name.get<std::string>() + "', which is no GPU's UUID");
      try {
        use_gpu(*gpu);
      } catch (const GpuError& error) {
        spdlog::warn("{}", error.what());
      }
    }
  }
}

// `key`: the outputs that take packets as they are, or nothing.
std::vector<CopyTarget> targets_of(const nlohmann::json& body, const char* key) {
  std::vector<CopyTarget> targets;
  for (const auto& target : body.value(key, nlohmann::json::array())) {
    targets.push_back({target.at("camera"), target.at("epoch"), target.value("base", std::uint64_t{0}), {}});
    const auto resume = target.find("resume");
    if (resume != target.end() && !resume->is_null()) targets.back().resume = resume->get<std::int64_t>();
    if (target.contains("config")) targets.back().filters = camera_from_json(target.at("config")).filters;
  }
  return targets;
}

class Master {
 public:
  int run() {
    wake_gpus(child_.setup());
    return child_.run(
        {[this](Message& message) { handle(message); }, [this] { stop_all(); }, [this] { return tick(); }});
  }

 private:
  void handle(const Message& message) {
    if (message.type == "camera") {
      start_camera(message.body);
    } else if (message.type == "stop_camera") {
      if (const auto found = cameras_.find(message.body.at("camera")); found != cameras_.end()) found->second->stop();
    } else if (message.type == "renew_ring") {
      if (auto* camera = camera_of(message, cameras_)) camera->renew();
    } else if (message.type == "forget_camera") {
      cameras_.erase(message.body.at("camera").get<unsigned>());
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
    start.placement = placement_from_json(body.at("placement"));
    start.epoch = body.at("epoch");
    start.base = body.at("base");
    start.decode = body.value("decode", true);
    start.undecided = body.value("undecided", false);
    start.on_demand = body.value("on_demand", std::vector<unsigned>());
    start.copies = targets_of(body, "copies");
    start.audio = targets_of(body, "audio");
    if (const auto& resume = body.at("resume"); !resume.is_null()) start.resume = resume.get<std::int64_t>();
    const unsigned camera = start.camera;
    auto epoch = std::make_shared<std::uint64_t>(start.epoch);  // grows with every ring; only the ingest thread uses it
    Ingest::Events events;
    events.on_ring = [this, camera, epoch](const FrameRingMemory& ring, const SourceStream& stream,
                                           const std::string& decoder) {
      child_.send("frame_ring",
                  {{"camera", camera},
                   {"epoch", (*epoch)++},
                   {"frame_rate", stream.frame_rate},
                   {"rotation", stream.rotation},
                   {"decoder", decoder},
                   {"memory", choice_name(ring.kind())}},
                  descriptors_of(ring));
    };
    // Nothing of this process's work on that GPU can be saved; a new master has a new context.
    events.on_gpu_lost = [](const std::string& reason) {
      spdlog::critical("a GPU is lost: {}", reason);
      std::_Exit(EXIT_FAILURE);
    };
    events.on_over = [this, camera](const std::string& failure, bool at_end) {
      child_.send("source_over", {{"camera", camera}, {"failure", failure}, {"at_end", at_end}});
    };
    events.on_state = [this, camera](bool delivers, const std::string& reason) {
      child_.send("source_state", {{"camera", camera},
                                   {"state", delivers ? "running" : "waiting"},
                                   {"reason", reason},
                                   {"since_utc", utc_now_ns()}});
    };
    events.on_stream = [this, camera](const SentStream& sends) {
      child_.send("sent_stream", {{"camera", camera}, {"sends", to_json(sends)}});
    };
    events.on_copy = [this](unsigned to, std::uint64_t ring_epoch, const PacketRingMemory& ring,
                            const StreamParameters& parameters) {
      child_.send("packet_ring", {{"camera", to}, {"epoch", ring_epoch}, {"stream", to_json(parameters)}}, {ring.fd()});
    };
    events.on_audio = [this](unsigned to, std::uint64_t ring_epoch, const PacketRingMemory& ring,
                             const AudioParameters& parameters) {
      child_.send("audio_ring", {{"camera", to}, {"epoch", ring_epoch}, {"audio", to_json(parameters)}}, {ring.fd()});
    };
    // Without memory or a thread for it, it is that camera which fails.
    try {
      cameras_.insert_or_assign(camera, std::make_unique<Ingest>(start, child_.page(), events));
    } catch (const std::exception& error) {
      spdlog::error("{}: cannot be started: {}", start.config.name, error.what());
      events.on_over(error.what(), false);
    }
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
