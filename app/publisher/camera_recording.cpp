#include "app/publisher/camera_recording.h"

#include <chrono>
#include <thread>
#include <utility>

#include "app/control/thread_scope.h"
#include "core/failpoint.h"
#include "ipc/record_state.h"

namespace campipe {
namespace {

constexpr auto disk_patience = std::chrono::seconds(20);  // beside what any thread may be silent
// What the disk has not taken by then may be lost in a power cut. Users are promised that a rig ends within 5 s.
constexpr auto rest_patience = std::chrono::milliseconds(2500);
constexpr double fullest = 0.5;  // a fragment ends before it fills more of the ring than this

// A slow disk is no reason to be taken for hung.
ThreadWait disk_wait() { return ThreadWait(WaitsFor::disk, Clock::now() + disk_patience); }

}  // namespace

CameraRecording::CameraRecording(const ResolvedOutput& config, RecordState& state, AudioFeed& audio,
                                 Recording::Events events, bool on, std::shared_ptr<Housekeeping> house,
                                 const RunStart& run)
    : config_(config),
      state_(state),
      audio_(audio),
      events_(std::move(events)),
      house_(std::move(house)),
      run_(run),
      write_range_(config.name, "write"),
      on_(on) {}

void CameraRecording::set_fence(const std::string& fence) {
  const std::lock_guard lock(fence_mutex_);
  fence_ = fence;
  fence_is_new_ = true;
}

void CameraRecording::follow_fence() {
  fence_is_new_ = false;
  const std::lock_guard lock(fence_mutex_);
  if (!fence_.empty()) recording_->set_fence(fence_);
}

void CameraRecording::follow(PacketRingReader* reader, ThreadScope& scope) {
  if (recording_ && fence_is_new_) follow_fence();
  if (clock_jumped_.exchange(false) && recording_) recording_->clock_jumped();
  if (!config_.record) return;
  const bool was_stopped = was_stopped_.exchange(false);
  if (recording_ && (was_stopped || !on_)) {
    if (reader != nullptr) commit(*reader);
    end(scope);
  }
  if (recording_ || !on_) return;
  if (state_.failed.load() != 0) return;  // given up
  const ThreadWait wait = disk_wait();
  recording_.emplace(config_, state_, audio_, events_, house_, run_);
  follow_fence();
}

bool CameraRecording::takes() const { return recording_ && state_.failed.load() == 0; }

void CameraRecording::take(PacketRingReader& reader, const PacketView& packet, std::uint64_t number,
                           const StreamParameters& stream) {
  const bool takes_it = takes();
  if (config_.record && !takes_it) store_unrecorded(state_, number, on_ ? 1 : 0);
  if (!takes_it || number <= recording_->safe()) {
    return reader.release_through(number);  // nothing to keep, or a predecessor had just put it into the file
  }
  const ProfileRange range(write_range_, number);
  failpoint("publisher.packet", config_.name);
  const ThreadWait wait = disk_wait();
  recording_->take(packet, number, stream);
  if (reader.fill() > fullest || audio_.fill() > fullest) recording_->commit();
  reader.release_through(recording_->safe());
}

void CameraRecording::commit(PacketRingReader& reader) {
  if (!recording_) return;
  const ThreadWait wait = disk_wait();
  recording_->commit();
  reader.release_through(recording_->safe());
}

void CameraRecording::tick() {
  if (!recording_) return;
  const ThreadWait wait = disk_wait();
  recording_->tick();
}

void CameraRecording::end(ThreadScope& scope) {
  if (!recording_) return;
  {
    const ThreadWait wait = disk_wait();
    recording_->finish();
  }
  wait_for_disk(scope);
  const ThreadWait wait = disk_wait();
  recording_->tick();
  recording_.reset();
}

// Files are put on the disk by another thread, and may wait for the files of others, or for a disk that does not
// answer.
void CameraRecording::wait_for_disk(ThreadScope& scope) {
  const auto end = Clock::now() + rest_patience;
  while (!recording_->at_rest() && Clock::now() < end) {
    scope.beat();
    std::this_thread::sleep_for(beat_slice);
  }
}

}  // namespace campipe
