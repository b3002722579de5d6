#include "app/master/master.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "app/control/child.h"
#include "app/control/ring_descriptors.h"
#include "app/master/camera_decoding.h"
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

  // The two halves of a camera's ingest. It is over when both are.
  struct Halves {
    std::mutex mutex;
    std::string failure;  // the first
    bool at_end = false;
    int over = 0;
    std::unique_ptr<CameraDecoding> decoding;
    std::unique_ptr<Ingest> source;  // goes first: it hands packet rings to the other one

    void stop() const {
      source->stop();
      decoding->stop();
    }
    [[nodiscard]] bool is_over() const { return source->over() && decoding->over(); }
  };

  void on(const messages::StopCamera& of) {
    if (const auto found = cameras_.find(of.camera); found != cameras_.end()) found->second->stop();
  }
  void on(const messages::ShedCamera& of) {
    if (const auto found = cameras_.find(of.camera); found != cameras_.end()) found->second->decoding->shed(of.step);
  }

  void on(const messages::ShowCamera& of) {
    const auto found = cameras_.find(of.camera);
    if (found == cameras_.end()) return;
    found->second->decoding->show(of.shown);
    found->second->source->show(of.shown);
  }
  void on(const messages::RenewRing& of) {
    for (const auto& [camera, halves] : cameras_) {
      if (halves->decoding->edge() == of.edge) halves->decoding->renew();
    }
  }
  void on(const messages::ForgetCamera& of) { cameras_.erase(of.camera); }
  void on(const messages::Drain&) { stop_all(); }
  void on(const messages::Leave&) { leave_ = true; }

  void on(const messages::ReadCamera& asked) {
    DecodingStart decoding;
    decoding.camera = asked.camera;
    decoding.edge = asked.edge;
    decoding.readers = asked.readers;
    decoding.name = asked.config.name;
    decoding.live = is_live(asked.config.source.url);
    decoding.loops = asked.config.source.loop;
    decoding.decode_threads = asked.config.decode_threads;
    decoding.on_corrupt = asked.config.on_corrupt;
    decoding.drop_policy = asked.config.drop_policy;
    decoding.queue_size = asked.config.queue_size;
    decoding.group = asked.config.group;
    decoding.placement = asked.placement;
    decoding.epoch = asked.epoch;
    decoding.base = asked.base;
    decoding.resume = asked.resume;
    decoding.decode = asked.decode;
    decoding.on_demand = asked.on_demand;
    decoding.shown = asked.shown;
    decoding.shed = asked.shed;
    IngestStart source;
    source.camera = asked.camera;
    source.config = asked.config;
    source.resume = asked.resume;
    source.decode = asked.decode;
    source.on_demand = asked.on_demand;
    source.shown = asked.shown;
    source.undecided = asked.undecided;
    if (asked.config.group) source.group = decoding.group_clock = clock_of(*asked.config.group);
    for (const messages::Copy& copy : asked.copies)
      source.copies.push_back({copy.output, copy.epoch, copy.base, copy.resume, copy.shown_until, copy.filters});
    decoding.copies = source.copies;
    for (const messages::OutputEpoch& copy : asked.audio) source.audio.push_back({copy.output, copy.epoch});
    auto halves = std::make_unique<Halves>();
    // Without memory or a thread for it, it is that camera which fails.
    try {
      halves->decoding = std::make_unique<CameraDecoding>(decoding, child_.page(), decoding_events(decoding, *halves));
      halves->source = std::make_unique<Ingest>(source, child_.page(), source_events(source, *halves));
      cameras_.insert_or_assign(asked.camera, std::move(halves));
    } catch (const std::exception& error) {
      spdlog::error("{}: cannot be started: {}", asked.config.name, error.what());
      child_.send(messages::SourceOver{asked.camera, error.what(), false});
    }
  }

  CameraDecodingEvents decoding_events(const DecodingStart& start, Halves& halves) {
    CameraDecodingEvents events;
    auto epoch = std::make_shared<std::uint64_t>(start.epoch);  // grows with every ring; only that thread uses it
    events.on_ring = [this, edge = start.edge, epoch](const FrameRingMemory& ring, const SourceStream& stream,
                                                      const std::string& decoder) {
      child_.send(messages::FrameRing{edge, (*epoch)++, stream.frame_rate, stream.rotation, decoder, ring.kind()},
                  descriptors_of(ring));
    };
    // Nothing of this process's work on that GPU can be saved; a new master has a new context.
    events.on_gpu_lost = [](const std::string& reason) {
      spdlog::critical("a GPU is lost: {}", reason);
      std::_Exit(EXIT_FAILURE);
    };
    events.on_over = [this, camera = start.camera, &halves](const std::string& failure) {
      if (!failure.empty()) halves.stop();
      half_over(halves, camera, failure, false);
    };
    events.on_state = [this, camera = start.camera](bool decodes, const std::string& reason) {
      child_.send(messages::SourceState{camera, decodes, reason});
    };
    return events;
  }

  IngestEvents source_events(const IngestStart& start, Halves& halves) {
    const CameraId camera = start.camera;
    IngestEvents events;
    events.on_feed = [&halves](std::uint64_t epoch, const PacketRingMemory& ring) {
      halves.decoding->add({epoch, PacketRingMemory::open(duplicate(ring.fd()))});
    };
    events.on_over = [this, camera, &halves](const std::string& failure, bool at_end) {
      half_over(halves, camera, failure, at_end);
      halves.decoding->finish();
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
    return events;
  }

  void half_over(Halves& halves, CameraId camera, const std::string& failure, bool at_end) {
    const std::lock_guard lock(halves.mutex);
    if (halves.failure.empty()) halves.failure = failure;
    halves.at_end = halves.at_end || at_end;
    if (++halves.over == 2) child_.send(messages::SourceOver{camera, halves.failure, halves.at_end});
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
    for (auto& [camera, halves] : cameras_) halves->stop();
  }

  // An abandoned master has closed its rings once its threads have ended.
  bool tick() {
    bool all_over = true;
    for (auto& [camera, halves] : cameras_) {
      halves->decoding->service();
      all_over = all_over && halves->is_over();
    }
    return leave_ || (child_.abandoned() && all_over);
  }

  Child child_;
  std::map<std::string, KnownGroup> groups_;  // by name
  std::map<CameraId, std::unique_ptr<Halves>> cameras_;
  bool leave_ = false;
};

}  // namespace

int run_master() { return Master().run(); }

}  // namespace campipe
