#include "app/publisher/camera_publisher.h"

#include <utility>

#include "app/control/thread_scope.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "ipc/counter_table.h"
#include "ipc/publish_block.h"
#include "ipc/rig_page.h"
#include "ipc/shared_block.h"

namespace campipe {
namespace {

// Of what is in the rings when the process has to leave: where more and more keeps coming, the file would not be
// closed.
constexpr auto last_packets = std::chrono::milliseconds(200);

Recording::Events recording_events(const CameraPublisher::Events& events) {
  return {events.on_file, events.on_record_failed, events.on_record_paused, events.on_record_resumed};
}

PushPermit permit_of(OutputId output, const ResolvedOutput& config, const RigPage& page) {
  if (config.node.empty()) return {};
  return {&page.shared(output).push_until, &page.publish(output).pushing};
}

}  // namespace

CameraPublisher::CameraPublisher(OutputId output, ResolvedOutput config, const RigPage& page, const Events& events,
                                 std::shared_ptr<Housekeeping> house, std::shared_ptr<LiveStream> live, bool records,
                                 const RunStart& start)
    : config_(std::move(config)),
      block_(page.publish(output)),
      push_permit_(permit_of(output, config_, page)),
      events_(events),
      audio_(events.on_audio_ring_done),
      recording_(config_, block_.record, audio_, recording_events(events), records, std::move(house), start),
      motion_(config_, block_.motion, events_.on_motion),
      live_(std::move(live)) {
  audio_.on_broken([this] {
    spdlog::error("{}: an audio ring is damaged; it is abandoned", config_.name);
    accuse(block_.accusation, Accused::source);
  });
  thread_ = std::jthread([this] { run(); });
}

CameraPublisher::~CameraPublisher() { abandon(); }

void CameraPublisher::run() {
  ThreadScope scope(block_.thread, "pb:" + config_.name);
  scope_ = &scope;
  recording_.follow(nullptr, scope);
  pushes_.emplace(config_, events_.on_push_state, push_permit_);
  audio_.listen([this](const PacketView& packet, const AudioParameters& stream) {
    pushes_->offer_audio(packet, stream);
    live_.offer_audio(packet, stream);
  });
  while (const auto ring = next_ring()) drain(*ring);
  motion_.finish(recording_.newest_file());
  recording_.end(scope);
  pushes_.reset();
  events_.on_done();
}

std::optional<CameraPublisher::Ring> CameraPublisher::next_ring() {
  auto ring = rings_.next(std::chrono::nanoseconds(0));
  while (!ring && !rings_.is_over()) {
    scope_->beat();
    recording_.tick();
    ring = rings_.next(beat_slice);
  }
  return ring;
}

void CameraPublisher::drain(const Ring& ring) {
  PacketRingReader reader(ring.memory);
  for (;;) {
    scope_->beat();
    recording_.follow(&reader, *scope_);
    recording_.tick();
    PacketView packet;
    std::uint64_t number = 0;
    const auto next = reader.next(packet, number, Clock::now() + beat_slice);
    if (next == PacketRingReader::Next::packet && !is_too_late()) {
      bytes_.assign(packet.data.begin(), packet.data.end());  // these do not change while they are parsed
      packet.data = bytes_;
      take(reader, packet, number, ring);
      continue;
    }
    if (next == PacketRingReader::Next::broken) {
      spdlog::error("{}: a packet ring is damaged; it is abandoned", config_.name);
      accuse(block_.accusation, is_copy(config_.encode) ? Accused::source : Accused::worker);
    }
    const bool over = next != PacketRingReader::Next::timeout || rings_.is_abandoned();
    if (over || reader.writer_waits()) recording_.commit(reader);
    if (!over) continue;
    if (config_.on_demand) live_.forget();  // until it is watched again, which may be tomorrow
    events_.on_ring_done(ring.epoch);
    return;
  }
}

bool CameraPublisher::is_too_late() {
  if (!rings_.is_abandoned()) return false;
  if (!take_until_) take_until_ = Clock::now() + last_packets;
  return Clock::now() >= *take_until_;
}

void CameraPublisher::take(PacketRingReader& reader, const PacketView& packet, std::uint64_t number, const Ring& ring) {
  failpoint("publisher.live", config_.name);
  live_.offer(packet, ring.stream, audio_);
  block_.counters.add(Counter::bytes, packet.data.size());
  pushes_->offer(packet, ring.stream, audio_);
  if (!recording_.takes()) {
    audio_.take(packet.dts, [](const PacketView&, const AudioParameters&) {});
    audio_.give_back();
  }
  recording_.take(reader, packet, number, ring.stream);
  motion_.take(packet, recording_.newest_file());
}

}  // namespace campipe
