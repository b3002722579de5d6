#include "app/publisher/recording/recording.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto retry_interval = std::chrono::seconds(3);       // while paused
constexpr auto retention_interval = std::chrono::seconds(60);  // and at the end of each file
constexpr auto sync_interval = std::chrono::seconds(10);
constexpr auto lock_patience = std::chrono::seconds(3);  // with who had it before, and is about to end
constexpr auto lock_interval = std::chrono::milliseconds(20);
// Of a fragment at least: where each frame is a key frame, a fragment for each would be wasteful.
constexpr std::int64_t shortest_fragment = 200'000'000;

// The file that a predecessor left to be gone on in.
std::optional<RecordIndex::Begin> left_open(const RecordState& state) {
  const auto left = load_record_progress(state);
  if (!left || !left->open) return std::nullopt;
  const auto file = load_record_file(state);
  return RecordIndex::Begin{file->path, file->start_utc, file->camera_clock};
}

// The file that it has ended, which may not be in the index.
std::optional<RecordIndex::Ended> ended_before(const RecordState& state) {
  const auto file = load_ended_file(state);
  if (!file) return std::nullopt;
  return RecordIndex::Ended{{file->path, file->start_utc, file->camera_clock},
                            {file->end_utc, file->duration, file->bytes, file->packets, name_of(file->ended)}};
}

}  // namespace

Recording::Recording(const ResolvedOutput& config, RecordState& state, AudioFeed& audio, Events events,
                     const RunStart& run)
    : config_(config),
      state_(state),
      audio_(audio),
      events_(std::move(events)),
      run_(run),
      index_path_(record_index_path(config.record->path, config.camera, config.output)),
      lock_(std::make_shared<RecordLock>(index_path_)) {
  const RecordConfig& record = *config_.record;
  if (record.when == RecordWhen::motion) motion_.emplace(record.before, record.after);
  const auto left = load_record_progress(state_);
  if (left) {
    safe_ = number_ = written_ = left->number;
    recorded_ = left->recorded;
    unrecorded_ = left->unrecorded;
    audio_.skip({left->audio_epoch, left->audio_number});
  }
  guarded([&] { begin_work(Clock::now() + lock_patience); });
  if (!left || !disk_) return;  // what is left open is ended by whoever reads the index next
  may_resume_ = left->open;
  if (may_resume_ && left->ended != FileEnd::none) end_left_file(left->ended);
  if (motion_ && may_resume_ && left->last_motion >= 0) {
    motion_->resume(left->last_motion, left->score);
    newest_path_ = load_record_file(state_)->path;
  }
}

Recording::~Recording() = default;

// Before anything is written.
void Recording::begin_work(Clock::time_point wait_until) {
  const auto is_taken = [&] {
    try {
      lock_->take();
      return true;
    } catch (const RecordFileError&) {
      if (Clock::now() >= wait_until) throw;
      return false;
    }
  };
  while (!is_taken()) std::this_thread::sleep_for(lock_interval);
  if (!disk_) disk_.emplace(index_path_, lock_, left_open(state_), ended_before(state_));
}

// What goes wrong with the disk is waited for; the rest ends the recording, and the camera goes on.
void Recording::guarded(const std::function<void()>& action) {
  try {
    action();
  } catch (const RecordFileError& error) {
    pause(error.what());
  } catch (const std::exception& error) {
    fail(error.what());
  }
}

void Recording::take(const PacketView& packet, std::uint64_t number, const StreamParameters& stream) {
  number_ = number;
  newest_utc_ = capture_utc_of(packet);
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
  if (file_ || keeps_audio) return;
  take_audio(packet.dts);
  audio_.give_back();
}

void Recording::take_motion(const PacketView& packet, std::uint64_t number, const StreamParameters& stream) {
  if (stream_ && stream_ != stream) motion_->forget();
  switch (motion_->take(packet, number)) {
    case MotionGate::Does::go_on:
      return record(packet, number, stream);
    case MotionGate::Does::begin:
      begin_motion(packet, stream);
      break;
    case MotionGate::Does::end:
      end_motion(packet);
      break;
    case MotionGate::Does::nothing:
      break;
  }
  safe_ = number;
  const auto& kept = motion_->kept();
  if (!motion_->moving()) audio_.keep(kept.empty() ? packet.times.pts : kept.front().pts(), packet.dts);
}

void Recording::begin_motion(const PacketView& packet, const StreamParameters& stream) {
  newest_path_.clear();
  guarded([&] {
    for (const KeptPacket& kept : motion_->kept()) record(kept.view(), kept.number(), stream);
    flush();  // most of these are in no ring any more
  });
  events_.on_motion({true, motion_->highest(), capture_utc_of(packet), newest_path_});
}

void Recording::end_motion(const PacketView& packet) {
  guarded([&] {
    if (may_resume_) end_left_file(FileEnd::motion_over);  // nothing has come that could go on in it
    close_file(FileEnd::motion_over, &packet);
  });
  events_.on_motion({false, motion_->highest(), capture_utc_of(packet), newest_path_});
}

