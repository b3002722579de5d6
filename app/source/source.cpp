#include "app/source/source.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "app/control/child.h"
#include "app/control/messages/cameras.h"
#include "app/control/messages/from_source.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/messages/parts.h"
#include "app/control/messages/run.h"
#include "app/control/messages/to_source.h"
#include "app/rings/group_clock.h"
#include "app/rings/known_groups.h"
#include "app/source/ingest.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

class SourceProcess {
 public:
  int run() {
    return child_.run(
        {[this](Message& message) { handle(message); }, [this] { stop_all(); }, [this] { return tick(); }});
  }

 private:
  void handle(Message& message) {
    dispatch(messages::ToSource(), message, [this](auto& m) { on(m); });
  }

  void on(const messages::StopCamera& of) {
    if (const auto found = cameras_.find(of.camera); found != cameras_.end()) found->second->stop();
  }
  void on(const messages::ShowCamera& of) {
    if (const auto found = cameras_.find(of.camera); found != cameras_.end()) found->second->show(of.shown);
  }
  void on(const messages::EndDecoding& of) {
    if (const auto found = cameras_.find(of.camera); found != cameras_.end()) found->second->end_decoding(of.outputs);
  }
  void on(const messages::ForgetCamera& of) { cameras_.erase(of.camera); }
  void on(const messages::Drain&) { stop_all(); }
  void on(const messages::Leave&) { leave_ = true; }

  void on(const messages::ReadCamera& asked) {
    IngestStart start;
    start.camera = asked.camera;
    start.config = asked.config;
    start.epoch = asked.epoch;
    start.packet = asked.packet;
    start.resume = asked.resume;
    start.set_move = asked.set_move;
    start.decode = asked.decode;
    start.on_demand = asked.on_demand;
    start.shown = asked.shown;
    start.undecided = asked.undecided;
    if (asked.config.group) start.group = groups_.clock_of(*asked.config.group);
    for (const messages::Copy& copy : asked.copies)
      start.copies.push_back({copy.output, copy.epoch, copy.base, copy.resume, copy.shown_until, copy.filters});
    for (const messages::CopyAudio& copy : asked.audio)
      start.audio.push_back({.output = copy.output, .epoch = copy.epoch, .resume = copy.resume});
    const Ingest::Events events = events_of(asked.camera);
    // Without memory or a thread for it, it is that camera which fails.
    try {
      cameras_.insert_or_assign(asked.camera, std::make_unique<Ingest>(start, child_.page(), events));
    } catch (const std::exception& error) {
      spdlog::error("{}: cannot be started: {}", start.config.name, error.what());
      events.on_over(error.what(), false);
    }
  }

  Ingest::Events events_of(CameraId camera) {
    Ingest::Events events;
    events.on_feed = [this, camera](const FeedStart& feed, const PacketRingMemory& ring) {
      child_.send(messages::SourceRing{camera, feed.epoch, feed.packet, feed.again}, {ring.fd()});
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
    events.on_copy = [this](OutputId to, std::uint64_t epoch, const PacketRingMemory& ring,
                            const StreamParameters& parameters) {
      child_.send(messages::PacketRing{to, epoch, parameters}, {ring.fd()});
    };
    events.on_audio = [this](OutputId to, std::uint64_t epoch, const PacketRingMemory& ring,
                             const AudioParameters& parameters) {
      child_.send(messages::AudioRing{to, epoch, parameters}, {ring.fd()});
    };
    return events;
  }

  void stop_all() {
    for (auto& [camera, ingest] : cameras_) ingest->stop();
  }

  // An abandoned one has closed its rings once its threads have ended.
  bool tick() {
    const auto is_over = [](const auto& camera) { return camera.second->over(); };
    return leave_ || (child_.abandoned() && std::ranges::all_of(cameras_, is_over));
  }

  Child child_;
  KnownGroups groups_;
  std::map<CameraId, std::unique_ptr<Ingest>> cameras_;
  bool leave_ = false;
};

}  // namespace

int run_source() { return SourceProcess().run(); }

}  // namespace campipe
