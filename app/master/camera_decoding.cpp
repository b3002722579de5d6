#include "app/master/camera_decoding.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "app/control/thread_scope.h"
#include "app/master/ingest_refusal.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "ipc/decode_blocks.h"
#include "ipc/rig_page.h"

namespace campipe {
namespace {

constexpr auto start_deadline = std::chrono::seconds(30);     // for the other processes to be ready
constexpr auto first_retry = std::chrono::milliseconds(500);  // after decoding has failed
constexpr auto longest_retry = std::chrono::seconds(30);

}  // namespace

CameraDecoding::CameraDecoding(const DecodingStart& start, const RigPage& page, Events events)
    : start_(start),
      page_(page),
      events_(std::move(events)),
      decoding_(start, page, stop_, events_.on_ring),
      retry_(first_retry, longest_retry) {
  failpoint("decoding.thread", start_.name);
  thread_ = std::jthread([this] { run(); });
}

// The process's main thread waits here: a camera in quarantine may still wait for a worker that does not come any more.
CameraDecoding::~CameraDecoding() {
  stop_.give_up();
  finish();
}

void CameraDecoding::run() {
  ThreadScope scope(page_.decode(start_.camera, start_.process).thread, "dec:" + start_.name);
  stop_.attach(scope);
  std::string failure;
  bool left = false;
  try {
    pin_to_cores();
    take_all();
  } catch (const DecodingWasLeft&) {
    left = true;
  } catch (const std::exception& error) {
    if (ends_process(error)) events_.on_gpu_lost(error.what());
    if (!stop_.stopped()) {
      failure = error.what();
    } else {
      spdlog::info("{}: stopped: {}", start_.name, error.what());
    }
  }
  decoding_.close();
  over_ = true;
  if (left) return events_.on_left();
  events_.on_over(failure);
}

void CameraDecoding::pin_to_cores() const {
  const auto& cores = start_.placement.decode_cpus;
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : cores) CPU_SET(cpu, &set);
  if (const int code = pthread_setaffinity_np(pthread_self(), sizeof set, &set); code != 0)
    spdlog::warn("{}: {}", start_.name, system_error("cannot pin its thread to its cores", code).what());
}

void CameraDecoding::take_all() {
  while (!feeds_.is_over() && !stop_.given_up()) {
    end_if_left();
    stop_.beat();
    if (const auto feed = feeds_.next(beat_slice)) {
      take(*feed);
      events_.on_fed(feed->start.epoch);
    }
    decoding_.serve();
  }
  const bool nothing = start_.decode && any_feed_ && start_.base + decoding_.given() == 0;
  if (nothing && !start_.live && !stop_.stopped()) throw Error("no frame could be decoded");
}

// Here nothing is half done.
void CameraDecoding::end_if_left() const {
  if (stop_.left()) throw DecodingWasLeft();
}

// Another process has read the source once more, and nothing of that has been published yet.
bool CameraDecoding::comes_again(const FeedStart& feed) const {
  if (any_feed_) return feed.again;
  if (!start_.replays) return true;
  return feed.again && !decoding_.knows_of(feed.packet);
}

void CameraDecoding::take(const Feed& feed) {
  if (comes_again(feed.start)) decoding_.read_by_another();
  PacketIntake intake(feed.packets, decoding_,
                      [this](const AVPacket& packet, PacketNote& note) { begin(packet, note); });
  if (start_.skips && !any_feed_) {
    spdlog::warn("{}: goes on behind the packet at which its decoder crashed twice", start_.name);
    intake.skip_tried();
  }
  any_feed_ = true;
  while (!stop_.given_up()) {
    end_if_left();
    stop_.beat();
    if (!try_to_take(intake)) return;
    decoding_.serve();
  }
}

// False: nothing more comes of this ring.
bool CameraDecoding::try_to_take(PacketIntake& intake) {
  using Next = PacketIntake::Next;
  Next next = Next::timeout;
  try {
    next = intake.next(Clock::now() + beat_slice);
    if (failing_ && decoding_.given() > given_before_) report_state(true, "");
  } catch (const std::exception& error) {
    if (ends_process(error) || !start_.live || !start_.decode) throw;
    report_state(false, error.what());
    decoding_.disconnect();
    intake.begin_anew(Clock::now() + retry_.next(false));
    return true;
  }
  switch (next) {
    case Next::packet:
    case Next::timeout:
      return true;
    case Next::broken:
      accuse(page_.decode(start_.camera, start_.process).accusation, Accused::other_end);
      [[fallthrough]];
    case Next::writer_gone:
      end_without_end();
      return false;
    case Next::ended:
    case Next::full:
      break;
  }
  return false;
}

// The next ring of a file begins where no frame is missed that has not been published. Nothing else comes again.
void CameraDecoding::end_without_end() {
  if (start_.live || start_.loops) return decoding_.empty();
  decoding_.disconnect();
}

// The decoder is there, and has a ring.
void CameraDecoding::begin(const AVPacket& packet, PacketNote& note) {
  if (!start_.decode || std::exchange(started_, true)) return;
  if (decoding_.wants_first_packet()) decoding_.prime(packet);
  wait_for_start();
  if (start_.live) return;
  // Its source waits for it: that it was read before does not count.
  const std::int64_t waited = now_ns() - note.arrival;
  note.arrival += waited;
  note.arrival_utc += waited;
  note.capture_utc += waited;
}

void CameraDecoding::wait_for_start() {
  const Deadline deadline = Clock::now() + start_deadline;
  while (!page_.barrier().over(0)) {
    if (stop_.beat_or_stop()) return;
    if (Clock::now() >= deadline) throw Error("the other processes were not ready in time");
    page_.barrier().wait(0, std::min(deadline, Clock::now() + beat_slice));
    decoding_.serve();
  }
  decoding_.wait_for_first_reader(deadline);
}

void CameraDecoding::report_state(bool decodes, const std::string& reason) {
  const std::optional<std::string> state = decodes ? std::nullopt : std::optional(reason);
  if (decodes) retry_.reset();
  given_before_ = decoding_.given();
  if (failing_ == state) return;
  if (decodes) {
    spdlog::info("{}: is decoded again", start_.name);
  } else {
    spdlog::warn("{}: cannot be decoded, and is tried again: {}", start_.name, reason);
  }
  failing_ = state;
  events_.on_state(decodes, reason);
}

}  // namespace campipe