void Recording::record(const PacketView& packet, std::uint64_t number, const StreamParameters& stream) {
  if (may_resume_) resume_file(packet, stream);
  if (file_ && file_->stream != stream) close_file(FileEnd::stream_changed);
  if (file_ && packet.key && is_over(packet)) close_file(FileEnd::segment, &packet);
  if (file_ && packet.key && packet.dts - file_->first_dts >= shortest_fragment) flush(&packet);
  if (!file_ && !open_file(packet, stream)) return leave_out(number);
  write(packet, number);
}

void Recording::write(const PacketView& packet, std::uint64_t number) {
  File& file = *file_;
  if (file.empty) file.first_dts = packet.dts;
  take_audio(packet.dts);
  file.empty = false;
  file.recorder->write(packet);
  file.end_dts = packet.dts + packet.times.duration;
  file.end = std::max(file.end, packet.times.pts + packet.times.duration);
  file.end_utc = std::max(file.end_utc, capture_utc_of(packet) + packet.times.duration);
  if (number > written_) ++file.packets;
  written_ = std::max(written_, number);
}

// Paused, or it cannot be decoded without what came before. A file that a predecessor left stays as it is stored.
void Recording::leave_out(std::uint64_t number) {
  safe_ = std::max(safe_, number);
  ++unrecorded_;
  if (paused_) ++missing_;
  RecordProgress stored = load_record_progress(state_).value_or(RecordProgress{});
  stored.number = safe_;
  stored.unrecorded = unrecorded_;
  store_record_progress(state_, stored);
}

// Frames that end by then: one that lasts beyond the end of its file belongs to the next file, whose track then begins
// when its frames do. Where no file follows at once, those that begin by then.
void Recording::take_audio(std::int64_t until) {
  const auto write = [this](const PacketView& packet, const AudioParameters& stream) {
    const std::int64_t end = packet.times.pts + packet.times.duration;
    if (!file_ || file_->audio != stream || end <= file_->begin) return;
    file_->recorder->write_audio(packet);
    file_->empty = false;
  };
  const bool is_last = file_ && file_->ended != FileEnd::none && file_->ended != FileEnd::segment;
  if (is_last) return audio_.take(until, write);
  for (auto next = audio_.peek(); next && next->times.pts + next->times.duration <= until; next = audio_.peek()) {
    audio_.take(next->times.pts + 1, write);
  }
}

void Recording::flush(const PacketView* next) {
  if (!file_ || file_->empty) return;
  commit_fragment(next != nullptr ? next->times.pts : file_->end_dts,
                  next != nullptr ? std::optional(next->dts) : std::nullopt);
}

void Recording::commit_fragment(std::int64_t audio_until, std::optional<std::int64_t> next_dts,
                                std::optional<std::int64_t> file_end) {
  File& file = *file_;
  take_audio(audio_until);
  file.committed = file.recorder->flush(next_dts, file_end);
  failpoint("publisher.flushed", config_.name);
  file.committed_end = file.end;
  file.committed_end_utc = file.end_utc;
  file.empty = true;
  recorded_ += std::exchange(file.packets, 0);
  safe_ = std::max(safe_, written_);
  store_record_progress(state_, progress(true));
  failpoint("publisher.committed", config_.name);
  audio_.give_back();
  if (std::exchange(paused_, false)) events_.on_resumed(std::exchange(missing_, 0));
  announce_file();
  if (Clock::now() < next_sync_ || disk_->busy()) return;
  next_sync_ = Clock::now() + sync_interval;
  disk_->sync(file.recorder->sync());
}

void Recording::commit() {
  guarded([&] { flush(); });
}

void Recording::tick() {
  if (!disk_) return;
  if (const auto problem = disk_->take_retention_problem()) {
    if (!problem->empty() && *problem != told_problem_) spdlog::warn("{}: {}", config_.name, *problem);
    told_problem_ = *problem;
  }
  if (const auto problem = disk_->take_sync_problem(); problem && file_) pause(*problem);
  if (Clock::now() >= next_retention_) retain();
}

void Recording::retain() {
  const RecordConfig& record = *config_.record;
  if ((!record.delete_after && !record.max_size && !record.keep_free) || disk_->busy()) return;
  next_retention_ = Clock::now() + retention_interval;
  disk_->enforce({record.delete_after, record.max_size, record.keep_free}, file_ ? file_->recorder->path() : "");
}

void Recording::finish() {
  guarded([&] {
    if (may_resume_) end_left_file(FileEnd::stopped);  // nothing has come that could go on in it
    close_file(FileEnd::stopped);
  });
  if (motion_ && motion_->moving()) events_.on_motion({false, motion_->highest(), newest_utc_, newest_path_});
}

// What was committed stays as it is; what was not is lost.
void Recording::pause(const std::string& reason) {
  const std::uint64_t lost = number_ - std::min(safe_, number_);
  missing_ += lost;
  unrecorded_ += lost;
  safe_ = number_;
  drop_file();
  next_retention_ = {};  // it may make room
  retry_at_ = Clock::now() + retry_interval;
  if (!std::exchange(paused_, true)) events_.on_paused(reason);
}

void Recording::fail(const std::string& reason) {
  state_.failed = 1;
  unrecorded_ += number_ - std::min(safe_, number_);
  safe_ = number_;
  drop_file();
  events_.on_failed(reason);
}

}  // namespace campipe
