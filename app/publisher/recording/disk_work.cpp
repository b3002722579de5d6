#include "app/publisher/recording/disk_work.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "core/clock.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto patience = std::chrono::seconds(3);        // with a disk that does not answer
constexpr auto last_patience = std::chrono::seconds(1);   // at the end: users are promised whole files within 5 s
constexpr auto retry_interval = std::chrono::seconds(1);  // of lines that could not be written
constexpr int last_pieces = 20;                           // of the index, that are read when it is left

// Whether the index is read as a whole now.
bool load_last_pieces(RecordIndex& index) {
  for (int i = 0; i < last_pieces; ++i) {
    if (index.load_some()) return true;
  }
  return false;
}

}  // namespace

struct DiskWork::Work {
  Work(std::filesystem::path index, std::shared_ptr<RecordLock> taken)
      : index_path(std::move(index)), record_lock(std::move(taken)) {}

  void run(const std::optional<RecordIndex::Begin>& left, const std::optional<RecordIndex::Ended>& before);
  void work(RecordIndex& index);
  void enforce(RecordIndex& index, const RetentionLimits& limits, const std::string& open_file);
  [[nodiscard]] bool hangs() const;

  const std::filesystem::path index_path;
  std::shared_ptr<RecordLock> record_lock;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void(RecordIndex&)>> jobs;     // the first one is being done
  std::optional<Clock::time_point> since = Clock::now();  // that the disk was asked; nothing: it has answered
  bool leaving = false;
  bool over = false;
  std::optional<std::string> sync_problem;
  std::optional<std::string> retention_problem;
};

void DiskWork::Work::run(const std::optional<RecordIndex::Begin>& left,
                         const std::optional<RecordIndex::Ended>& before) {
  {
    RecordIndex index(index_path, left, before);
    work(index);
  }
  record_lock.reset();
  const std::lock_guard lock(mutex);
  over = true;
  changed.notify_all();
}

bool DiskWork::Work::hangs() const { return since && Clock::now() - *since > patience; }

// What is asked for comes first; the index is read in between.
void DiskWork::Work::work(RecordIndex& index) {
  bool loaded = false;
  std::unique_lock lock(mutex);
  for (;;) {
    const auto asked = [this] { return leaving || !jobs.empty(); };
    since.reset();
    const bool idle = !changed.wait_for(lock, loaded ? retry_interval : retry_interval * 0, asked);
    if (!idle && jobs.empty()) break;
    const std::function<void(RecordIndex&)> job = idle ? nullptr : jobs.front();
    since = Clock::now();
    lock.unlock();
    if (job) {
      job(index);
    } else if (!loaded) {
      loaded = index.load_some();
    }
    index.write_pending();
    lock.lock();
    if (job) jobs.pop_front();
  }
  lock.unlock();
  if (!loaded) load_last_pieces(index);
}

// It needs the whole index. What else is asked for meanwhile has its turn between two pieces; at the end only some
// pieces more are waited for.
void DiskWork::Work::enforce(RecordIndex& index, const RetentionLimits& limits, const std::string& open_file) {
  const bool loaded = index.load_some();
  {
    const std::lock_guard lock(mutex);
    if (!loaded && !leaving) {
      return jobs.push_back([this, limits, open_file](RecordIndex& again) { enforce(again, limits, open_file); });
    }
  }
  if (!loaded && !load_last_pieces(index)) return;
  RetentionResult result = enforce_limits(limits, index_path.parent_path(), index.files(), open_file, utc_now_ns());
  for (const auto& gone : result.gone) index.deleted(gone.path, gone.reason);
  const std::lock_guard lock(mutex);
  retention_problem = std::move(result.problem);
}

DiskWork::DiskWork(const std::filesystem::path& index, std::shared_ptr<RecordLock> lock,
                   const std::optional<RecordIndex::Begin>& left, const std::optional<RecordIndex::Ended>& before)
    : work_(std::make_shared<Work>(index, std::move(lock))) {
  std::thread([work = work_, left, before] { work->run(left, before); }).detach();
}

DiskWork::~DiskWork() {
  std::unique_lock lock(work_->mutex);
  work_->leaving = true;
  work_->changed.notify_all();
  const auto wait = work_->hangs() ? Clock::duration(0) : last_patience;
  if (work_->changed.wait_for(lock, wait, [this] { return work_->over; })) return;
  spdlog::error("{}: its disk does not answer; the end of a recording may be missing there",
                work_->index_path.string());
}

void DiskWork::post(std::function<void(RecordIndex&)> job) {
  const std::lock_guard lock(work_->mutex);
  work_->jobs.push_back(std::move(job));
  work_->changed.notify_all();
}

void DiskWork::begin(const RecordIndex::Begin& file) {
  post([file](RecordIndex& index) { index.begin(file); });
}

void DiskWork::end(const RecordIndex::End& end) {
  post([end](RecordIndex& index) { index.end(end); });
}

void DiskWork::deleted(const std::filesystem::path& file, const std::string& reason) {
  post([file, reason](RecordIndex& index) { index.deleted(file, reason); });
}

void DiskWork::sync(std::function<void()> sync) {
  post([work = work_.get(), sync = std::move(sync)](RecordIndex&) {
    try {
      sync();
    } catch (const std::exception& error) {
      const std::lock_guard lock(work->mutex);
      work->sync_problem = error.what();
    }
  });
}

void DiskWork::enforce(const RetentionLimits& limits, const std::string& open_file) {
  post([work = work_.get(), limits, open_file](RecordIndex& index) { work->enforce(index, limits, open_file); });
}

bool DiskWork::busy() const {
  const std::lock_guard lock(work_->mutex);
  return !work_->jobs.empty();
}

bool DiskWork::hangs() const {
  const std::lock_guard lock(work_->mutex);
  return work_->hangs();
}

std::optional<std::string> DiskWork::take_sync_problem() {
  const std::lock_guard lock(work_->mutex);
  return std::exchange(work_->sync_problem, std::nullopt);
}

std::optional<std::string> DiskWork::take_retention_problem() {
  const std::lock_guard lock(work_->mutex);
  return std::exchange(work_->retention_problem, std::nullopt);
}

}  // namespace campipe
