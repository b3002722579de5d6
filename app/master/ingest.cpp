#include "app/master/ingest.h"

#include <pthread.h>

#include <cmath>

#include "app/control/thread_scope.h"
#include "app/master/ingest_refusal.h"
#include "app/master/source_times.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto slice = milliseconds(100);             // how long a wait may last before the thread beats again
constexpr auto start_deadline = seconds(30);          // for the other processes to be ready
constexpr auto drain_deadline = seconds(2);           // for frames that are decoded when told to stop
constexpr auto uninterrupted = seconds(60);           // what FFmpeg itself asks name servers for takes no longer
constexpr auto good_connection = seconds(10);         // one that delivered so long is worth a short wait again
constexpr double longest_stagger = 1e8;               // ns
constexpr auto stall = milliseconds(500);             // of a live source; what comes behind it may come at once
constexpr std::size_t most_looked_at = 256;           // packets, for the first of the video
constexpr std::int64_t smallest_step = 1'000'000;     // ns, between frames whose times do not grow
constexpr std::int64_t longest_gap = 10'000'000'000;  // ns, in a file's times; more is not waited for

}  // namespace

Ingest::Ingest(const Start& start, const RigPage& page, const Events& events)
    : start_(start),
      page_(page),
      block_(page.master(start.camera)),
      events_(events),
      epoch_(start.epoch),
      live_(is_live(start.config.source.url)),
      clock_(live_),
      motion_(start.copies, page),
      copies_(start.copies, start.audio, start.config.drop_policy == DropPolicy::block, page,
              {[this](unsigned camera, std::uint64_t epoch, const PacketRingMemory& ring,
                      const StreamParameters& stream) { events_.on_copy(camera, epoch, ring, stream); },
               [this](unsigned camera, std::uint64_t epoch, const PacketRingMemory& ring,
                      const AudioParameters& stream) { events_.on_audio(camera, epoch, ring, stream); },
               [this] {
                 scope_->beat();
                 return given_up();
               },
               [this](unsigned camera) { return motion_.moving(camera); }}),
      demand_(start.on_demand, page),
      retry_(start.config.retry_interval, start.config.retry_max),
      skip_through_(start.resume) {
  if (copies_.wants_audio()) {
    start_.config.source.audio = Audio::copy;
  } else {
    start_.config.source.audio = Audio::off;  // nobody takes it
  }
  failpoint("ingest.thread", start_.config.name);
  thread_ = std::jthread([this] { run(); });
}

Ingest::~Ingest() { stop(); }

void Ingest::stop() {
  std::int64_t not_yet = 0;
  stop_at_.compare_exchange_strong(not_yet, now_ns());
  const std::lock_guard lock(stop_mutex_);
  stop_changed_.notify_all();
}

bool Ingest::given_up() const {
  const std::int64_t stopped = stop_at_.load();
  return stopped != 0 && now_ns() > stopped + std::chrono::nanoseconds(drain_deadline).count();
}

void Ingest::run() {
  ThreadScope scope(block_.ingest, "in:" + start_.config.name);
  scope_ = &scope;
  std::string failure;
  try {
    pin_to_cores();
    if (live_) {
      keep_connected();
    } else {
      produce();
    }
  } catch (const std::exception& error) {
    if (ends_process(error)) events_.on_gpu_lost(error.what());
    // One that was told to stop while it opened its source has not failed: it was interrupted.
    if (!stopped()) {
      failure = error.what();
    } else {
      spdlog::info("{}: stopped: {}", start_.config.name, error.what());
    }
  }
  if (ring_) ring_->close();
  copies_.close();
  decoder_.reset();
  motion_.end();
  close_source();
  over_ = true;
  events_.on_over(failure, at_end_);
}

// A file: once, from its beginning or where a master before had come to.
void Ingest::produce() {
  if (!connect()) return;
  clock_.begin(0, 0);
  go_back_to_resume();
  deliver();
  if (stopped()) return;
  at_end_ = true;
  // A loop ends only where a round of it gave nothing, and a successor of a dead master begins it anew.
  const bool nothing_before = !start_.resume || start_.config.source.loop;
  if (!nothing_before) return;
  if (start_.decode && published_ == 0) throw Error("no frame could be decoded");
  if (!start_.decode && copies_.end() < 0) throw Error("there is no video in it");
}

