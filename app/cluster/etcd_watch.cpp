#include "app/cluster/etcd_watch.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <utility>

#include "app/cluster/etcd_json.h"
#include "core/error.h"
#include "core/retry_wait.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

void sleep_for(std::chrono::nanoseconds length, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, length, [] { return false; });
}

}  // namespace

EtcdWatch::EtcdWatch(Options options)
    : options_(std::move(options)), readable_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!readable_) throw system_error("eventfd", errno);
  static_cast<void>(EtcdClient(options_.servers));  // so that what is wrong with them is known here
  member_ = std::uniform_int_distribution<std::size_t>(0, options_.servers.urls.size() - 1)(random_);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

EtcdWatch::~EtcdWatch() = default;

std::vector<EtcdNews> EtcdWatch::take() {
  std::uint64_t ignored = 0;
  const std::lock_guard lock(mutex_);
  static_cast<void>(::read(readable_.get(), &ignored, sizeof ignored));
  return std::exchange(news_, {});
}

std::string EtcdWatch::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

EtcdWatch::Counts EtcdWatch::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void EtcdWatch::give(EtcdNews news) {
  const std::lock_guard lock(mutex_);
  if (news.anew) {
    news_.clear();  // which nobody needs any more
    ++counts_.read_anew;
  }
  news_.push_back(std::move(news));
  constexpr std::uint64_t one = 1;
  static_cast<void>(::write(readable_.get(), &one, sizeof one));
}

void EtcdWatch::set_problem(std::string problem) {
  const std::lock_guard lock(mutex_);
  problem_ = std::move(problem);
}

void EtcdWatch::run(const std::stop_token& stop) {
  client_ = std::make_unique<EtcdClient>(options_.servers, stop);
  stream_ = std::make_unique<EtcdHttp>(options_.servers.tls, stop);
  RetryWait wait(100ms, 2s);
  while (!stop.stop_requested()) {
    const std::uint64_t served = counts().streams;
    if (known_.revision != 0 ? check_history() : read_anew()) {
      if (follow(stop) == End::anew) known_.revision = 0;
      member_ = (member_ + 1) % options_.servers.urls.size();
    }
    stream_->close_stream();
    if (counts().streams > served) wait.reset();
    sleep_for(wait.next(false), stop);
  }
}

bool EtcdWatch::read_anew() {
  EtcdResult<EtcdRange> all = client_->read_prefix(options_.prefix);
  if (!all) {
    set_problem(all.error().message);
    return false;
  }
  known_ = all->header;
  EtcdNews news{true, {}, known_.revision};
  for (EtcdKeyValue& value : all->values) news.events.push_back({false, std::move(value)});
  give(std::move(news));
  return true;
}

// An ordinary read is answered by who knows all that was ever committed. So a revision or term below a known one is
// another history: a backup.
bool EtcdWatch::check_history() {
  const EtcdResult<EtcdRange> probe = client_->read(options_.prefix + "canary");
  if (!probe) {
    set_problem(probe.error().message);
    return false;
  }
  const EtcdHeader& now = probe->header;
  if (now.revision < known_.revision || now.term < known_.term) known_.revision = 0;
  return known_.revision != 0 || read_anew();
}

EtcdWatch::End EtcdWatch::follow(const std::stop_token& stop) {
  const std::string& url = options_.servers.urls[member_];
  stream_->open_stream(url + "/v3/watch", watch_body(options_.prefix, known_.revision + 1));
  Deadline until = Clock::now() + options_.answer;
  bool created = false;
  bool canary_sent = false;
  const auto leave = [&](const std::string& why) {
    set_problem(url + ": " + why);
    return End::elsewhere;
  };
  while (!stop.stop_requested()) {
    const std::optional<std::string> line = stream_->next_line(until);
    if (!line && stop.stop_requested()) break;
    if (!line && stream_->ended()) return leave(stream_->end_reason());
    if (!line && !created) return leave("it did not answer in time");
    if (!line && canary_sent) return leave("it sends nothing any more");
    if (!line) {
      if (write_canary()) canary_sent = true;
      until = Clock::now() + options_.answer;
      continue;
    }
    try {
      const EtcdWatchAnswer answer = parse_watch(*line);
      if (answer.failed) return leave(answer.reason);
      if (answer.canceled) {
        set_problem(url + ": the watch was canceled: " + answer.reason);
        return End::anew;
      }
      if (answer.created && !std::exchange(created, true)) {
        const std::lock_guard lock(mutex_);
        ++counts_.streams;
        problem_.clear();
      }
      if (!hear(answer)) return End::anew;
    } catch (const BadEtcdAnswer& bad) {
      return leave(std::string("it answers with what etcd never would: ") + bad.what());
    }
    canary_sent = false;
    // Of random length, so that not all who follow write their canaries at once.
    until =
        Clock::now() + options_.silence + options_.silence * std::uniform_int_distribution<int>(0, 20)(random_) / 100;
  }
  return End::elsewhere;
}

// False: what came cannot follow upon what is known.
bool EtcdWatch::hear(const EtcdWatchAnswer& answer) {
  known_.term = std::max(known_.term, answer.header.term);
  if (answer.events.empty()) return true;
  // Not the header's revision, which may be ahead of what was sent.
  const std::int64_t newest = answer.events.back().value.mod_revision;
  if (newest <= known_.revision) return false;
  known_.revision = newest;
  give({false, answer.events, newest});
  return true;
}

// To be heard by this stream, by whichever member it is written. Where that is not known, it is written again.
bool EtcdWatch::write_canary() {
  const EtcdResult<EtcdHeader> written = client_->put(options_.prefix + "canary", "{\"schema\":1}");
  if (!written) return false;
  const std::lock_guard lock(mutex_);
  ++counts_.canaries;
  return true;
}

}  // namespace campipe
