#include "app/publisher/recording/recording.h"

#include <chrono>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "ipc/record_state.h"

namespace campipe {
namespace {

constexpr auto lock_patience = std::chrono::seconds(3);  // with who had it before, and is about to end

std::optional<MotionGate> motion_of(const RecordConfig& record) {
  if (record.when != RecordWhen::motion) return std::nullopt;
  return std::make_optional<MotionGate>(record.before, record.after);
}

}  // namespace

Recording::Recording(const ResolvedOutput& config, RecordState& state, AudioFeed& audio, Events events,
                     std::shared_ptr<Housekeeping> house, const RunStart& run)
    : state_(state),
      audio_(audio),
      events_(std::move(events)),
      motion_(motion_of(*config.record)),
      store_(state, audio, motion_ ? &*motion_ : nullptr),
      files_(config, store_, audio, pause_, run, std::move(house), {events_.on_file, events_.on_resumed}) {
  const auto left = load_record_progress(state_);
  if (left) audio_.skip({left->audio_epoch, left->audio_number});
  guarded([&] { files_.start(Clock::now() + lock_patience); });
  if (files_.take_over() && motion_ && left->last_motion >= 0) motion_->resume(left->last_motion);
}

// What goes wrong with the disk is waited for; the rest ends the recording, and the camera goes on.
void Recording::guarded(const std::function<void()>& action) {
  try {
    action();
  } catch (const FileFullError& error) {
    pause(error.what(), false);
  } catch (const RecordFileError& error) {
    pause(error.what());
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

void Recording::take(const PacketView& packet, std::uint64_t number, const StreamParameters& stream) {
  store_.take(number);
  if (state_.failed.load() != 0) return leave_out(number);
  guarded([&] {
    if (motion_) {
      take_motion(packet, number, stream);
    } else {
      record(packet, number, stream);
    }
  });
  stream_ = stream;
  const bool keeps_audio = motion_ && !motion_->moving();
  if (!files_.is_open() && !keeps_audio) files_.pass_audio(packet.dts);
}

void Recording::take_motion(const PacketView& packet, std::uint64_t number, const StreamParameters& stream) {
  if (stream_ && stream_ != stream) motion_->forget();
  switch (motion_->take(packet, number)) {
    case MotionGate::Does::go_on:
      return record(packet, number, stream);
    case MotionGate::Does::begin:
      begin_motion(stream);
      break;
    case MotionGate::Does::end:
      guarded([&] { files_.end(FileEnd::motion_over, &packet); });
      break;
    case MotionGate::Does::nothing:
      break;
  }
  store_.pass(number);
  const auto& kept = motion_->kept();
  if (!motion_->moving()) audio_.keep(kept.empty() ? packet.times.pts : kept.front().pts(), packet.dts);
}

void Recording::begin_motion(const StreamParameters& stream) {
  files_.forget_newest();
  guarded([&] {
    for (const KeptPacket& kept : motion_->kept()) record(kept.view(), kept.number(), stream);
    files_.flush();  // most of these are in no ring any more
  });
}

void Recording::record(const PacketView& packet, std::uint64_t number, const StreamParameters& stream) {
  if (!files_.write(packet, number, stream)) leave_out(number);
}

// Paused, or it cannot be decoded without what came before.
void Recording::leave_out(std::uint64_t number) {
  store_.leave_out(number);
  pause_.leave_out();
}

void Recording::commit() {
  guarded([&] { files_.flush(); });
}

void Recording::tick() {
  if (const auto problem = files_.tick()) pause(*problem);
}

void Recording::finish() {
  guarded([&] { files_.end(FileEnd::stopped); });
}

// What was committed stays as it is; what was not is lost.
void Recording::pause(const std::string& reason, bool waits) {
  const std::uint64_t lost = store_.lose();
  files_.drop();
  if (pause_.begin(lost, waits)) events_.on_paused(reason);
}

void Recording::fail(const std::string& reason) {
  state_.failed = 1;
  store_.lose();
  files_.drop();
  events_.on_failed(reason);
}

}  // namespace campipe