// A live source: again and again.
void Ingest::keep_connected() {
  skip_through_.reset();  // what a master before published will not come again
  if (start_.resume) timeline_.set_last(*start_.resume, 0);
  copies_.resume(false);
  const std::int64_t before = std::max(timeline_.last(), copies_.end());
  if (before >= 0) clock_.resume(before, block_.source.time_origin);
  while (!stopped()) {
    bool patient = false;
    std::string reason = "the source ended the stream";
    std::optional<Clock::time_point> connected;  // not the time that a camera takes that does not answer
    try {
      if (!connect()) return;
      connected = Clock::now();
      deliver_or_drain();
      at_end_ = source_->stream().finite && !stopped();
      if (at_end_) return;
    } catch (const SourceError& error) {
      using Kind = SourceError::Kind;
      patient = error.kind == Kind::unauthorized || error.kind == Kind::unsupported;
      reason = error.what();
    } catch (const std::exception& error) {
      if (ends_process(error)) throw;
      reason = error.what();
    }
    if (stopped()) return;
    // Whatever failed: it may have left the decoder without a ring for its frames.
    decoder_.reset();
    if (!start_.decode) end_decoding();
    close_source();
    clock_.reconnect();
    tell_state(false, reason);
    const auto good = std::min<std::chrono::nanoseconds>(good_connection, start_.config.retry_max);
    if (connected && Clock::now() - *connected > good) retry_.reset();
    sleep_until(Clock::now() + retry_.next(patient));
  }
}

void Ingest::tell_state(bool delivers, const std::string& reason) {
  if (delivers_ == delivers && told_reason_ == reason) return;
  if (!delivers) {
    spdlog::warn("{}: away: {}", start_.config.name, reason);
  } else if (delivers_) {
    spdlog::info("{}: delivers again", start_.config.name);
  }
  delivers_ = delivers;
  told_reason_ = reason;
  events_.on_state(delivers, reason);
}

// False: it has been stopped.
bool Ingest::connect() {
  {
    const ThreadWait wait(WaitsFor::source, source_deadline());
    source_ = start_.open_source(start_.config.source, [this] { return stopped(); });
  }
  ahead_.clear();
  if (!fits()) return false;
  if (start_.decode) begin_decoding();
  copies_.begin(source_->stream());
  begin_motion();
  notes_.clear();
  pace_anchor_.reset();
  burst_left_ = longest_burst;
  told_of_clock_.clear();
  return true;
}

// Else the supervisor, who is told, stops this camera and has it run in another form.
bool Ingest::fits() {
  if (!start_.undecided) return true;
  const auto is_video = [](const ReadAhead::Entry& entry) { return entry.result == ReadResult::packet; };
  const ReadAhead::Entry* first = may_be_untimed(source_->stream()) ? look_ahead() : nullptr;
  while (first != nullptr && !is_video(*first) && ahead_.size() < most_looked_at) first = look_ahead();
  const bool found = first != nullptr && is_video(*first);
  const SentStream sends = sent_stream(source_->stream(), found ? first->packet.get() : nullptr);
  events_.on_stream(sends);
  if (campipe::fits(start_.config, sends)) return true;
  while (!stopped()) sleep_until(Clock::now() + slice);
  return false;
}

void Ingest::deliver() {
  AvPacket packet = make_av_packet();
  if (on_hardware_ && start_.decode && !live_) prime(*packet);
  if (!wait_for_start()) return;
  preview();
  while (!stopped()) {
    scope_->beat();
    if (packet->data == nullptr && !read(*packet)) break;
    if (live_) tell_state(true, "");
    take(*packet);
    av_packet_unref(packet.get());
    if (given_up()) return;
  }
  if (decoder_) try_to_decode([this] { decode(nullptr); });
}

