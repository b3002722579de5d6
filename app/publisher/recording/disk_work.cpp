#include "app/publisher/recording/disk_work.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "core/log.h"

namespace campipe {
namespace {

constexpr auto patience = std::chrono::seconds(3);        // with a disk that does not answer
constexpr auto line_patience = std::chrono::seconds(2);   // with lines that a successor would need
constexpr auto last_patience = std::chrono::seconds(1);   // at the end: users are promised whole files within 5 s
constexpr auto retry_interval = std::chrono::seconds(1);  // of lines that could not be written
constexpr auto retention_interval = std::chrono::seconds(60);
constexpr auto sync_interval = std::chrono::seconds(7);  // with a fragment, less than the ten that users are promised
constexpr int last_pieces = 20;                          // of the index, that are read when it is left

// Whether the index is read as a whole now.
bool load_last_pieces(RecordIndex& index) {
  for (int i = 0; i < last_pieces; ++i) {
    if (index.load_some()) return true;
  }
  return false;
}

std::uint64_t bytes_with_index(const RecordIndex::End& end, FileEnding& ending) {
  return ending.try_to_add_index(end.bytes, end.duration);
}

}  // namespace

struct DiskWork::Work {
  using Job = std::function<void(RecordIndex&)>;

  Work(std::filesystem::path index, std::shared_ptr<RecordLock> taken)
      : index_path(std::move(index)), record_lock(std::move(taken)) {}

  void run(const std::optional<RecordIndex::Begin>& left, std::optional<RecordIndex::Ended> before,
           const std::shared_ptr<FileEnding>& ending_before);
  void work(RecordIndex& index);
  void enforce(RecordIndex& index, const RetentionLimits& limits);
  void post(Job job);
  // These with the mutex locked.
  Job next_job();
  [[nodiscard]] bool busy() const { return working || !lines.empty() || !others.empty(); }
  [[nodiscard]] bool hangs() const { return since && Clock::now() - *since > patience; }

