#include "stages/sinks/pusher.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/retry_wait.h"
#include "stages/sinks/push_connection.h"
#include "stages/sinks/push_queue.h"
#include "stages/sinks/push_target.h"
#include "stages/sinks/stream_headers.h"

namespace campipe {
namespace {

constexpr std::size_t max_bytes = 16 << 20;
constexpr auto max_time = std::chrono::seconds(4);
constexpr auto permit_slice = std::chrono::milliseconds(100);  // how often a limited permit is looked at
constexpr auto no_permit =
    "stopped: as far as this node knows, it may not push now, since another node may (etcd has not confirmed its "
    "lease, or the camera goes there)";

std::string cause_of(const PushError& error) {
  if (error.remedy == PushError::Remedy::none) return "the target cannot take this kind of stream";
  if (error.remedy == PushError::Remedy::credentials) return "the target refuses the credentials";
  switch (error.code) {
    case AVERROR(ENOENT):  // a name that is not known
    case AVERROR(ECONNREFUSED):
    case AVERROR(EHOSTUNREACH):
    case AVERROR(ENETUNREACH):
    case AVERROR(ETIMEDOUT):
      return "the target cannot be reached, or does not answer";
    default:
      return "the target refused the stream, or ended the connection";
  }
}

PushPacket copy(const PacketView& packet, std::span<const std::uint8_t> data) {
  PushPacket copied;
  copied.data = make_av_packet();
  copied.dts = packet.dts;
  copied.pts = packet.times.pts;
  copied.duration = packet.times.duration;
  copied.capture_utc = packet.times.capture_utc;
  copied.key = packet.key;
  if (av_new_packet(copied.data.get(), static_cast<int>(data.size())) < 0) throw std::bad_alloc();
  std::ranges::copy(data, copied.data->data);
  return copied;
}

}  // namespace

class Pusher::Sender {
 public:
  Sender(const PushUrl& url, StateHandler on_state, const PushPatience& patience, const PushPermit& permit)
      : target_(read_push_target(url)), on_state_(std::move(on_state)), patience_(patience), permit_(permit) {
    thread_ = std::jthread([this] { run(); });
  }

  const std::string& name() const { return target_.name; }

  void offer(const PacketView& packet, const StreamParameters& video, const std::optional<AudioParameters>& audio) {
    if (!stream_ || stream_->video != video || stream_->audio != audio) {
      stream_ = std::make_shared<const PushStream>(PushStream{video, audio});
    }
    add(copy(packet, packet.data));
  }

  void offer_audio(const PacketView& packet) {
    if (!stream_ || !stream_->audio) return;
    PushPacket copied = copy(packet, without_header(*stream_->audio, packet.data));
    copied.key = false;
    copied.audio = true;
    add(std::move(copied));
  }

  void lose() {
    const std::lock_guard lock(mutex_);
    queue_.lose();
    ++dropped_;
  }

  void lose_audio() { ++dropped_; }

  void finish() {
    const std::lock_guard lock(mutex_);
    if (!finishing_) leave_at_ = to_ns(Clock::now() + patience_.farewell);
    finishing_ = true;
    changed_.notify_one();
  }

  void wait_for_end() {
    if (thread_.joinable()) thread_.join();
  }

  PushCounts counts() const { return {sent_, dropped_, connects_}; }

 private:
  using Stream = std::shared_ptr<const PushStream>;

  void add(PushPacket packet) {
    packet.stream = stream_;
    const std::lock_guard lock(mutex_);
    // What came before a permit is not sent with it: another node may have sent it.
    if (!permit_.holds()) {
      dropped_ += queue_.clear() + 1;
      return;
    }
    dropped_ += queue_.add(std::move(packet));
    changed_.notify_one();
  }

  void run() {
    RetryWait waits(patience_.first_wait, patience_.longest_wait);
    Stream unfit;  // a stream that the target will never take
    while (const Stream stream = next_stream(unfit)) {
      const auto begin = Clock::now();
      try {
        serve(stream);
      } catch (const PushError& error) {
        if (finishing_) break;
        if (!permit_.holds()) {
          report_no_permit();
          continue;
        }
        report(error.code, {PushState::failed, error.what(), cause_of(error)});
        if (error.remedy == PushError::Remedy::none) unfit = stream;
        if (unfit == stream) continue;
        if (connected_ && Clock::now() - begin > patience_.call) waits.reset();  // it stood for a while
        wait(waits.next(error.remedy == PushError::Remedy::credentials));
      } catch (const std::exception& error) {  // no memory
        report(AVERROR(ENOMEM), {PushState::failed, error.what(), "campipe has no memory for it"});
        wait(waits.next(true));
      }
    }
    const std::lock_guard lock(mutex_);
    dropped_ += queue_.clear();
  }