// What came before the source failed is shown.
void Ingest::deliver_or_drain() {
  try {
    deliver();
  } catch (const SourceError&) {
    if (!stopped()) try_to_decode([this] { empty_decoder(); });
    throw;
  }
}

void Ingest::take(AVPacket& packet) {
  if (!live_) observe(packet);  // it is paced by the timeline
  pace(packet);
  if (live_) observe(packet);
  if ((packet.flags & AV_PKT_FLAG_CORRUPT) != 0) count_corrupt(packet.pos);
  const auto correction = copies_.video(packet, clock_, note(packet));
  look_for_motion(packet);
  if (!start_.decode) {
    if (correction) count(*correction);
    return decode_on_demand(packet);
  }
  decode_in_ring(packet);
}

void Ingest::go_back_to_resume() {
  if (!start_.decode) start_.resume = copies_.resume_at();
  if (!start_.resume) return;
  copies_.resume(!start_.config.source.loop);
  if (start_.config.source.loop) {
    // A loop has no place to go back to: it begins again.
    timeline_.set_last(std::max(*start_.resume, skip_through_.value_or(-1)), 0);
    clock_.begin(0, std::max(*start_.resume, copies_.end()) + smallest_step);
    skip_through_.reset();
  } else {
    const ThreadWait wait(WaitsFor::source, source_deadline());
    source_->seek(*start_.resume);
    ahead_.clear();
  }
}

// The next packet of the video. False: none will come.
bool Ingest::read(AVPacket& packet) {
  while (!stopped()) {
    scope_->beat();
    const ReadResult result = read_source(packet);
    const SourceStream& stream = source_->stream();
    forget_absurd_times(packet, result == ReadResult::audio ? stream.audio_time_base : stream.time_base, live_);
    if (std::chrono::nanoseconds(ahead_.times().waited) > stall) burst_left_ = longest_burst;
    if (result == ReadResult::audio) {
      pass_on_audio(packet);
      av_packet_unref(&packet);
      continue;
    }
    if (result == ReadResult::interrupted || (result == ReadResult::end && at_end())) return false;
    if (result == ReadResult::end) continue;
    packet.pos = packets_read_++;  // by which its frame is known
    return true;
  }
  return false;
}

void Ingest::close_source() {
  const ThreadWait wait(WaitsFor::source, source_deadline());
  source_.reset();
}

ReadResult Ingest::read_source(AVPacket& packet) {
  const ThreadWait wait(WaitsFor::source, source_deadline());
  return ahead_.read(*source_, packet);
}

// By when a source has answered or has been given up: its silence is no hang of its thread. A file has no such time,
// since its disk may be another machine's; to end the process would bring back neither.
Deadline Ingest::source_deadline() const {
  return live_ ? Clock::now() + start_.config.source.read_timeout + uninterrupted : Deadline::max();
}

// A file's audio is not paced: it is read beside the video, which is. What lies before the video is left out in each
// turn of a loop: it would lie on the end of the turn before.
void Ingest::pass_on_audio(const AVPacket& packet) {
  const SourceStream& stream = source_->stream();
  const std::int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (!live_ && av_compare_ts(time, stream.audio_time_base, stream.start, stream.time_base) < 0) return;
  const PacketTimes times{ahead_.times().arrival, ahead_.times().arrival_utc, CaptureClock::arrival};
  if (copies_.audio(packet, clock_, times)) return;
  if (const auto more = sound_lines_.pass()) {
    spdlog::warn("{}: its sound becomes another one again and again; what comes within 10 s of that is left out{}",
                 start_.config.name, *more);
  }
}

void Ingest::pin_to_cores() const {
  if (start_.placement.decode_cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : start_.placement.decode_cpus) CPU_SET(cpu, &set);
  if (const int code = pthread_setaffinity_np(pthread_self(), sizeof set, &set); code != 0)
    spdlog::warn("{}: {}", start_.config.name, system_error("cannot pin its thread to its cores", code).what());
}

