#include "app/source/ingest.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/control/thread_scope.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "ipc/rig_page.h"
#include "ipc/source_blocks.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto start_deadline = seconds(30);   // for the other processes to be ready
constexpr auto good_connection = seconds(10);  // one that delivered so long is worth a short wait again
constexpr auto longest_catching_up = std::chrono::seconds(10);
constexpr int most_empty_rounds = 2;

}  // namespace

Ingest::Ingest(const Start& start, const RigPage& page, const Events& events)
    : camera_(start, page.source(start.camera)),
      page_(page),
      events_(events),
      source_(camera_),
      clock_(camera_, source_),
      router_(camera_, page, events, clock_),
      pacer_(start.camera.index()),
      retry_(start.config.retry_interval, start.config.retry_max) {
  camera_.start.config.source.audio = start.audio.empty() ? Audio::off : Audio::copy;
  failpoint("ingest.thread", camera_.name());
  thread_ = std::jthread([this] { run(); });
}

Ingest::~Ingest() { camera_.stop.give_up(); }  // the process's main thread waits for it

void Ingest::run() {
  ThreadScope scope(camera_.source.thread, "in:" + camera_.name());
  camera_.stop.attach(scope);
  std::string failure;
  try {
    if (camera_.live) {
      keep_connected();
    } else {
      play_file();
    }
  } catch (const std::exception& error) {
    // One that was asked to stop while it opened its source has not failed: it was interrupted.
    if (!camera_.stop.stopped()) {
      failure = error.what();
    } else {
      spdlog::info("{}: stopped: {}", camera_.name(), error.what());
    }
  }
  router_.end();
  router_.close();
  source_.close();
  over_ = true;
  events_.on_over(failure, at_end_);
}

// Once, from its beginning or where a source before had come to.
void Ingest::play_file() {
  if (!connect_file()) return;
  clock_.begin_file();
  const bool loop = camera_.start.config.source.loop;
  const auto resume = router_.resume_file();
  pacer_.set_shown(resume.value_or(-1));
  if (resume && !loop) source_.seek(*resume);
  if (resume && camera_.group) catching_up_ = Clock::now() + longest_catching_up;
  deliver();
  if (camera_.stop.stopped()) return;
  at_end_ = true;
  // A loop ends only where a round of it gave nothing, and a successor of a dead source begins it anew.
  const bool nothing_before = !resume || loop;
  if (!nothing_before || packets_ > 0) return;
  throw Error("there is no video in it");
}

// One whose disk is not there now is waited for. False: it has been stopped.
bool Ingest::connect_file() {
  while (!camera_.stop.stopped()) {
    try {
      const bool connected = connect();
      if (connected && reported_) report_state(true, "");
      return connected;
    } catch (const SourceError& error) {
      source_.close();
      report_state(false, error.what());
    }
    camera_.stop.sleep_until(Clock::now() + retry_.next(false));
  }
  return false;
}

// A live source: again and again.
void Ingest::keep_connected() {
  const StopSignal& stop = camera_.stop;
  router_.resume_live();
  while (!stop.stopped()) {
    bool patient = false;
    std::string reason = "the source ended the stream";
    std::optional<Clock::time_point> connected;  // not the time that a camera takes that does not answer
    try {
      if (!connect()) return;
      connected = Clock::now();
      deliver_or_empty();
      at_end_ = source_.stream().finite && !stop.stopped();
      if (at_end_) return;
    } catch (const SourceError& error) {
      using Kind = SourceError::Kind;
      patient = error.kind == Kind::unauthorized || error.kind == Kind::unsupported;
      reason = error.what();
    } catch (const std::exception& error) {
      reason = error.what();
    }
    if (stop.stopped()) return;
    router_.disconnect();
    source_.close();
    clock_.disconnected();
    report_state(false, reason);
    const auto good = std::min<std::chrono::nanoseconds>(good_connection, camera_.start.config.retry_max);
    if (connected && Clock::now() - *connected > good) retry_.reset();
    camera_.stop.sleep_until(Clock::now() + retry_.next(patient));
  }
}

void Ingest::report_state(bool delivers, const std::string& reason) {
  State state{delivers, reason};
  if (reported_ == state) return;
  if (!delivers) {
    spdlog::warn("{}: away: {}", camera_.name(), reason);
  } else if (reported_) {
    spdlog::info("{}: delivers again", camera_.name());
  }
  reported_ = std::move(state);
  events_.on_state(delivers, reason);
}

// False: it has been stopped.
bool Ingest::connect() {
  source_.open();
  const std::string remark = source_.remark();
  if (!remark.empty() && remark != remark_) spdlog::warn("{}: {}", camera_.name(), remark);
  remark_ = remark;
  events_.on_opened(known_stream(source_.stream()));
  if (!fits()) return false;
  router_.begin(source_.stream());
  clock_.connected();
  pacer_.restart();
  return true;
}

// Else the supervisor, to which it is reported, stops this camera and has it run in another form.
bool Ingest::fits() {
  if (!camera_.start.undecided) return true;
  const AVPacket* first = may_be_untimed(source_.stream()) ? source_.look_at_first_video() : nullptr;
  const SentStream sends = sent_stream(source_.stream(), first);
  events_.on_stream(sends);
  if (campipe::fits(camera_.start.config, sends)) return true;
  while (!camera_.stop.stopped()) camera_.stop.sleep_until(Clock::now() + beat_slice);
  return false;
}

