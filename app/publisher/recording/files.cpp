// How a recording's files begin and end.
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <initializer_list>
#include <utility>

#include "app/publisher/recording/recording.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "stages/sinks/stream_headers.h"

namespace campipe {
namespace {

constexpr std::int64_t second = 1'000'000'000;
// A longer one between two frames is a gap in the stream, which belongs to neither file.
constexpr std::int64_t longest_picture = 10 * second;
// Each file is some system calls, a line of the index and a fragment: a stream whose parameters change without end (a
// camera that alternates between two sizes) makes no more of them than this.
constexpr std::size_t most_changes = 10;
constexpr auto changes_in = std::chrono::seconds(20);

}  // namespace

std::int64_t arrival_utc_of(const PacketView& packet) {
  return utc_now_ns() - (packet.times.arrival > 0 ? now_ns() - packet.times.arrival : 0);
}

std::int64_t capture_utc_of(const PacketView& packet) {
  return packet.times.capture_utc > 0 ? packet.times.capture_utc : arrival_utc_of(packet);
}

// A day ends at midnight by the calendar, whether it has 23 or 25 hours. What is shorter counts on, since in an hour
// that comes twice the calendar does not say which one is meant.
std::int64_t next_segment_boundary(std::int64_t utc, std::chrono::nanoseconds length) {
  const std::time_t seconds = utc / second;
  std::tm local{};
  ::localtime_r(&seconds, &local);
  const std::int64_t shown = utc + std::int64_t{local.tm_gmtoff} * second;
  const std::int64_t next_shown = (shown / length.count() + 1) * length.count();
  const std::time_t next_seconds = next_shown / second;
  std::tm next{};
  ::gmtime_r(&next_seconds, &next);
  next.tm_isdst = -1;
  const std::int64_t by_calendar = std::int64_t{::mktime(&next)} * second + next_shown % second;
  const std::int64_t by_counting = utc + next_shown - shown;
  const bool whole_day = length.count() >= 24 * 3600 * second;
  return whole_day && by_calendar > utc ? by_calendar : by_counting;
}

// Also when the clock has been set back by so much that its boundary has become senseless.
bool Recording::is_over(const PacketView& packet) const {
  if (file_->boundary == 0) return false;
  const std::int64_t now = arrival_utc_of(packet);
  return now >= file_->boundary || now < file_->begun_utc - config_.record->segment_duration.count();
}

bool Recording::open_file(const PacketView& packet, const StreamParameters& stream) {
  if (!packet.key || (paused_ && Clock::now() < retry_at_)) return false;
  return begin_file(packet, stream);
}

// The file that a predecessor left.
void Recording::resume_file(const PacketView& packet, const StreamParameters& stream) {
  const auto left = load_record_progress(state_);
  const auto left_file = load_record_file(state_);
  if (left->position.packets == 0 && !packet.key) return;  // it waits for its first key frame
  const StreamParameters complete = with_headers(stream, packet.data);
  if (!left_file->has_stream(stream) || lacks_headers(complete)) return end_left_file(FileEnd::stream_changed);
  File file;
  file.stream = stream;
  const auto& audio = audio_.stream();
  if (audio && left_file->has_audio(*audio)) file.audio = audio;
  file.begin = left_file->begin;
  file.begun_utc = left_file->begun_utc;
  file.start_utc = left_file->start_utc;
  file.camera_clock = left_file->camera_clock;
  try {
    file.recorder =
        Recorder::resume(below(left_file->path), complete, left->position, file.audio, {file.begin, file.start_utc});
  } catch (const Error& error) {
    spdlog::warn("{}: {}; the recording goes on in a new file", config_.name, error.what());
    return end_left_file(FileEnd::interrupted);
  }
  may_resume_ = false;
  if (config_.record->segment_duration.count() > 0) {
    file.boundary = next_segment_boundary(file.begun_utc, config_.record->segment_duration);
  }
  file.announced = true;
  file.committed = left->position;
  file.committed_end = file.end = left->end;
  file.committed_end_utc = file.end_utc = left->end_utc;
  file_ = std::move(file);
  newest_path_ = file_->recorder->path();
  spdlog::info("{}: recording goes on in {}", config_.name, newest_path_);
  if (left->position.packets == 0) events_.on_file(newest_path_);  // the predecessor may have died before it could
}

// As a predecessor has committed it.
void Recording::end_left_file(FileEnd why) {
  may_resume_ = false;
  RecordProgress left = *load_record_progress(state_);
  const LeftFile file = *load_record_file(state_);
  if (std::exchange(left.ended, why) != why) store_record_progress(state_, left);
  const std::int64_t duration = left.end - file.begin;
  const bool empty = left.position.packets == 0;
  try {
    if (empty) {
      remove_recording(below(file.path));
    } else {
      write_duration(below(file.path), duration);
    }
  } catch (const Error& error) {  // it plays without
    spdlog::warn("{}: {}", config_.name, error.what());
  }
  if (empty) {
    disk_->deleted(file.path, "empty");
    store_record_progress(state_, progress(false));
  } else {
    disk_->end({left.end_utc, duration, left.position.offset, left.position.packets, name_of(why)});
    store_record_closed(state_, progress(false));
  }
}

// False: it cannot begin with this packet.
bool Recording::begin_file(const PacketView& first, const StreamParameters& stream) {
  const StreamParameters complete = with_headers(stream, first.data);
  if (lacks_headers(complete)) {
    if (!std::exchange(told_headers_, true)) {
      spdlog::warn("{}: the recording waits for a key frame with the headers of {}", config_.name, stream.codec);
    }
    return false;
  }
  begin_work();
  if (file_stream_ && file_stream_ != stream) limit_changes();
  File file;
  file.stream = stream;
  file.begin = file.end = file.committed_end = first.times.pts;
  file.begun_utc = arrival_utc_of(first);
  file.start_utc = file.end_utc = file.committed_end_utc = capture_utc_of(first);
  file.camera_clock = first.times.capture_utc > 0 && first.times.capture_clock == CaptureClock::camera;
  if (config_.record->segment_duration.count() > 0) {
    file.boundary = next_segment_boundary(file.begun_utc, config_.record->segment_duration);
  }
  const std::string path = path_at(file.begun_utc);
  if (overwrites(path, file.begun_utc)) remove_recording(below(path));
  file.audio = audio_track(path);
  file_ = std::move(file);
  try {
    create_file(below(path), complete);
  } catch (...) {
    file_.reset();
    store_record_progress(state_, progress(false));
    throw;
  }
  file_stream_ = stream;
  newest_path_ = file_->recorder->path();
  if (!paused_) announce_file();
  return true;
}

PathBelow Recording::below(const std::string& path) const { return path_below(index_path_.parent_path(), path); }

std::string Recording::path_at(std::int64_t utc) const {
  return expand_record_path(config_.record->path, config_.camera, config_.output, utc / second);
}

// Throws RecordFileError.
void Recording::limit_changes() {
  const auto now = Clock::now();
  while (!changes_.empty() && now - changes_.front() > changes_in) changes_.pop_front();
  if (changes_.size() >= most_changes) {
    throw RecordFileError(
        std::to_string(most_changes) + " new files within " + std::to_string(changes_in.count()) +
        " s, since the stream changes (size, codec, …) again and again; look at the camera's settings");
  }
  changes_.push_back(now);
}

// What was recorded before under that name is in the way, unless it is of this run and the path has been the same ever
// since: then the new one is numbered. A camera that comes anew has no state of what it recorded before.
bool Recording::overwrites(const std::string& path, std::int64_t utc) const {
  if (!config_.record->overwrite) return false;
  const auto before = load_record_file(state_);
  if (before && !before->path.empty() && path_at(before->begun_utc) == path) return false;
  struct stat there {};
  if (!status_below(below(path), there)) return false;
  const std::int64_t written = std::int64_t{there.st_mtim.tv_sec} * second + there.st_mtim.tv_nsec;
  return written < run_.earliest_utc() || was_other_between(written, utc);
}

// Half a minute back, half an hour, …: where a time field comes round again, it is another one there.
bool Recording::was_other_between(std::int64_t from, std::int64_t to) const {
  using namespace std::chrono_literals;
  const std::string path = path_at(to);
  return std::ranges::any_of(std::initializer_list<std::chrono::nanoseconds>{30s, 30min, 12h, 84h, 360h, 4380h},
                             [&](auto back) { return to - back.count() > from && path_at(to - back.count()) != path; });
}

void Recording::store_file(const std::string& path) {
  const File& file = *file_;
  store_record_file(state_,
                    {path, file.stream, file.audio, file.begin, file.begun_utc, file.start_utc, file.camera_clock},
                    progress(true));
}

// Without the audio, where the container refuses it after all.
void Recording::create_file(const PathBelow& path, const StreamParameters& stream) {
  File& file = *file_;
  const RecordStart start{file.begin, file.start_utc};
  const std::string name = unused_name(path).whole();
  store_file(name);
  failpoint("publisher.creating", config_.name);
  const bool wants_audio = file.audio.has_value();
  if (wants_audio) {
    try {
      file.recorder = Recorder::create(path, stream, audio_.described(), start);
    } catch (const RecordFileError&) {
      throw;
    } catch (const Error& error) {
      if (!std::exchange(told_audio_, true)) {
        spdlog::warn("{}: its audio is left out: {}", config_.name, error.what());
      }
      file.audio.reset();
    }
  }
  if (!file.recorder) file.recorder = Recorder::create(path, stream, std::nullopt, start);
  const bool as_stored = file.recorder->path() == name && file.audio.has_value() == wants_audio;
  if (!as_stored) store_file(file.recorder->path());
}

// Of a file that begins now.
std::optional<AudioParameters> Recording::audio_track(const std::string& path) {
  const auto audio = audio_.described();
  if (!audio) return std::nullopt;
  if (!can_record_audio(path, *audio)) {
    if (!std::exchange(told_audio_, true)) {
      spdlog::warn(
          "{}: its audio is left out: {} does not fit into this kind of file (Matroska, .mkv, takes nearly all)",
          config_.name, audio->codec);
    }
    return std::nullopt;
  }
  return audio_.stream();
}

// While paused, a file counts only when something has come into it: or a full disk, which still takes empty files,
// would be told of again and again.
void Recording::announce_file() {
  if (std::exchange(file_->announced, true)) return;
  disk_->begin({file_->recorder->path(), file_->start_utc, file_->camera_clock});
  events_.on_file(file_->recorder->path());
}

// The last frame is shown until `next` comes, if there is one.
void Recording::close_file(FileEnd why, const PacketView* next) {
  if (!file_) return;
  File& file = *file_;
  if (file.empty && file.committed.packets == 0) return drop_file();
  if (next != nullptr && std::abs(next->times.pts - file.end) < longest_picture) {
    file.end_utc += next->times.pts - file.end;
    file.end = next->times.pts;
  }
  file.ended = why;
  take_audio(file.end);  // its last fragment may have been committed when nobody knew that it was
  if (file.empty) {
    file.committed_end = file.end;
    file.committed_end_utc = file.end_utc;
    store_record_progress(state_, progress(true));
  } else {
    commit_fragment(file.end, file.end, file.end);
  }
  file.recorder->finish(file.committed_end - file.begin);
  disk_->sync(file.recorder->sync());
  complete_file();
}

// That it is over is stored, and in its header, as far as its disk allows.
void Recording::complete_file() {
  const File& file = *file_;
  disk_->end({file.committed_end_utc, file.committed_end - file.begin, file.committed.offset, file.committed.packets,
              name_of(file.ended)});
  file_.reset();
  store_record_closed(state_, progress(false));
  next_retention_ = {};
}

// As it was committed; what came in later is lost.
void Recording::drop_file() {
  if (!file_) return store_record_progress(state_, progress(false));
  if (file_->committed.packets == 0) return discard_file();
  file_->ended = FileEnd::error;
  store_record_progress(state_, progress(true));
  try {
    file_->recorder->finish(file_->committed_end - file_->begin);
  } catch (const RecordFileError& error) {  // the same disk; it plays without
    spdlog::debug("{}: {}", config_.name, error.what());
  }
  complete_file();
}

void Recording::discard_file() {
  try {
    file_->recorder->discard();
  } catch (const RecordFileError& error) {  // the same disk; an empty file stays
    spdlog::debug("{}: {}", config_.name, error.what());
  }
  if (file_->announced) disk_->deleted(file_->recorder->path(), "empty");
  newest_path_.clear();
  file_.reset();
  store_record_progress(state_, progress(false));
}

RecordProgress Recording::progress(bool open) const {
  RecordProgress progress;
  if (file_) {
    progress.position = file_->committed;
    progress.end = file_->committed_end;
    progress.end_utc = file_->committed_end_utc;
    progress.ended = file_->ended;
  }
  progress.number = safe_;
  progress.recorded = recorded_;
  progress.unrecorded = unrecorded_;
  progress.audio_epoch = audio_.position().epoch;
  progress.audio_number = audio_.position().number;
  if (motion_ && motion_->moving()) {
    progress.last_motion = motion_->last_motion();
    progress.score = motion_->highest();
  }
  progress.open = open;
  return progress;
}

}  // namespace campipe