bool Ingest::wait_for_start() {
  if (std::exchange(started_, true)) return true;
  const Deadline deadline = Clock::now() + start_deadline;
  while (!page_.barrier().over(0)) {
    scope_->beat();
    if (stopped()) return false;
    if (Clock::now() >= deadline) throw Error("the other processes were not ready in time");
    page_.barrier().wait(0, std::min(deadline, Clock::now() + slice));
    if (ring_) ring_->service();
  }
  if (!ring_) return true;
  return ring_->wait_for_reader(deadline, [this] {
    scope_->beat();
    return stopped();
  }) || !stopped();
}

// Files that start together would deliver at the same moments for ever, and wait for one another's turn on the cores.
// Real cameras are not in step: the golden ratio spreads any number of them evenly over a frame's time, or a tenth of a
// second where that is longer.
std::chrono::nanoseconds Ingest::stagger() const {
  const double rate = source_->stream().frame_rate;
  if (rate <= 0) return {};
  const double turns = start_.camera * 0.6180339887;
  const double longest = std::min(1e9 / rate, longest_stagger);
  return std::chrono::nanoseconds(static_cast<std::int64_t>((turns - std::floor(turns)) * longest));
}

// A file at `realtime` gives each packet when its time has come, counted from the first; so does a live source that
// delivers seconds at once (HLS). Where the time jumps, it is counted from there.
void Ingest::pace(const AVPacket& packet) {
  const auto source_time = decode_time(packet);
  const bool paced = live_ ? source_->stream().in_bursts : start_.config.source.pace == Pace::realtime;
  if (paced && source_time) {
    // Each connection to a live source is paced by itself: its times are mapped once its first packet has come.
    const std::int64_t time = live_ ? *source_time : clock_.map(*source_time);
    const std::int64_t shown = live_ ? -1 : start_.resume.value_or(-1);  // what goes before has been shown
    if (!pace_anchor_) {
      pace_anchor_.emplace(Clock::now() + stagger(), std::max(time, shown));
      last_paced_ = time;
    }
    if (std::abs(time - last_paced_) > longest_gap && time > shown) {
      pace_anchor_.emplace(Clock::now(), time);
    }
    last_paced_ = time;
    sleep_until(pace_anchor_->first + std::chrono::nanoseconds(time - pace_anchor_->second));
  }
  const bool as_read = live_ && !paced;
  arrival_ = as_read ? ahead_.times().arrival : now_ns();
  arrival_utc_ = as_read ? ahead_.times().arrival_utc : utc_now_ns();
}

void Ingest::sleep_until(Deadline due) {
  const auto interrupted = [this] {
    scope_->beat();
    return stopped();
  };
  if (ring_) return ring_->sleep_until(due, interrupted);
  std::unique_lock lock(stop_mutex_);
  while (!interrupted() && Clock::now() < due) stop_changed_.wait_until(lock, std::min(due, Clock::now() + slice));
}

// The source is at its end: true if that is the end of the camera, or of this connection to it.
bool Ingest::at_end() {
  if (live_ || !start_.config.source.loop) return true;
  if (start_.decode && published_ == 0) return true;  // nothing comes out of it: going round and round would not help
  if (!start_.decode && copies_.end() < 0) return true;
  const std::int64_t given = start_.decode ? static_cast<std::int64_t>(published_) : copies_.end();
  empty_rounds_ = std::exchange(given_, given) == given ? empty_rounds_ + 1 : 0;
  // What a decoder kept of a round comes out in the next one.
  if (empty_rounds_ == 2) throw Error("its file gives nothing any more: it was cut short or overwritten meanwhile");
  finish_loop();
  return false;
}

void Ingest::finish_loop() {
  try_to_decode([this] { empty_decoder(); });
  const std::int64_t at = copies_.next_turn(std::max(start_.decode ? timeline_.end() : -1, copies_.end()));
  clock_.begin(0, at);
  last_paced_ = at;
  const ThreadWait wait(WaitsFor::source, source_deadline());
  source_->rewind();
  ahead_.clear();
}

}  // namespace campipe
