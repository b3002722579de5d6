#include "app/publisher/recording/disk_work.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "app/publisher/recording/record_archive.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto patience = std::chrono::seconds(3);        // with a disk that does not answer
constexpr auto line_patience = std::chrono::seconds(2);   // with lines that a successor would need
constexpr auto last_patience = std::chrono::seconds(1);   // at the end: users are promised whole files within 5 s
constexpr auto retry_interval = std::chrono::seconds(1);  // of lines that could not be written
constexpr auto sync_interval = std::chrono::seconds(7);   // with a fragment, less than the ten that users are promised
constexpr int last_pieces = 20;                           // of the index, that are read when it is left

}  // namespace

struct DiskWork::Work {
  struct Line {
    std::function<void(RecordIndex&)> write;
    bool ends_file = false;
    std::function<void()> prepare{};  // before it is written; may be empty
  };
  struct Sync {
    std::function<void()> run;
    bool awaited = false;  // by wait_for_lines()
  };

  Work(const RecordAbout& about, std::shared_ptr<RecordLock> lock, std::shared_ptr<Housekeeping> of)
      : index_path(index_of(about)),
        archive(std::make_shared<RecordArchive>(index_path, std::move(lock), about)),
        house(std::move(of)) {}

  void run(const std::optional<RecordIndex::Begin>& left, std::optional<RecordIndex::Ended> before,
           const std::shared_ptr<FileEnding>& ending_before);
  void post(Line line);
  void post(Sync sync);
  void work();
  void write_next_line(std::unique_lock<std::mutex>& lock);
  void sync_next(std::unique_lock<std::mutex>& lock);
  // With the mutex locked.
  [[nodiscard]] bool busy() const { return working || !lines.empty() || !syncs.empty() || index_changed; }
  [[nodiscard]] bool hangs() const { return since && Clock::now() - *since > patience; }

  const std::filesystem::path index_path;
  std::shared_ptr<RecordArchive> archive;
  const std::shared_ptr<Housekeeping> house;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Line> lines;  // of the index
  std::deque<Sync> syncs;
  bool index_changed = false;  // a file has ended in it, and that is not on the disk for good
  std::size_t awaited = 1;     // lines and syncs, with the one being done; at first a predecessor's lines
  bool working = true;         // at first on a predecessor's lines
  std::optional<Clock::time_point> since = Clock::now();  // that the disk was asked; nothing: it has answered
  bool leaving = false;
  bool over = false;
  std::optional<std::string> sync_problem;
};

void DiskWork::Work::run(const std::optional<RecordIndex::Begin>& left, std::optional<RecordIndex::Ended> before,
                         const std::shared_ptr<FileEnding>& ending_before) {
  if (before && ending_before)
    before->end.bytes = ending_before->try_to_add_index(before->end.bytes, before->end.duration);
  archive->open(left, before);
  house->enter(archive);
  work();
  archive.reset();  // and with it the lock
  const std::lock_guard lock(mutex);
  over = true;
  changed.notify_all();
}

// Lines come first, since a successor may need them; the index is read in between.
void DiskWork::Work::work() {
  std::unique_lock lock(mutex);
  --awaited;
  for (;;) {
    working = false;
    since.reset();
    changed.notify_all();
    const bool loaded = archive->is_loaded();
    const auto asked = [this] { return leaving || busy(); };
    const bool idle = !changed.wait_for(lock, loaded ? retry_interval : retry_interval * 0, asked);
    if (!idle && !busy()) break;
    working = busy();
    since = Clock::now();
    if (!lines.empty()) {
      write_next_line(lock);
    } else if (!syncs.empty()) {
      sync_next(lock);
    } else if (std::exchange(index_changed, false)) {
      lock.unlock();
      archive->use([](RecordIndex& index) { index.sync(); });
      lock.lock();
    } else {
      lock.unlock();
      archive->load_some();
      archive->use([](RecordIndex& index) { index.write_pending(); });
      lock.lock();
    }
  }
  lock.unlock();
  for (int i = 0; i < last_pieces && !archive->load_some(); ++i) continue;
}

void DiskWork::Work::write_next_line(std::unique_lock<std::mutex>& lock) {
  const Line line = std::move(lines.front());
  lines.pop_front();
  lock.unlock();
  if (line.prepare) line.prepare();
  archive->use([&line](RecordIndex& index) {
    line.write(index);
    index.write_pending();
  });
  if (line.ends_file) house->file_ended(index_path);
  lock.lock();
  --awaited;
  index_changed = index_changed || line.ends_file;
}

void DiskWork::Work::sync_next(std::unique_lock<std::mutex>& lock) {
  const Sync sync = std::move(syncs.front());
  syncs.pop_front();
  lock.unlock();
  std::optional<std::string> problem;
  try {
    sync.run();
  } catch (const std::exception& error) {
    problem = error.what();
  }
  lock.lock();
  if (sync.awaited) --awaited;
  if (problem) sync_problem = std::move(problem);
}

void DiskWork::Work::post(Line line) {
  const std::lock_guard lock(mutex);
  lines.push_back(std::move(line));
  ++awaited;
  changed.notify_all();
}

void DiskWork::Work::post(Sync sync) {
  const std::lock_guard lock(mutex);
  if (sync.awaited) ++awaited;
  syncs.push_back(std::move(sync));
  changed.notify_all();
}

DiskWork::DiskWork(const RecordAbout& about, std::shared_ptr<RecordLock> lock, std::shared_ptr<Housekeeping> house,
                   const std::optional<RecordIndex::Begin>& left, const std::optional<RecordIndex::Ended>& before,
                   std::shared_ptr<FileEnding> ending_before)
    : work_(std::make_shared<Work>(about, std::move(lock), std::move(house))) {
  if (ending_before) work_->post(Work::Sync{[ending_before] { ending_before->complete(); }, true});
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

void DiskWork::begin(const RecordIndex::Begin& file) {
  work_->post(Work::Line{[file](RecordIndex& index) { index.begin(file); }});
}

// The housekeeper may use the index while the file gets its own.
void DiskWork::end(const RecordIndex::End& end, const std::shared_ptr<FileEnding>& ending) {
  const auto ended = std::make_shared<RecordIndex::End>(end);
  Work::Line line{[ended](RecordIndex& index) { index.end(*ended); }, true};
  if (ending)
    line.prepare = [ended, ending] { ended->bytes = ending->try_to_add_index(ended->bytes, ended->duration); };
  work_->post(std::move(line));
  if (ending) work_->post(Work::Sync{[ending] { ending->complete(); }, true});
}

void DiskWork::deleted(const std::filesystem::path& file, const std::string& reason) {
  work_->post(Work::Line{[file, reason](RecordIndex& index) { index.deleted(file, reason); }});
}

void DiskWork::wait_for_lines() {
  std::unique_lock lock(work_->mutex);
  if (work_->hangs()) return;
  work_->changed.wait_for(lock, line_patience, [this] { return work_->awaited == 0; });
}

void DiskWork::sync_now_and_then(std::function<void()> sync) {
  if (Clock::now() < next_sync_ || busy()) return;
  next_sync_ = Clock::now() + sync_interval;
  work_->post(Work::Sync{std::move(sync)});
}

void DiskWork::keep(const std::string& open_file) { work_->archive->open_file().set(open_file); }

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

}  // namespace campipe