void Ingest::deliver() {
  AvPacket packet = make_av_packet();
  // Else who decodes waits for that, with the first packet.
  const bool waits = camera_.live || !camera_.start.decode;
  if (waits && !wait_for_start()) return;
  clock_.preview();
  while (!camera_.stop.stopped()) {
    camera_.stop.beat();
    if (!read(*packet)) break;
    if (camera_.live) report_state(router_.missing().empty(), router_.missing());
    take(*packet);
    av_packet_unref(packet.get());
    if (camera_.stop.given_up()) return;
  }
  if (camera_.live) router_.empty();
}

// What came before the source failed is shown.
void Ingest::deliver_or_empty() {
  try {
    deliver();
  } catch (const SourceError&) {
    if (!camera_.stop.stopped()) router_.empty();
    throw;
  }
}

bool Ingest::wait_for_start() {
  if (std::exchange(started_, true)) return true;
  const Deadline deadline = Clock::now() + start_deadline;
  while (!page_.barrier().over(0)) {
    if (camera_.stop.beat_or_stop()) return false;
    if (Clock::now() >= deadline) throw Error("the other processes were not ready in time");
    page_.barrier().wait(0, std::min(deadline, Clock::now() + beat_slice));
  }
  return true;
}

// The next packet of the video. False: none will come.
bool Ingest::read(AVPacket& packet) {
  while (!camera_.stop.beat_or_stop()) {
    const ReadResult result = source_.read(packet);
    if (result == ReadResult::packet) return true;
    if (result == ReadResult::audio) {
      router_.audio(packet, source_.times());
      av_packet_unref(&packet);
      continue;
    }
    if (result == ReadResult::interrupted || at_end()) return false;
  }
  return false;
}

void Ingest::take(const AVPacket& packet) {
  failpoint("source.packet", camera_.name());
  if (!camera_.live) clock_.observe(packet);  // it is paced by the timeline
  pace(packet);
  if (camera_.live) clock_.observe(packet);
  router_.video(packet);
  failpoint("source.passed", camera_.name());
  if (++packets_ == 1 && !camera_.live) pacer_.restart();  // it may have been waited for
}

// Each connection to a live source is paced by itself: its times are mapped once its first packet has come.
void Ingest::pace(const AVPacket& packet) {
  const SourceStream& stream = source_.stream();
  const bool paced = camera_.live ? stream.in_bursts : camera_.start.config.source.pace == Pace::realtime;
  const auto time = clock_.source_time(packet);
  const bool in_group = camera_.group && !camera_.live && time;
  const std::int64_t set = in_group ? set_of(*time) : 0;
  if (in_group && packets_ == 0) begin_in_group();
  // The first one may still have to wait for whoever takes it, and is the pacer's beginning only then.
  const auto lag = in_group && paced && packets_ > 0 ? lag_behind_group(set) : std::nullopt;
  if (lag && *lag > std::chrono::nanoseconds(0)) {
    pacer_.restart();  // its packets are due at once
  } else if (paced && time) {
    const std::int64_t at = camera_.live ? *time : clock_.source_clock().map(*time);
    if (lag) pacer_.begin(Clock::now() - *lag, at);
    const auto due = pacer_.due(at, stream.frame_rate);
    camera_.stop.sleep_until(due);
    if (!camera_.live) clock_.passed_late(Clock::now() - due);
  }
  if (in_group) camera_.group->ahead(camera_.start.camera, set, Clock::now());  // for others that come to catch up
  clock_.arrived(camera_.live && !paced);
}

// One that begins with its group catches up with it; the master moves others to where it is.
void Ingest::begin_in_group() {
  const auto now = Clock::now();
  const auto age = camera_.group->age(now);
  clock_.begin_in_group(age);
  if (GroupClock::begins_together(age)) catching_up_ = now + longest_catching_up;
}

// The set of its group that a packet of this time belongs to.
std::int64_t Ingest::set_of(std::int64_t time) {
  return camera_.group->set_of(clock_.source_clock().map(time) + camera_.start.set_move);
}

// A file of a group may take longer to open than the others; or it goes on where it was when a source before died,
// which may be behind the others: it was waiting for a worker. What is paced never catches up by itself. By how much it
// is behind, until it is not any more: then, once, by how much it is ahead, below 0. Nothing where it was in time, and
// after a while in any case.
std::optional<std::chrono::nanoseconds> Ingest::lag_behind_group(std::int64_t set) {
  if (!catching_up_) return std::nullopt;
  const auto now = Clock::now();
  const auto lag = camera_.group->lag(camera_.start.camera, set, now);
  if (!lag && now <= *catching_up_) return std::nullopt;
  const bool is_late = lag && *lag > (is_behind_ ? std::chrono::nanoseconds(0) : camera_.group->jitter());
  const bool was_behind = std::exchange(is_behind_, is_late);
  if (!is_late || now > *catching_up_) catching_up_.reset();
  return is_late || was_behind ? lag : std::nullopt;
}

// The source is at its end: true if that is the end of the camera, or of this connection to it.
bool Ingest::at_end() {
  if (camera_.live || !camera_.start.config.source.loop) return true;
  if (packets_ == 0) return true;  // nothing comes of it: going round and round would not help
  rounds_.empty = std::exchange(rounds_.packets, packets_) == packets_ ? rounds_.empty + 1 : 0;
  if (rounds_.empty == most_empty_rounds)
    throw Error("its file gives nothing any more: it was cut short or overwritten meanwhile");
  begin_next_round(rounds_.empty == 0);
  return false;
}

void Ingest::begin_next_round(bool gave) {
  const std::int64_t at = router_.end_round(gave);
  clock_.next_round(at);
  pacer_.skip_to(at);
  source_.rewind();
}

}  // namespace campipe
