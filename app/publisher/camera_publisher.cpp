#include "app/publisher/camera_publisher.h"

#include <utility>

#include "app/control/thread_scope.h"
#include "core/failpoint.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto slice = std::chrono::milliseconds(100);    // how long a wait may last before the thread beats again
constexpr auto disk_patience = std::chrono::seconds(20);  // beside what any thread may be silent
// What the disk has not taken by then may be lost in a power cut. Users are promised that a rig ends within 5 s.
constexpr auto rest_patience = std::chrono::milliseconds(2500);
// Of what is in the rings when the process has to leave: where more and more keeps coming, the file would not be
// closed.
constexpr auto last_packets = std::chrono::milliseconds(200);
constexpr double fullest = 0.5;  // a fragment ends before it fills more of the ring than this

// A slow disk is no reason to be taken for hung.
ThreadWait disk_wait() { return ThreadWait(WaitsFor::disk, Clock::now() + disk_patience); }

}  // namespace

CameraPublisher::CameraPublisher(OutputId output, CameraConfig config, const RigPage& page, const Events& events,
                                 std::shared_ptr<LiveStream> live, bool records, const RunStart& start)
    : config_(std::move(config)),
      block_(page.publish(output)),
      events_(events),
      run_(start),
      audio_(events.on_audio_ring_done),
      live_(std::move(live)),
      record_(records) {
  audio_.on_broken([this] {
    spdlog::error("{}: an audio ring says what cannot be; it is left", config_.name);
    accuse(block_.accusation, Accused::master);
  });
  thread_ = std::jthread([this] { run(); });
}

CameraPublisher::~CameraPublisher() { abandon(); }

void CameraPublisher::add(const Ring& ring) {
  const std::lock_guard lock(mutex_);
  rings_.push_back(ring);
  changed_.notify_one();
}

void CameraPublisher::finish() {
  const std::lock_guard lock(mutex_);
  finishing_ = true;
  changed_.notify_one();
}

void CameraPublisher::abandon() {
  abandoned_ = true;
  finish();
}

void CameraPublisher::run() {
  ThreadScope scope(block_.thread, "pb:" + config_.name);
  scope_ = &scope;
  follow_wish(nullptr);
  pushes_.emplace(config_, events_.on_push_state);
  audio_.listen([this](const PacketView& packet, const AudioParameters& stream) { offer_audio(packet, stream); });
  while (const auto ring = next_ring()) drain(*ring);
  if (recording_) end_recording();
  pushes_.reset();
  events_.on_done();
}

void CameraPublisher::begin_recording() {
  const ThreadWait wait = disk_wait();
  recording_.emplace(config_, block_.record, audio_,
                     Recording::Events{events_.on_file, events_.on_record_failed, events_.on_record_paused,
                                       events_.on_record_resumed, events_.on_motion},
                     run_);
}

// Somebody may have begun or ended the recording. `reader`: of the ring that is drained just now.
void CameraPublisher::follow_wish(PacketRingReader* reader) {
  if (!config_.record || record_ == recording_.has_value()) return;
  if (record_ && block_.record.failed.load() != 0) return;  // given up
  if (record_) return begin_recording();
  if (reader != nullptr) commit(*reader);
  end_recording();
}

void CameraPublisher::end_recording() {
  {
    const ThreadWait wait = disk_wait();
    recording_->finish();
  }
  wait_for_disk();
  const ThreadWait wait = disk_wait();
  recording_->tick();
  recording_.reset();
}

// Files are put on the disk by another thread, and may wait for the files of others, or for a disk that does not
// answer.
void CameraPublisher::wait_for_disk() {
  const auto end = Clock::now() + rest_patience;
  std::unique_lock lock(mutex_);
  while (!recording_->at_rest() && Clock::now() < end) {
    scope_->beat();
    changed_.wait_for(lock, slice);
  }
}

void CameraPublisher::tick_recording() {
  if (!recording_) return;
  const ThreadWait wait = disk_wait();
  recording_->tick();
}

