#include "app/master/master.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "app/control/child.h"
#include "app/control/gpu_loss.h"
#include "app/control/messages/cameras.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/from_master.h"
#include "app/control/messages/run.h"
#include "app/control/messages/setup.h"
#include "app/control/messages/to_master.h"
#include "app/control/ring_descriptors.h"
#include "app/master/camera_decoding.h"
#include "app/rings/known_groups.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/gpu.h"
#include "core/log.h"
#include "core/pretended_gpus.h"

namespace campipe {
namespace {

// Making a context takes a second or so. Here it delays no camera's first frame, and no beat of this process. Without
// memory there the cameras go to the CPU, one by one; with any other error this process is of no use.
void wake_gpu(const Device& gpu) {
  failpoint("master.beginning", to_string(gpu));
  if (!on_gpu(gpu) || is_pretended(gpu)) return;
  if constexpr (with_cuda) {
    try {
      use_gpu(gpu);
    } catch (const GpuError& error) {
      if (error.kind != GpuError::Kind::out_of_memory) throw;
      spdlog::warn("{}", error.what());
    }
  }
}

DecodingStart start_of(const messages::DecodeCamera& asked) {
  DecodingStart start;
  start.camera = asked.camera;
  start.edge = asked.edge;
  start.readers = asked.readers;
  start.name = asked.config.name;
  start.live = asked.live;
  start.loops = asked.config.source.loop;
  start.decode_threads = asked.config.decode_threads;
  start.on_corrupt = asked.config.on_corrupt;
  start.drop_policy = asked.config.drop_policy;
  start.queue_size = asked.config.queue_size;
  start.group = asked.config.group;
  start.placement = asked.placement;
  if (is_pretended(asked.placement.decode_gpu)) start.placement.decode_gpu = {};
  start.epoch = asked.epoch;
  start.base = asked.base;
  start.resume = asked.resume;
  start.resume_packet = asked.resume_packet;
  start.replays = true;
  start.skips = asked.skips;
  start.decode = asked.decode;
  start.on_demand = asked.on_demand;
  start.shown = asked.shown;
  start.shed = asked.shed;
  for (const auto& copy : asked.copies) start.copies.push_back({.output = copy.output, .filters = copy.filters});
  return start;
}

class Master {
 public:
  int run() {
    wake_gpu(child_.setup().gpu);
    return child_.run(
        {[this](Message& message) { handle(message); }, [this] { stop_all(); }, [this] { return tick(); }});
  }

 private:
  void handle(Message& message) {
    dispatch(messages::ToMaster(), message, [this](auto&... parts) { on(parts...); });
  }

  CameraDecoding* find(CameraId camera) {
    const auto found = cameras_.find(camera);
    return found == cameras_.end() ? nullptr : found->second.get();
  }

  void on(const messages::StopCamera& of) {
    if (CameraDecoding* const camera = find(of.camera)) camera->stop();
  }
  void on(const messages::ShedCamera& of) {
    if (CameraDecoding* const camera = find(of.camera)) camera->shed(of.step);
  }
  void on(const messages::ShowCamera& of) {
    if (CameraDecoding* const camera = find(of.camera)) camera->show(of.shown);
  }
  void on(const messages::RenewRing& of) {
    for (const auto& [id, camera] : cameras_) {
      if (camera->edge() == of.edge) camera->renew(of.memory);
    }
  }
  void on(const messages::LeaveCamera& of) {
    if (CameraDecoding* const camera = find(of.camera)) camera->leave();
  }
  void on(const messages::ForgetCamera& of) { cameras_.erase(of.camera); }
  void on(const messages::Drain&) { stop_all(); }
  void on(const messages::Leave&) { leave_ = true; }

  void on(messages::SourceRing& ring, std::vector<UniqueFd>& fds) {
    CameraDecoding* const camera = find(ring.camera);
    if (camera == nullptr) return;
    try {
      camera->add({{ring.epoch, ring.packet, ring.again}, PacketRingMemory::open(std::move(fds[0]))});
    } catch (const std::exception& error) {
      spdlog::error("a camera's packets cannot be read: {}", error.what());
      child_.send(messages::DecodingOver{ring.camera, error.what()});
    }
  }
  void on(const messages::SourceRingsOver& of) {
    if (CameraDecoding* const camera = find(of.camera)) camera->finish();
  }

  void on(const messages::DecodeCamera& asked) {
    DecodingStart start = start_of(asked);
    start.process = child_.setup().process;
    if (start.group) start.group_clock = groups_.clock_of(*start.group);
    const CameraDecodingEvents events = events_of(start, asked.placement.decode_gpu);
    // Without memory or a thread for it, it is that camera which fails.
    try {
      cameras_.insert_or_assign(asked.camera, std::make_unique<CameraDecoding>(start, child_.page(), events));
    } catch (const std::exception& error) {
      spdlog::error("{}: cannot be decoded: {}", start.name, error.what());
      events.on_over(error.what());
    }
  }

  CameraDecodingEvents events_of(const DecodingStart& start, const Device& gpu) {
    CameraDecodingEvents events;
    const CameraId camera = start.camera;
    auto epoch = std::make_shared<std::uint64_t>(start.epoch);  // grows with every ring; only that thread uses it
    events.on_ring = [this, edge = start.edge, epoch](const FrameRingMemory& ring, const SourceStream& stream,
                                                      const std::string& decoder) {
      child_.send(messages::FrameRing{edge, (*epoch)++, stream.frame_rate, stream.rotation, decoder, ring.kind()},
                  descriptors_of(ring));
    };
    // Nothing of this process's work on that GPU can be saved; a new master has a new context.
    events.on_gpu_lost = [this, gpu](const std::string& reason) {
      spdlog::critical("a GPU is lost: {}", reason);
      std::_Exit(gpu_loss_status(gpu, child_.setup().sees));
    };
    events.on_over = [this, camera](const std::string& failure) {
      child_.send(messages::DecodingOver{camera, failure});
    };
    events.on_left = [this, camera] { child_.send(messages::DecodingLeft{{camera}}); };
    events.on_state = [this, camera](bool decodes, const std::string& reason) {
      child_.send(messages::DecodingState{camera, decodes, reason});
    };
    events.on_fed = [this, camera](std::uint64_t fed) { child_.send(messages::SourceRingDone{camera, fed}); };
    return events;
  }

  void stop_all() {
    for (auto& [id, camera] : cameras_) camera->stop();
  }

  // An abandoned master has closed its rings once its threads have ended: nobody tells it that packets are over.
  bool tick() {
    bool all_over = true;
    for (auto& [id, camera] : cameras_) {
      if (child_.abandoned()) camera->finish();
      camera->service();
      all_over = all_over && camera->over();
    }
    return leave_ || (child_.abandoned() && all_over);
  }

  Child child_;
  KnownGroups groups_;
  std::map<CameraId, std::unique_ptr<CameraDecoding>> cameras_;
  bool leave_ = false;
};

}  // namespace

int run_master() { return Master().run(); }

}  // namespace campipe
