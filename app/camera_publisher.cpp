#include "app/camera_publisher.h"

#include <utility>

#include "app/record_state.h"
#include "app/thread_scope.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto slice = std::chrono::milliseconds(100);  // how long a wait may last before the thread beats again
constexpr double fullest = 0.5;                         // a fragment ends before it fills more of the ring than this

}  // namespace

CameraPublisher::CameraPublisher(unsigned camera, CameraConfig config, const RigPage& page, const Events& events)
    : camera_(camera), config_(std::move(config)), block_(page.camera(camera)), events_(events) {
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
  ThreadScope scope(block_.publish, "pb:" + config_.name);
  scope_ = &scope;
  if (const auto progress = load_record_progress(block_.record)) {
    committed_ = number_ = progress->number;
    recorded_ = progress->recorded;
  }
  while (const auto ring = next_ring()) drain(*ring);
  recorder_.reset();
  events_.on_done();
}

std::optional<CameraPublisher::Ring> CameraPublisher::next_ring() {
  std::unique_lock lock(mutex_);
  while (rings_.empty()) {
    if (finishing_) return std::nullopt;
    scope_->beat();
    changed_.wait_for(lock, slice);
  }
  Ring ring = std::move(rings_.front());
  rings_.pop_front();
  return ring;
}

void CameraPublisher::drain(const Ring& ring) {
  PacketRingReader reader(ring.memory);
  for (;;) {
    scope_->beat();
    PacketView packet;
    std::uint64_t number = 0;
    const auto next = reader.next(packet, number, Clock::now() + slice);
    if (next == PacketRingReader::Next::packet) {
      take(reader, packet, number, ring);
      continue;
    }
    const bool over = next != PacketRingReader::Next::timeout || abandoned_;
    if (over || reader.writer_waits()) finish_fragment(reader);
    if (!over) continue;
    events_.on_ring_done(ring.epoch);
    return;
  }
}

void CameraPublisher::take(PacketRingReader& reader, const PacketView& packet, std::uint64_t number, const Ring& ring) {
  if (!config_.record || block_.record.failed.load() != 0 || number <= committed_) {
    return reader.release_through(number);  // nothing to keep, or a predecessor had just put it into the file
  }
  const ProfileRange range(write_range_, number);
  failpoint("publisher.packet", config_.name);
  try {
    if (!recorder_ || file_stream_ != ring.stream) {
      commit(reader);
      open_file(ring);
    }
    if (packet.key && number_ != committed_) commit(reader);
    if (need_key_ && !packet.key) {  // cannot be decoded without what came before
      committed_ = number_ = number;
      return reader.release_through(number);
    }
    need_key_ = false;
    recorder_->write(packet);
    number_ = number;
    if (reader.fill() > fullest) commit(reader);
  } catch (const std::exception& error) {
    fail(error.what());
    reader.release_through(number);
  }
}

// The file that a predecessor left, if it is of this stream; else a new one.
void CameraPublisher::open_file(const Ring& ring) {
  const bool first = !file_stream_;
  file_stream_ = ring.stream;
  const auto progress = load_record_progress(block_.record);
  if (!first || !progress || !is_stream_of_file(block_.record, ring.stream)) return begin_file(ring.stream);
  try {
    recorder_ = Recorder::resume(record_path(block_.record), ring.stream, progress->position);
  } catch (const Error& error) {
    spdlog::warn("{}: {}; the recording goes on in a new file", config_.name, error.what());
    return begin_file(ring.stream);
  }
  need_key_ = progress->position.packets == 0;
  spdlog::info("{}: recording goes on in {}", config_.name, recorder_->path());
}

void CameraPublisher::begin_file(const StreamParameters& stream) {
  recorder_.reset();
  const std::string wanted = expand_record_path(config_.record->path, config_.name, utc_now_ns() / 1'000'000'000);
  recorder_ = Recorder::create(wanted, stream);
  store_record_file(block_.record, recorder_->path(), stream, {{}, committed_, recorded_});
  need_key_ = true;
  events_.on_file(recorder_->path());
}

// Everything written so far goes into the file; then its packets are given back.
void CameraPublisher::commit(PacketRingReader& reader) {
  if (!recorder_ || number_ == committed_) return;
  const RecordPosition position = recorder_->flush();
  failpoint("publisher.flushed", config_.name);
  recorded_ += number_ - committed_;
  store_record_progress(block_.record, {position, number_, recorded_});
  failpoint("publisher.committed", config_.name);
  committed_ = number_;
  reader.release_through(number_);
}

void CameraPublisher::finish_fragment(PacketRingReader& reader) {
  try {
    commit(reader);
  } catch (const std::exception& error) {
    fail(error.what());
    reader.release_through(number_);
  }
}

// The camera goes on without a recording; what was committed stays as it is.
void CameraPublisher::fail(const std::string& reason) {
  block_.record.failed = 1;
  recorder_.reset();
  events_.on_record_failed(reason);
}

}  // namespace campipe