  const std::filesystem::path index_path;
  std::shared_ptr<RecordLock> record_lock;
  OpenFile open_file;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> lines;  // of the index
  std::deque<Job> others;
  std::size_t unwritten = 1;                              // lines, with the one being written; at first a predecessor's
  bool working = true;                                    // at first on a predecessor's lines
  std::optional<Clock::time_point> since = Clock::now();  // that the disk was asked; nothing: it has answered
  bool leaving = false;
  bool over = false;
  std::optional<std::string> sync_problem;
  std::optional<std::string> retention_problem;
  std::string reported_problem;  // of retention; of the thread
};

void DiskWork::Work::run(const std::optional<RecordIndex::Begin>& left, std::optional<RecordIndex::Ended> before,
                         const std::shared_ptr<FileEnding>& ending_before) {
  if (before && ending_before) before->end.bytes = bytes_with_index(before->end, *ending_before);
  {
    RecordIndex index(index_path, left, before);
    work(index);
  }
  record_lock.reset();
  const std::lock_guard lock(mutex);
  over = true;
  changed.notify_all();
}

// Lines come first, since a successor may need them; null: there is nothing to do.
DiskWork::Work::Job DiskWork::Work::next_job() {
  std::deque<Job>& from = lines.empty() ? others : lines;
  if (from.empty()) return nullptr;
  Job job = std::move(from.front());
  from.pop_front();
  return job;
}

// What is asked for comes first; the index is read in between.
void DiskWork::Work::work(RecordIndex& index) {
  bool loaded = false;
  std::unique_lock lock(mutex);
  --unwritten;
  for (;;) {
    working = false;
    since.reset();
    changed.notify_all();
    const auto asked = [this] { return leaving || busy(); };
    const bool idle = !changed.wait_for(lock, loaded ? retry_interval : retry_interval * 0, asked);
    const bool is_line = !lines.empty();
    const Job job = next_job();
    if (!idle && !job) break;
    working = job != nullptr;
    since = Clock::now();
    lock.unlock();
    if (job) {
      job(index);
    } else if (!loaded) {
      loaded = index.load_some();
    }
    index.write_pending();
    lock.lock();
    if (is_line) --unwritten;
  }
  lock.unlock();
  if (!loaded) load_last_pieces(index);
}

// It needs the whole index. What else is asked for meanwhile has its turn between two pieces; at the end only some
// pieces more are waited for.
void DiskWork::Work::enforce(RecordIndex& index, const RetentionLimits& limits) {
  const bool loaded = index.load_some();
  {
    const std::lock_guard lock(mutex);
    if (!loaded && !leaving) {
      return others.push_back([this, limits](RecordIndex& again) { enforce(again, limits); });
    }
  }
  if (!loaded && !load_last_pieces(index)) return;
  const RetentionResult result =
      enforce_limits(limits, index_path.parent_path(), index.files(), open_file, utc_now_ns());
  for (const auto& gone : result.gone) index.deleted(gone.path, gone.reason);
  if (std::exchange(reported_problem, result.problem) == result.problem || result.problem.empty()) return;
  const std::lock_guard lock(mutex);
  retention_problem = result.problem;
}

void DiskWork::Work::post(Job job) {
  const std::lock_guard lock(mutex);
  others.push_back(std::move(job));
  changed.notify_all();
}

DiskWork::DiskWork(const std::filesystem::path& index, std::shared_ptr<RecordLock> lock,
                   const std::optional<RecordIndex::Begin>& left, const std::optional<RecordIndex::Ended>& before,
                   std::shared_ptr<FileEnding> ending_before)
    : work_(std::make_shared<Work>(index, std::move(lock))) {
  if (ending_before) sync([ending_before] { ending_before->complete(); });
  std::thread([work = work_, left, before, ending = std::move(ending_before)] {
    work->run(left, before, ending);
  }).detach();
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

void DiskWork::post_line(std::function<void(RecordIndex&)> line) {
  const std::lock_guard lock(work_->mutex);
  work_->lines.push_back(std::move(line));
  ++work_->unwritten;
  work_->changed.notify_all();
}

void DiskWork::begin(const RecordIndex::Begin& file) {
  post_line([file](RecordIndex& index) { index.begin(file); });
}

void DiskWork::end(const RecordIndex::End& end, const std::shared_ptr<FileEnding>& ending) {
  post_line([end, ending](RecordIndex& index) {
    RecordIndex::End with_index = end;
    if (ending) with_index.bytes = bytes_with_index(end, *ending);
    index.end(with_index);
  });
  if (ending) sync([ending] { ending->complete(); });
  retain_soon();
}

void DiskWork::deleted(const std::filesystem::path& file, const std::string& reason) {
  post_line([file, reason](RecordIndex& index) { index.deleted(file, reason); });
}

void DiskWork::wait_for_lines() {
  std::unique_lock lock(work_->mutex);
  if (work_->hangs()) return;
  work_->changed.wait_for(lock, line_patience, [this] { return work_->unwritten == 0; });
}

void DiskWork::sync(std::function<void()> sync) {
  work_->post([work = work_.get(), sync = std::move(sync)](RecordIndex&) {
    try {
      sync();
    } catch (const std::exception& error) {
      const std::lock_guard lock(work->mutex);
      work->sync_problem = error.what();
    }
  });
}

void DiskWork::sync_now_and_then(std::function<void()> sync) {
  if (Clock::now() < next_sync_ || busy()) return;
  next_sync_ = Clock::now() + sync_interval;
  this->sync(std::move(sync));
}

void DiskWork::keep(const std::string& open_file) { work_->open_file.set(open_file); }

void DiskWork::retain(const RetentionLimits& limits) {
  if (!limits.age && !limits.bytes && !limits.free) return;
  if (Clock::now() < next_retention_ || busy()) return;
  next_retention_ = Clock::now() + retention_interval;
  work_->post([work = work_.get(), limits](RecordIndex& index) { work->enforce(index, limits); });
}

bool DiskWork::busy() const {
  const std::lock_guard lock(work_->mutex);
  return work_->busy();
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