std::optional<CameraPublisher::Ring> CameraPublisher::next_ring() {
  std::unique_lock lock(mutex_);
  while (rings_.empty()) {
    if (finishing_) return std::nullopt;
    scope_->beat();
    lock.unlock();  // whoever has a ring for this camera waits for no disk
    tick_recording();
    lock.lock();
    changed_.wait_for(lock, slice, [this] { return finishing_ || !rings_.empty(); });
  }
  Ring ring = std::move(rings_.front());
  rings_.pop_front();
  return ring;
}

void CameraPublisher::drain(const Ring& ring) {
  PacketRingReader reader(ring.memory);
  for (;;) {
    scope_->beat();
    follow_wish(&reader);
    tick_recording();
    PacketView packet;
    std::uint64_t number = 0;
    const auto next = reader.next(packet, number, Clock::now() + slice);
    if (next == PacketRingReader::Next::packet && !is_too_late()) {
      bytes_.assign(packet.data.begin(), packet.data.end());  // while they are parsed nobody changes these
      packet.data = bytes_;
      take(reader, packet, number, ring);
      continue;
    }
    if (next == PacketRingReader::Next::broken) {
      spdlog::error("{}: a packet ring says what cannot be; it is left", config_.name);
      accuse(block_.accusation, is_copy(config_.encode) ? Accused::master : Accused::worker);
    }
    const bool over = next != PacketRingReader::Next::timeout || abandoned_;
    if (over || reader.writer_waits()) commit(reader);
    if (!over) continue;
    if (live_ && config_.on_demand) live_->forget();  // until it is watched again, which may be tomorrow
    events_.on_ring_done(ring.epoch);
    return;
  }
}

bool CameraPublisher::is_too_late() {
  if (!abandoned_) return false;
  if (!take_until_) take_until_ = Clock::now() + last_packets;
  return Clock::now() >= *take_until_;
}

void CameraPublisher::take(PacketRingReader& reader, const PacketView& packet, std::uint64_t number, const Ring& ring) {
  if (live_) offer_live(packet, ring.stream);
  block_.counters.add(Counter::bytes, packet.data.size());
  pushes_->offer(packet, ring.stream, audio_);
  const bool records = recording_ && block_.record.failed.load() == 0;
  if (!records) {
    audio_.take(packet.dts, [](const PacketView&, const AudioParameters&) {});
    audio_.give_back();
  }
  if (config_.record && !records) store_unrecorded(block_.record, number, record_ ? 1 : 0);
  if (!records || number <= recording_->safe()) {
    return reader.release_through(number);  // nothing to keep, or a predecessor had just put it into the file
  }
  const ProfileRange range(write_range_, number);
  failpoint("publisher.packet", config_.name);
  const ThreadWait wait = disk_wait();
  recording_->take(packet, number, ring.stream);
  if (reader.fill() > fullest || audio_.fill() > fullest) recording_->commit();
  reader.release_through(recording_->safe());
}

// What audio there is, is looked up with key frames.
void CameraPublisher::offer_live(const PacketView& packet, const StreamParameters& stream) {
  failpoint("publisher.live", config_.name);
  if (packet.key && audio_.stream() != live_audio_) {
    if (const auto audio = audio_.described()) {
      live_->set_audio(*audio);
      live_audio_ = audio_.stream();
    }
  }
  live_->offer(packet, stream);
}

void CameraPublisher::offer_audio(const PacketView& packet, const AudioParameters& stream) {
  pushes_->offer_audio(packet, stream);
  if (live_ && live_audio_ == stream) live_->offer_audio(packet);
}

// Everything taken so far goes into the file; then its packets are given back.
void CameraPublisher::commit(PacketRingReader& reader) {
  if (!recording_) return;
  const ThreadWait wait = disk_wait();
  recording_->commit();
  reader.release_through(recording_->safe());
}

}  // namespace campipe