  // Waits for a key frame; nothing: it is over.
  Stream next_stream(const Stream& unfit) {
    std::unique_lock lock(mutex_);
    for (;;) {
      dropped_ += queue_.drop_to_key();
      if (finishing_) return nullptr;
      if (queue_.empty()) {
        changed_.wait(lock);
      } else if (unfit && queue_.front().stream == unfit) {
        queue_.take();
        ++dropped_;
      } else {
        return queue_.front().stream;
      }
    }
  }

  // Returns when the stream is another, or it is over.
  void serve(const Stream& stream) {
    connected_ = false;
    const OpenPush open(permit_);
    if (!permit_.holds()) return lose_waiting();
    PushConnection connection(target_, *stream, patience_.call, [this] { return must_leave(); });
    connected_ = true;
    ++connects_;
    report(0, {PushState::connected, "", ""});
    while (auto packet = next_packet(stream)) {
      try {
        connection.send(std::move(*packet));
      } catch (...) {
        ++dropped_;
        throw;
      }
      ++sent_;
    }
  }

  std::optional<PushPacket> next_packet(const Stream& stream) {
    std::unique_lock lock(mutex_);
    const auto is_called = [this] { return !queue_.empty() || finishing_; };
    if (!permit_.is_limited()) changed_.wait(lock, is_called);
    while (permit_.is_limited() && permit_.holds() && !changed_.wait_for(lock, permit_slice, is_called)) continue;
    if (!permit_.holds()) {
      lock.unlock();
      report_no_permit();
      return std::nullopt;
    }
    if (queue_.empty() || queue_.front().stream != stream || must_leave()) return std::nullopt;
    return queue_.take();
  }

  void lose_waiting() {
    const std::lock_guard lock(mutex_);
    dropped_ += queue_.clear();
  }

  void report_no_permit() {
    lose_waiting();
    report(AVERROR(EPERM), {PushState::failed, no_permit, no_permit});
  }

  void wait(std::chrono::nanoseconds time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [this] { return finishing_.load(); });
  }

  // A connection that stands may say good-bye; one that does not is not worth waiting for.
  bool must_leave() const { return !permit_.holds() || (finishing_ && (!connected_ || now_ns() >= leave_at_)); }

  // The same code means the same report.
  void report(int code, const PushReport& news) {
    if (reported_ == code) return;
    reported_ = code;
    on_state_(news);
  }

  PushTarget target_;
  StateHandler on_state_;
  PushPatience patience_;
  const PushPermit permit_;
  Stream stream_;                // of the last packet offered
  std::optional<int> reported_;  // the code of what was reported last; 0: connected
  std::atomic<bool> connected_{false};
  std::atomic<std::int64_t> leave_at_{0};
  std::atomic<std::uint64_t> sent_{0};
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> connects_{0};

  std::mutex mutex_;
  std::condition_variable changed_;
  PushQueue queue_{max_bytes, max_time};
  std::atomic<bool> finishing_{false};
  std::jthread thread_;
};

Pusher::Pusher(const PushUrl& url, StateHandler on_state, const PushPatience& patience, const PushPermit& permit)
    : sender_(std::make_unique<Sender>(url, std::move(on_state), patience, permit)) {}

Pusher::~Pusher() { finish(); }

const std::string& Pusher::name() const { return sender_->name(); }

void Pusher::offer(const PacketView& packet, const StreamParameters& stream,
                   const std::optional<AudioParameters>& audio) noexcept {
  try {
    sender_->offer(packet, stream, audio);
  } catch (const std::bad_alloc&) {
    sender_->lose();
  }
}

void Pusher::offer_audio(const PacketView& packet) noexcept {
  try {
    sender_->offer_audio(packet);
  } catch (const std::bad_alloc&) {
    sender_->lose_audio();
  }
}

void Pusher::finish() { sender_->finish(); }

void Pusher::wait() { sender_->wait_for_end(); }

PushCounts Pusher::counts() const { return sender_->counts(); }

const char* name_of(PushState state) { return state == PushState::connected ? "connected" : "failed"; }

bool can_push_audio(const PushUrl& url, const AudioParameters& audio) {
  return can_carry(read_push_target(url), audio);
}

std::string push_name(const PushUrl& url) { return read_push_target(url).name; }

std::optional<std::string> check_push(const PushUrl& url) {
  try {
    read_push_target(url);
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

}  // namespace campipe
