#include "tests/sim/publishing.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/control/messages/from_publisher.h"
#include "tests/sim/child.h"
#include "tests/sim/machine.h"

namespace campipe::sim {
namespace {

constexpr std::uint64_t packets_a_fragment = 25;
constexpr auto disk_interval = seconds(3);  // of a recording that waits for its disk

}  // namespace

Publishing::Publishing(Child& child, const messages::PublishOutput& asked)
    : child_(child),
      output_(asked.output),
      block_(child.page().publish(asked.output)),
      name_(asked.config.name),
      camera_(asked.config.camera),
      may_record_(asked.config.record.has_value()),
      on_(asked.recording),
      was_stopped_(!on_),
      pushes_(child, asked.output, asked.config),
      node_(asked.config.node) {
  set_fence(asked.fence);
  block_.audience.watches.store(0);  // who watched a publisher before is gone
  progress_ = load_record_progress(block_.record).value_or(RecordProgress{});
  expected_ = progress_.number + 1;
  if (const auto file = load_record_file(block_.record); file && progress_.open)
    child_.machine().on_file(child_, file->path);
}

void Publishing::set_fence(const std::string& fence) {
  fence_ = fence;
  maker_ = node_.empty() ? "" : fmt::format("@{}@{}", node_, fence);
}

void Publishing::record(bool on) {
  if (!on) was_stopped_ = true;
  if (std::exchange(on_, on) || !on) return;
  progress_ = load_record_progress(block_.record).value_or(RecordProgress{});  // others have gone past meanwhile
}

void Publishing::add(std::uint64_t epoch, std::shared_ptr<PacketRingMemory> memory, StreamParameters stream) {
  child_.machine().witness().on_ring_given(child_.name(), camera_, name_, epoch);
  rings_.push_back({epoch, std::move(memory), std::move(stream)});
}

void Publishing::add_audio(std::uint64_t epoch, std::shared_ptr<PacketRingMemory> memory) {
  audio_rings_.push_back({epoch, std::move(memory), {}});
}

void Publishing::step() {
  if (done_) return;
  block_.thread.beat.store(now_ns());
  if (abandoned_) return end();
  if (std::exchange(was_stopped_, false)) {
    close_file(FileEnd::stopped);
    retry_at_.reset();
  }
  if (reader_ || !rings_.empty()) pushes_.step();
  const bool watched = child_.machine().owner().watches(camera_);
  if (watched && block_.audience.watches.exchange(1) == 0) block_.audience.arrivals.fetch_add(1);
  if (!watched) block_.audience.watches.store(0);
  for (unsigned i = 0; i < packets_a_step; ++i) {
    if (!next_packet()) break;
  }
  if (!reader_ && rings_.empty() && finishes_) end();
}

bool Publishing::next_packet() {
  if (!reader_) {
    if (rings_.empty()) return false;
    reader_.emplace(rings_.front().memory);
    if (const auto file = load_record_file(block_.record); file && !file->has_stream(rings_.front().stream))
      close_file(FileEnd::stream_changed);
  }
  PacketView packet;
  std::uint64_t number = 0;
  const auto next = reader_->next(packet, number, Clock::now());
  if (next == PacketRingReader::Next::packet) {
    take(packet, number);
    hear(packet.times.pts);
    return true;
  }
  if (next == PacketRingReader::Next::timeout) {
    if (reader_->writer_waits()) commit();
    return false;
  }
  if (next == PacketRingReader::Next::broken) accuse(block_.accusation, Accused::worker);
  commit();
  child_.send(messages::PacketRingDone{{output_, rings_.front().epoch}});
  child_.machine().witness().on_ring_done(camera_, name_, rings_.front().epoch);
  reader_.reset();
  rings_.pop_front();
  return false;
}

void Publishing::take(const PacketView& packet, std::uint64_t number) {
  if (number < expected_) return reader_->release_through(std::min(number, safe()));  // its predecessor had it
  // What is not recorded leaves no trace of how far it is.
  if (number > expected_ && may_record_)
    child_.machine().world().fail(fmt::format("{}: packet {} comes where {} was expected", name_, number, expected_));
  expected_ = number + 1;
  if (!records()) {
    if (may_record_) store_unrecorded(block_.record, number, on_ ? 1 : 0);
    return reader_->release_through(number);
  }
  if (progress_.open && packet.key && !is_under_fence()) close_file(FileEnd::segment);
  if (!progress_.open) {
    if (!packet.key || (retry_at_ && Clock::now() < *retry_at_)) return leave_out(number);
    if (child_.machine().disk_is_full() && child_.chance().one_in(2)) {  // it does not even take an empty file
      ++waiting_;
      newest_ = number;
      return pause();
    }
    begin_file();
  }
  ++waiting_;
  newest_ = number;
  newest_dts_ = packet.dts;
  if (waiting_ >= packets_a_fragment || reader_->fill() > 0.5) commit();
}

// Sound up to the frame that was taken: what comes later waits for the next one. What a successor finds has been given
// back already.
void Publishing::hear(std::int64_t until) {
  while (next_sound() && *sound_at_ < until) {
    heard_ = sound_;
    sound_at_.reset();
  }
  if (audio_ && heard_ > 0 && (!records() || !progress_.open)) audio_->release_through(heard_);
}

// False: there is none now.
bool Publishing::next_sound() {
  while (!sound_at_) {
    if (!audio_ && audio_rings_.empty()) return false;
    if (!audio_) audio_.emplace(audio_rings_.front().memory);
    PacketView packet;
    const auto next = audio_->next(packet, sound_, Clock::now());
    if (next == PacketRingReader::Next::timeout) return false;
    if (next == PacketRingReader::Next::packet) {
      sound_at_ = packet.times.pts;
      continue;
    }
    if (next == PacketRingReader::Next::broken) accuse(block_.accusation, Accused::source);
    child_.send(messages::AudioRingDone{{output_, audio_rings_.front().epoch}});
    audio_.reset();
    audio_rings_.pop_front();
    heard_ = 0;
  }
  return true;
}

bool Publishing::is_under_fence() const {
  const auto file = load_record_file(block_.record);
  return maker_.empty() || (file && file->path.find(maker_ + "-") != std::string::npos);
}

void Publishing::begin_file() {
  progress_.open = true;
  progress_.ended = FileEnd::none;
  RecordFile file;
  file.path = fmt::format("{}{}-{}.mp4", name_, maker_, now_ns());
  file.stream = rings_.front().stream;
  file.start_utc = utc_now_ns();
  store_record_file(block_.record, file, progress_);
  child_.machine().on_file(child_, file.path);
  child_.machine().cluster_watch().on_file(camera_, fence_);
  unannounced_ = file.path;
  if (!retry_at_) announce();
}

// While paused, a file counts only when something has come into it.
void Publishing::announce() {
  if (!unannounced_.empty()) child_.send(messages::FileBegun{output_, std::exchange(unannounced_, {})});
}

void Publishing::leave_out(std::uint64_t number) {
  progress_.number = number;
  ++progress_.unrecorded;
  store_record_progress(block_.record, progress_);
  reader_->release_through(number);
}

void Publishing::commit() {
  if (waiting_ == 0) return;
  if (child_.machine().disk_is_full()) return pause();
  if (retry_at_) child_.send(messages::RecordResumed{{output_}});
  retry_at_.reset();
  announce();
  progress_.number = newest_;
  progress_.recorded += waiting_;
  progress_.position.packets += waiting_;
  progress_.position.last_dts = newest_dts_;
  waiting_ = 0;
  child_.machine().cluster_watch().on_written(camera_);
  store_record_progress(block_.record, progress_);
  if (reader_) reader_->release_through(progress_.number);
  if (audio_ && heard_ > 0) audio_->release_through(heard_);
}

// What was not in the file yet is lost.
void Publishing::pause() {
  progress_.number = newest_;
  progress_.unrecorded += std::exchange(waiting_, 0);
  progress_.open = false;
  progress_.ended = FileEnd::error;
  store_record_progress(block_.record, progress_);
  if (reader_) reader_->release_through(progress_.number);
  if (child_.machine().disk_breaks()) {
    block_.record.failed = 1;
    child_.send(messages::RecordFailed{{output_, "Input/output error"}});
  } else if (!retry_at_) {
    child_.send(messages::RecordPaused{{output_, "No space left on device"}});
  }
  retry_at_ = Clock::now() + disk_interval;
}

void Publishing::close_file(FileEnd why) {
  commit();
  if (!progress_.open) return;
  progress_.open = false;
  progress_.ended = why;
  store_record_progress(block_.record, progress_);
}

void Publishing::end() {
  close_file(FileEnd::stopped);
  pushes_.close();
  done_ = true;
  block_.thread.beat.store(0);
  child_.machine().witness().on_all_done(camera_, name_);
  child_.send(messages::OutputDone{{output_}});
}

}  // namespace campipe::sim
