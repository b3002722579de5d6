// Both halves of a camera's ingest, as the program has them: who reads the source, and who decodes what comes of it,
// with their packet rings between them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "app/master/camera_decoding.h"
#include "app/source/ingest.h"

namespace campipe::test {

// Called on the threads of either.
struct WholeIngestEvents {
  FrameRings::OnRing on_ring;
  std::function<void(const std::string& reason)> on_gpu_lost = [](const std::string&) {};
  // Both are over. `failure`: of the one that failed first.
  std::function<void(const std::string& failure)> on_over;
  std::function<void(bool delivers, const std::string& reason)> on_state = [](bool, const std::string&) {};
};

class WholeIngest {
 public:
  WholeIngest(IngestStart source, DecodingStart decoding, const RigPage& page, WholeIngestEvents events)
      : events_(std::move(events)) {
    const CameraConfig& config = source.config;
    decoding.camera = source.camera;
    decoding.name = config.name;
    decoding.live = is_live(config.source.url);
    decoding.loops = config.source.loop;
    decoding.on_corrupt = config.on_corrupt;
    decoding.drop_policy = config.drop_policy;
    decoding.queue_size = config.queue_size;
    decoding.decode = source.decode;
    decoding.copies = source.copies;
    decoding.resume = source.resume;
    decoding_ = std::make_unique<CameraDecoding>(decoding, page, decoding_events());
    source_ = std::make_unique<Ingest>(source, page, source_events());
  }

  void stop() {
    source_->stop();
    decoding_->stop();
  }
  void renew() { decoding_->renew({}); }

 private:
  CameraDecodingEvents decoding_events() {
    CameraDecodingEvents events;
    events.on_ring = events_.on_ring;
    events.on_gpu_lost = [this](const std::string& reason) {
      gpu_lost_ = true;
      events_.on_gpu_lost(reason);
    };
    events.on_over = [this](const std::string& failure) {
      if (!failure.empty() || gpu_lost_) source_->stop();
      half_over(failure);
    };
    events.on_state = events_.on_state;
    return events;
  }

  IngestEvents source_events() {
    IngestEvents events;
    events.on_feed = [this](const FeedStart& feed, const PacketRingMemory& ring) {
      decoding_->add({feed, PacketRingMemory::open(duplicate(ring.fd()))});
    };
    events.on_over = [this](const std::string& failure, bool /*at_end*/) {
      half_over(failure);
      decoding_->finish();
    };
    events.on_state = events_.on_state;
    return events;
  }

  void half_over(const std::string& failure) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = failure;
    if (++over_ == 2) events_.on_over(failure_);
  }

  WholeIngestEvents events_;
  std::mutex mutex_;
  std::string failure_;
  int over_ = 0;
  std::atomic<bool> gpu_lost_{false};
  std::unique_ptr<CameraDecoding> decoding_;
  std::unique_ptr<Ingest> source_;  // goes first: it hands packet rings to the other one
};

}  // namespace campipe::test
