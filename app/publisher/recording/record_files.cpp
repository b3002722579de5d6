#include "app/publisher/recording/record_files.h"

#include <thread>
#include <utility>

#include "core/failpoint.h"
#include "core/frame_age.h"
#include "core/log.h"
#include "core/orientation.h"
#include "ipc/record_state.h"
#include "stages/sinks/stream_headers.h"

namespace campipe {
namespace {

constexpr unsigned most_headless = 2;  // of a stream that has just begun, they may come with the next key frame

constexpr auto lock_interval = std::chrono::milliseconds(20);

constexpr auto room_patience = std::chrono::seconds(2);  // with the housekeeper of a full disk; rings hold more

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

RecordFiles::RecordFiles(const ResolvedOutput& config, RecordStore& store, AudioFeed& audio, RecordPause& pause,
                         const RunStart& run, std::shared_ptr<Housekeeping> house, Events events)
    : config_(config),
      store_(store),
      audio_(audio),
      pause_(pause),
      events_(std::move(events)),
      names_(config, run),
      house_(std::move(house)),
      claim_(house_, names_.index()),
      lock_(std::make_shared<RecordLock>(names_.index())) {}

void RecordFiles::start(Clock::time_point wait_until) {
  bool is_another_folder = false;
  const auto is_taken = [&] {
    try {
      is_another_folder = lock_->take();
      return true;
    } catch (const RecordFileError&) {
      if (Clock::now() >= wait_until) throw;
      return false;
    }
  };
  while (!is_taken()) std::this_thread::sleep_for(lock_interval);
  if (disk_ && is_another_folder) return start_anew();
  if (disk_) return;
  const auto left = left_open(store_.state());
  const auto before = ended_before(store_.state());
  const bool is_over = before && (!left || left->file != before->begin.file);  // the name may have been taken again
  auto ending = is_over ? ending_of(names_.below(before->begin.file)) : nullptr;
  disk_.emplace(about_of(config_), lock_, house_, left, before, std::move(ending));
}

// Its disk is another one now, or its folder was deleted: the index that was there is none of what is there.
void RecordFiles::start_anew() {
  disk_.reset();
  disk_.emplace(about_of(config_), lock_, house_, std::nullopt, std::nullopt, nullptr);
}

// What is left open by a predecessor whose lock is not ours is ended by the next reader of the index.
bool RecordFiles::take_over() {
  const auto left = load_record_progress(store_.state());
  if (!left || !left->open || !disk_) return false;
  newest_path_ = load_record_file(store_.state())->path;
  may_resume_ = true;
  if (left->ended != FileEnd::none) end_left(left->ended);
  return may_resume_;
}

void RecordFiles::clock_jumped() {
  if (segment_) segment_->clock_jumped();
}

bool RecordFiles::write(const PacketView& packet, std::uint64_t number, const StreamParameters& stream) {
  if (may_resume_) resume_left(packet, stream);
  if (segment_ && segment_->file().stream != stream) close(FileEnd::stream_changed, nullptr);
  const auto is_over = [&] { return segment_->is_over(packet) || !names_.are_of(segment_->file().path); };
  if (segment_ && packet.key && has_other_audio()) close(FileEnd::stream_changed, &packet);
  if (segment_ && packet.key && is_over()) close(FileEnd::segment, &packet);
  if (segment_ && segment_->fragment_ends_before(packet)) flush_before(packet);
  if (!segment_ && (!packet.key || !pause_.may_try() || !begin(packet, stream))) return false;
  if (segment_->is_before(packet)) return false;
  take_audio(packet.dts);
  segment_->write(packet, store_.write(number));
  warn_of_clock_step();
  return true;
}

// Than when its file was begun, and its container can have it. Where there was none, it waits for the next file.
bool RecordFiles::has_other_audio() {
  const auto& audio = audio_.stream();
  return audio && begun_with_ && audio != begun_with_ && can_record_audio(segment_->file().path, *audio);
}

void RecordFiles::warn_of_clock_step() {
  const auto step = segment_->take_clock_step();
  const auto more = step ? clock_lines_.pass() : std::nullopt;
  if (!more) return;
  spdlog::warn(
      "{}: by its frames' timestamps the camera's time of day has jumped by {:+.1f} s: a new file begins with the next "
      "key frame{}",
      config_.name, std::chrono::duration<double>(*step).count(), *more);
}

void RecordFiles::resume_left(const PacketView& packet, const StreamParameters& stream) {
  const RecordProgress left = *load_record_progress(store_.state());
  const LeftFile left_file = *load_record_file(store_.state());
  if (left.position.packets == 0 && !packet.key) return;  // it waits for its first key frame
  const StreamParameters complete = with_headers(stream, packet.data);
  if (!left_file.has_stream(stream) || lacks_headers(complete)) return end_left(FileEnd::stream_changed);
  RecordFile file{left_file.path, stream, {}, left_file.begin, left_file.start_utc, left_file.camera_clock};
  const auto& audio = audio_.stream();
  if (audio && left_file.has_audio(*audio)) file.audio = audio;
  std::unique_ptr<Recorder> recorder;
  try {
    recorder =
        Recorder::resume(names_.below(file.path), complete, left.position, file.audio, {file.begin, file.start_utc});
  } catch (const Error& error) {
    spdlog::warn("{}: {}; the recording goes on in a new file", config_.name, error.what());
    return end_left(FileEnd::interrupted);
  }
  may_resume_ = false;
  begun_with_ = file.audio;
  disk_->keep(recorder->path());
  newest_path_ = recorder->path();
  segment_.emplace(std::move(file), std::move(recorder), config_.record->segment_duration,
                   Segment::Extent{left.position, left.end, left.end_utc});
  announced_ = true;
  spdlog::info("{}: recording goes on in {}", config_.name, newest_path_);
  if (left.position.packets == 0) events_.on_file(newest_path_);  // the predecessor may have died before it could
}

// As a predecessor has committed it.
void RecordFiles::end_left(FileEnd why) {
  may_resume_ = false;
  store_.end_left(why);
  const RecordProgress left = *load_record_progress(store_.state());
  const LeftFile file = *load_record_file(store_.state());
  const std::int64_t duration = left.end - file.begin;
  const bool empty = left.position.packets == 0;
  try {
    if (empty) {
      remove_recording(names_.below(file.path));
    } else {
      write_duration(names_.below(file.path), duration);
    }
  } catch (const Error& error) {  // it plays without
    spdlog::warn("{}: {}", config_.name, error.what());
  }
  if (empty) {
    disk_->deleted(file.path, "empty");
    store_.store_none();
  } else {
    disk_->wait_for_lines();
    disk_->end({left.end_utc, duration, left.position.offset, left.position.packets, name_of(why)},
               ending_of(names_.below(file.path)));
    store_.close();
  }
}

template <typename Work>
auto RecordFiles::with_room(const Work& work) {
  const Deadline deadline = Clock::now() + room_patience;
  for (;;) {
    try {
      return work();
    } catch (const NoRoomError& error) {
      if (!house_->make_room(names_.index(), error.bytes, deadline)) throw;
    }
  }
}

// False: it cannot begin with this packet.
bool RecordFiles::begin(const PacketView& first, const StreamParameters& stream) {
  const StreamParameters complete = with_headers(stream, first.data);
  if (lacks_headers(complete)) {
    if (++headless_ > most_headless)
      throw RecordFileError("the camera sends no parameter sets of " + stream.codec +
                            ", without which no file could be played; have it encoded (encode: {codec: h264})");
    return false;
  }
  headless_ = 0;
  start();
  changes_.check(stream);
  warn_of_mirrored(stream);
  RecordFile file;
  file.stream = stream;
  const std::int64_t taken = capture_utc_of(first.times);
  const auto joins_at = std::exchange(joins_at_, std::nullopt);
  file.begin = joins_at ? begin_of_next(first, *joins_at) : first.times.pts;
  file.start_utc = taken - (first.times.pts - file.begin);
  file.camera_clock = first.times.capture_utc > 0 && first.times.capture_clock == CaptureClock::camera;
  const std::string path = names_.path_at(taken);
  if (names_.overwrites(path, taken, store_.state())) remove_recording(names_.below(path));
  file.audio = audio_track(path);
  begun_with_ = audio_.stream();
  std::unique_ptr<Recorder> recorder;
  try {
    recorder = with_room([&] { return create(names_.below(path), complete, file); });
  } catch (...) {
    disk_->keep("");
    store_.store_none();
    throw;
  }
  changes_.begun(stream);
  newest_path_ = recorder->path();
  const Segment::Extent nothing{{}, file.begin, file.start_utc};
  segment_.emplace(std::move(file), std::move(recorder), config_.record->segment_duration, nothing);
  announced_ = false;
  if (!pause_.is_on()) announce();
  return true;
}

void RecordFiles::warn_of_mirrored(const StreamParameters& stream) {
  const bool can_say = !is_mirrored(stream.rotation) || config_.record->path.ends_with(".mp4");
  if (can_say || std::exchange(reported_mirrored_, true)) return;
  spdlog::warn(
      "{}: its frames are to be shown mirrored, which Matroska (.mkv) cannot say: record to .mp4, or have it encoded "
      "(encode: {{codec: h264}})",
      config_.name);
}

// Without the audio, where the container refuses it after all.
std::unique_ptr<Recorder> RecordFiles::create(const PathBelow& path, const StreamParameters& stream, RecordFile& file) {
  const RecordStart start{file.begin, file.start_utc};
  file.path = unused_name(path).whole();
  store_.begin(file);
  disk_->keep(file.path);
  failpoint("publisher.creating", config_.name);
  std::unique_ptr<Recorder> recorder;
  const bool wants_audio = file.audio.has_value();
  if (wants_audio) {
    try {
      recorder = Recorder::create(path, stream, audio_.described(), start);
    } catch (const RecordFileError&) {
      throw;
    } catch (const Error& error) {
      if (!std::exchange(reported_audio_, true)) {
        spdlog::warn("{}: its audio is left out: {}", config_.name, error.what());
      }
      file.audio.reset();
    }
  }
  if (!recorder) recorder = Recorder::create(path, stream, std::nullopt, start);
  if (recorder->path() == file.path && file.audio.has_value() == wants_audio) return recorder;
  file.path = recorder->path();
  disk_->keep(file.path);
  store_.begin(file);
  return recorder;
}

// Of a file that begins now.
std::optional<AudioParameters> RecordFiles::audio_track(const std::string& path) {
  const auto audio = audio_.described();
  if (!audio) return std::nullopt;
  if (!can_record_audio(path, *audio)) {
    if (!std::exchange(reported_audio_, true)) {
      spdlog::warn("{}: its audio is left out: {} does not fit into this kind of file{}", config_.name, audio->codec,
                   path.ends_with(".mp4") ? " (Matroska, .mkv, takes nearly all)" : "");
    }
    return std::nullopt;
  }
  return audio_.stream();
}

// While paused, a file counts only when something has come into it: or a full disk, which still takes empty files,
// would be reported again and again.
void RecordFiles::announce() {
  if (std::exchange(announced_, true)) return;
  const RecordFile& file = segment_->file();
  disk_->begin({file.path, file.start_utc, file.camera_clock});
  events_.on_file(file.path);
}

// Frames that end by then: one that lasts beyond the end of its file belongs to the next file, whose track then begins
// when its frames do. Where no file follows at once, those that begin by then.
void RecordFiles::take_audio(std::int64_t until) {
  const auto write = [this](const PacketView& packet, const AudioParameters& stream) {
    if (segment_) segment_->write_audio(packet, stream);
  };
  const bool is_last = segment_ && segment_->ended() != FileEnd::none && segment_->ended() != FileEnd::segment;
  if (is_last) return audio_.take(until, write);
  for (auto next = audio_.peek(); next && next->times.pts + next->times.duration <= until; next = audio_.peek()) {
    audio_.take(next->times.pts + 1, write);
  }
}

void RecordFiles::pass_audio(std::int64_t until) {
  take_audio(until);
  audio_.give_back();
}

void RecordFiles::flush() {
  if (segment_ && !segment_->fragment_is_empty()) commit(segment_->fragment_end(), std::nullopt);
}

void RecordFiles::flush_before(const PacketView& next) { commit(next.times.pts, next.dts); }

void RecordFiles::commit(std::int64_t audio_until, std::optional<std::int64_t> next_dts,
                         std::optional<std::int64_t> file_end) {
  take_audio(audio_until);
  const Segment::Committed committed = with_room([&] { return segment_->commit(next_dts, file_end); });
  failpoint("publisher.flushed", config_.name);
  store_.commit(*segment_, committed);
  failpoint("publisher.committed", config_.name);
  audio_.give_back();
  if (const auto missing = pause_.end()) events_.on_resumed(*missing);
  announce();
  disk_->sync_now_and_then(segment_->sync());
}

void RecordFiles::end(FileEnd why, const PacketView* next) {
  if (may_resume_) end_left(why);  // nothing has come that could go on in it
  close(why, next);
}

// The last frame is shown until `next` comes, if there is one.
void RecordFiles::close(FileEnd why, const PacketView* next) {
  if (!segment_) return;
  if (segment_->fragment_is_empty() && segment_->committed().position.packets == 0) return drop();
  segment_->end_with(why, next);
  if (next != nullptr) joins_at_ = segment_->end();
  take_audio(segment_->end());  // its last fragment may have been committed when nothing showed that it was the last
  if (segment_->fragment_is_empty()) {
    segment_->commit_end();
    store_.store(*segment_);
  } else {
    commit(segment_->end(), segment_->end(), segment_->end());
  }
  if (segment_->committed().position.packets == 0) return discard();  // all was damaged
  segment_->finish();
  complete(segment_->ending());
}

void RecordFiles::drop() {
  if (!segment_) return store_.store_none();
  if (segment_->committed().position.packets == 0) return discard();
  segment_->end_with(FileEnd::error, nullptr);
  store_.store(*segment_);
  try {
    segment_->finish();
  } catch (const RecordFileError& error) {  // the same disk; it plays without
    spdlog::debug("{}: {}", config_.name, error.what());
  }
  complete(nullptr);
}

// That it is over is stored, and in its header, as far as its disk allows.
void RecordFiles::complete(const std::shared_ptr<FileEnding>& ending) {
  const Segment::Extent& extent = segment_->committed();
  disk_->wait_for_lines();  // the end of the file before is in the state only as long as this one's is not
  disk_->keep("");          // before the housekeeper looks at what has ended
  disk_->end({extent.end_utc, segment_->duration(), extent.position.offset, extent.position.packets,
              name_of(segment_->ended())},
             ending);
  segment_.reset();
  store_.close();
}

void RecordFiles::discard() {
  try {
    segment_->discard();
  } catch (const RecordFileError& error) {  // the same disk; an empty file stays
    spdlog::debug("{}: {}", config_.name, error.what());
  }
  if (announced_) disk_->deleted(segment_->file().path, "empty");
  disk_->keep("");
  newest_path_.clear();
  segment_.reset();
  store_.store_none();
}

std::optional<std::string> RecordFiles::tick() {
  if (!disk_) return std::nullopt;
  auto problem = disk_->take_sync_problem();
  return segment_ ? problem : std::nullopt;
}

}  // namespace campipe
