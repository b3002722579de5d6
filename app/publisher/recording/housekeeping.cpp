#include "app/publisher/recording/housekeeping.h"

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "app/publisher/recording/housekeeper.h"
#include "app/publisher/recording/record_about.h"
#include "app/publisher/recording/record_archive.h"
#include "core/clock.h"

namespace campipe {
namespace {

namespace fs = std::filesystem;

constexpr auto disk_interval = std::chrono::seconds(10);    // in which a disk is asked how much is free
constexpr auto limits_interval = std::chrono::seconds(30);  // in which ages and sizes are looked at
constexpr auto reading_interval = std::chrono::seconds(1);  // of an index that is still being read
constexpr auto first_find = std::chrono::seconds(3);        // when all cameras of the rig are known
constexpr auto find_interval = std::chrono::minutes(5);     // of recordings of cameras that are not there
constexpr auto search_interval = std::chrono::seconds(30);  // of a folder that is not there

}  // namespace

struct Housekeeping::State {
  struct Known {
    RetentionLimits limits;
    std::optional<RecordAbout> about;  // nothing: it was found, and its camera is in no configuration
    int claims = 0;
    std::weak_ptr<RecordArchive> recorded;  // while something is
    std::shared_ptr<RecordArchive> idle;    // while nothing is: as its housekeeper has read it
    std::optional<dev_t> disk;
    bool is_searched = false;  // a thread looks for its disk
    [[nodiscard]] bool is_limited() const { return !about || limits.any(); }
    Clock::time_point search_at{};
    Clock::time_point due_at{};
    std::uint64_t ended = 0;       // files
    std::uint64_t ended_kept = 0;  // with which its limits have been enforced
  };
  // That is wanted on a disk since something did not fit.
  struct Room {
    std::int64_t missing = 0;   // bytes
    std::uint64_t asked = 0;    // how often
    std::uint64_t handled = 0;  // of those
    std::uint64_t made = 0;     // the last one for which there was some
  };
  // One that a housekeeper is at.
  struct Turn {
    fs::path index;
    std::uint64_t ended = 0;
  };

  void place(Known& one, dev_t disk);
  void search(const fs::path& index);
  void work(dev_t disk);
  std::vector<Turn> collect(dev_t disk, std::vector<Housekeeper::Recording>& recordings);
  void find_others(dev_t disk, std::unique_lock<std::mutex>& lock);
  bool settle(const std::vector<Turn>& turns, const std::vector<Housekeeper::Recording>& recordings);

  std::mutex mutex;
  std::condition_variable changed;
  std::map<fs::path, Known> known;  // by index
  std::set<dev_t> disks;            // that have a housekeeper
  std::set<dev_t> asked;            // which is wanted now
  std::map<dev_t, Room> rooms;
  bool leaving = false;
};

// With the mutex locked, as collect() and settle().
void Housekeeping::State::place(Known& one, dev_t disk) {
  one.disk = disk;
  asked.insert(disk);
  changed.notify_all();
}

void Housekeeping::State::search(const fs::path& index) {
  const auto disk = disk_of(index);
  const std::lock_guard lock(mutex);
  Known& searched = known[index];
  searched.is_searched = false;
  searched.search_at = Clock::now() + search_interval;
  if (disk && searched.claims == 0) place(searched, *disk);
}

// Finds the indexes of cameras that are in no configuration any more: in the folders of those that are.
void Housekeeping::State::find_others(dev_t disk, std::unique_lock<std::mutex>& lock) {
  std::map<std::pair<std::string, std::string>, RecordAbout> places;  // one recording of each path and node
  for (const auto& [index, each] : known) {
    if (each.disk == disk && each.about) places[{each.about->path, each.about->node}] = *each.about;
  }
  lock.unlock();
  std::vector<std::pair<fs::path, dev_t>> found;
  for (const auto& [of, about] : places) {
    for (const fs::path& index : indexes_beside(about)) {
      if (const auto on = disk_of(index)) found.emplace_back(index, *on);
    }
  }
  lock.lock();
  for (const auto& [index, on] : found) {
    if (!known.contains(index)) place(known[index], on);
  }
}

void Housekeeping::State::work(dev_t disk) {
  Housekeeper housekeeper;
  Clock::time_point find_at = Clock::now() + first_find;
  std::unique_lock lock(mutex);
  while (!leaving) {
    if (Clock::now() >= find_at) {
      find_others(disk, lock);
      find_at = Clock::now() + find_interval;
    }
    asked.erase(disk);
    std::vector<Housekeeper::Recording> recordings;
    const std::vector<Turn> turns = collect(disk, recordings);
    Room& room = rooms[disk];
    const std::uint64_t requests = room.asked;
    const std::int64_t missing = std::exchange(room.missing, 0);
    lock.unlock();
    const std::int64_t made = housekeeper.keep(recordings, missing);
    lock.lock();
    if (made > 0) room.made = requests;
    room.handled = requests;
    changed.notify_all();
    const bool all_kept = settle(turns, recordings);
    recordings.clear();
    const auto next = Clock::now() + (all_kept ? Clock::duration(disk_interval) : reading_interval);
    changed.wait_until(lock, std::min(next, find_at), [&] { return leaving || asked.contains(disk); });
  }
}

std::vector<Housekeeping::State::Turn> Housekeeping::State::collect(dev_t disk,
                                                                    std::vector<Housekeeper::Recording>& recordings) {
  std::vector<Turn> turns;
  for (auto& [index, each] : known) {
    if (each.disk != disk || !each.is_limited()) continue;
    auto archive = each.recorded.lock();
    if (archive) {
      each.idle.reset();
    } else {
      if (each.claims > 0) continue;
      if (!each.idle) each.idle = std::make_shared<RecordArchive>(index, each.about);
      archive = each.idle;
    }
    const bool is_due = each.ended != each.ended_kept || Clock::now() >= each.due_at;
    const auto is_wanted = [this, &claims = each.claims] {
      const std::lock_guard lock(mutex);
      return claims > 0;
    };
    recordings.push_back({std::move(archive), each.limits, is_due, is_wanted, !each.about});
    turns.push_back({index, each.ended});
  }
  return turns;
}

// False: some are to be tried again.
bool Housekeeping::State::settle(const std::vector<Turn>& turns,
                                 const std::vector<Housekeeper::Recording>& recordings) {
  bool all_kept = true;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    Known& each = known[turns[i].index];
    const bool is_idle = recordings[i].archive == each.idle;
    if (!each.about) each.limits = recordings[i].limits;
    if (recordings[i].is_kept) {
      each.ended_kept = turns[i].ended;
      each.due_at = Clock::now() + limits_interval;
    } else if (is_idle && recordings[i].is_due) {  // another rig has it, or its disk is another one now
      each.due_at = Clock::now() + limits_interval;
      each.disk.reset();
      each.idle.reset();
    }
    all_kept = all_kept && (recordings[i].is_kept || !recordings[i].is_due || is_idle);
  }
  return all_kept;
}

