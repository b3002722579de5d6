#include "app/master/master.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "app/control/child.h"
#include "app/control/gpu_loss.h"
#include "app/control/ring_descriptors.h"
#include "app/master/group_clock.h"
#include "app/master/ingest.h"
#include "core/error.h"
#include "core/gpu.h"
#include "core/log.h"

namespace campipe {
namespace {

// Making a context takes a second or so. Here it delays no camera's first frame, and no beat of this process. What
// does not work is reported again, and avoided, by the cameras that need it.
void wake_gpus(const std::vector<Device>& gpus) {
  if constexpr (with_cuda) {
    for (const Device& gpu : gpus) {
      try {
        use_gpu(gpu);
      } catch (const GpuError& error) {
        spdlog::warn("{}", error.what());
      }
    }
  }
}

class Master {
 public:
  int run() {
    wake_gpus(child_.setup().sees);
    return child_.run(
        {[this](Message& message) { handle(message); }, [this] { stop_all(); }, [this] { return tick(); }});
  }

 private:
  void handle(Message& message) {
    dispatch(messages::ToMaster(), message, [this](auto& m) { on(m); });
  }

  void on(const messages::StopCamera& of) {
    if (const auto found = cameras_.find(of.camera); found != cameras_.end()) found->second->stop();
  }
  void on(const messages::ShedCamera& of) {
    if (const auto found = cameras_.find(of.camera); found != cameras_.end()) found->second->shed(of.step);
  }

  void on(const messages::ShowCamera& of) {
    if (const auto found = cameras_.find(of.camera); found != cameras_.end()) found->second->show(of.shown);
  }
  void on(const messages::RenewRing& of) {
    for (const auto& [camera, ingest] : cameras_) {
      if (ingest->edge() == of.edge) ingest->renew();
    }
  }
  void on(const messages::ForgetCamera& of) { cameras_.erase(of.camera); }
  void on(const messages::Drain&) { stop_all(); }
  void on(const messages::Leave&) { leave_ = true; }

  void on(const messages::ReadCamera& asked) {
    Ingest::Start start;
    start.camera = asked.camera;
    start.edge = asked.edge;
    start.config = asked.config;
    start.placement = asked.placement;
    start.epoch = asked.epoch;
    start.base = asked.base;
    start.readers = asked.readers;
    start.resume = asked.resume;
    start.decode = asked.decode;
    start.on_demand = asked.on_demand;
    start.shown = asked.shown;
    start.shed = asked.shed;
    start.undecided = asked.undecided;
    if (asked.config.group) start.group = clock_of(*asked.config.group);
    for (const messages::Copy& copy : asked.copies)
      start.copies.push_back({copy.output, copy.epoch, copy.base, copy.resume, copy.shown_until, copy.filters});
    for (const messages::OutputEpoch& copy : asked.audio) start.audio.push_back({copy.output, copy.epoch});
    const CameraId camera = start.camera;
    auto epoch = std::make_shared<std::uint64_t>(start.epoch);  // grows with every ring; only the ingest thread uses it
    Ingest::Events events;
    events.on_ring = [this, edge = start.edge, epoch](const FrameRingMemory& ring, const SourceStream& stream,
                                                      const std::string& decoder) {
      child_.send(messages::FrameRing{edge, (*epoch)++, stream.frame_rate, stream.rotation, decoder, ring.kind()},
                  descriptors_of(ring));
    };
    // Nothing of this process's work on that GPU can be saved; a new master has a new context.
    events.on_gpu_lost = [this, gpu = asked.placement.decode_gpu](const std::string& reason) {
      spdlog::critical("a GPU is lost: {}", reason);
      std::_Exit(gpu_loss_status(gpu, child_.setup().sees));
    };
    events.on_over = [this, camera](const std::string& failure, bool at_end) {
      child_.send(messages::SourceOver{camera, failure, at_end});
    };
    events.on_state = [this, camera](bool delivers, const std::string& reason) {
      child_.send(messages::SourceState{camera, delivers, reason});
    };
    events.on_stream = [this, camera](const SentStream& sends) { child_.send(messages::FoundStream{camera, sends}); };
    events.on_opened = [this, camera](const KnownStream& stream) {
      child_.send(messages::OpenedStream{camera, stream});
    };
    events.on_copy = [this](OutputId to, std::uint64_t ring_epoch, const PacketRingMemory& ring,
                            const StreamParameters& parameters) {
      child_.send(messages::PacketRing{to, ring_epoch, parameters}, {ring.fd()});
    };
    events.on_audio = [this](OutputId to, std::uint64_t ring_epoch, const PacketRingMemory& ring,
                             const AudioParameters& parameters) {
      child_.send(messages::AudioRing{to, ring_epoch, parameters}, {ring.fd()});
    };
    // Without memory or a thread for it, it is that camera which fails.
    try {
      cameras_.insert_or_assign(camera, std::make_unique<Ingest>(start, child_.page(), events));
    } catch (const std::exception& error) {
      spdlog::error("{}: cannot be started: {}", start.config.name, error.what());
      events.on_over(error.what(), false);
    }
  }

  struct KnownGroup {
    GroupConfig rules;
    std::weak_ptr<GroupClock> clock;
  };

  // That of those members that are there; those that end by other rules have one of their own.
  std::shared_ptr<GroupClock> clock_of(const GroupConfig& group) {
    KnownGroup& known = groups_[group.name];
    auto clock = known.clock.lock();
    if (!clock || known.rules != group) known = {group, clock = std::make_shared<GroupClock>(group)};
    return clock;
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
  std::map<std::string, KnownGroup> groups_;  // by name
  std::map<CameraId, std::unique_ptr<Ingest>> cameras_;
  bool leave_ = false;
};

}  // namespace

int run_master() { return Master().run(); }

}  // namespace campipe