Housekeeping::Housekeeping() : state_(std::make_shared<State>()) {}

Housekeeping::~Housekeeping() {
  const std::lock_guard lock(state_->mutex);
  state_->leaving = true;
  state_->changed.notify_all();
}

void Housekeeping::keep(const ResolvedOutput& config) {
  if (!config.record) return;
  RecordAbout about = about_of(config);
  const std::lock_guard lock(state_->mutex);
  State::Known& known = state_->known[index_of(about)];
  known.limits = about.limits;
  known.about = std::move(about);
  known.due_at = {};
}

// Threads are started here, and belong to no camera. A folder that does not answer holds up its own only. A disk on
// which no recording has a limit may have others beside them that have.
void Housekeeping::tick() {
  const std::lock_guard lock(state_->mutex);
  for (auto& [index, known] : state_->known) {
    if (known.disk && state_->disks.insert(*known.disk).second)
      std::thread([state = state_, disk = *known.disk] { state->work(disk); }).detach();
    if (known.disk || known.is_searched || known.claims > 0 || !known.is_limited()) continue;
    if (Clock::now() < known.search_at) continue;
    known.is_searched = true;
    std::thread([state = state_, index = index] { state->search(index); }).detach();
  }
}

Housekeeping::Claim::Claim(std::shared_ptr<Housekeeping> house, fs::path index)
    : house_(std::move(house)), index_(std::move(index)) {
  const std::lock_guard lock(house_->state_->mutex);
  ++house_->state_->known[index_].claims;
}

Housekeeping::Claim::~Claim() {
  const std::lock_guard lock(house_->state_->mutex);
  State::Known& known = house_->state_->known[index_];
  --known.claims;
  known.due_at = {};
}

void Housekeeping::enter(const std::shared_ptr<RecordArchive>& archive) {
  const auto disk = disk_of(archive->index());
  if (!disk) return;
  const std::lock_guard lock(state_->mutex);
  State::Known& known = state_->known[archive->index()];
  known.recorded = archive;
  state_->place(known, *disk);
}

void Housekeeping::file_ended(const fs::path& index) {
  const std::lock_guard lock(state_->mutex);
  State::Known& known = state_->known[index];
  ++known.ended;
  if (!known.disk) return;
  state_->asked.insert(*known.disk);
  state_->changed.notify_all();
}

bool Housekeeping::make_room(const fs::path& index, std::uint64_t bytes, Deadline deadline) {
  std::unique_lock lock(state_->mutex);
  const State::Known& known = state_->known[index];
  if (!state_->changed.wait_until(lock, deadline, [&] { return known.disk.has_value(); })) return false;
  const dev_t disk = *known.disk;
  const auto gives_way = [disk](const auto& each) {
    return each.second.disk == disk && (each.second.limits.bytes || each.second.limits.free);
  };
  if (std::ranges::none_of(state_->known, gives_way)) return false;
  State::Room& room = state_->rooms[disk];
  const std::uint64_t request = ++room.asked;
  room.missing += static_cast<std::int64_t>(std::max<std::uint64_t>(bytes, 1));
  state_->asked.insert(disk);
  state_->changed.notify_all();
  const auto is_handled = [&] { return room.handled >= request; };
  return state_->changed.wait_until(lock, deadline, is_handled) && room.made >= request;
}

bool Housekeeping::is_at_rest(const fs::path& index) const {
  const std::lock_guard lock(state_->mutex);
  const State::Known& known = state_->known.at(index);
  return known.ended == known.ended_kept || !known.disk || !known.limits.any();
}

}  // namespace campipe
