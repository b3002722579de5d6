#include "app/publisher/recording/housekeeper.h"

#include <fcntl.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "core/log.h"

namespace campipe {
namespace {

constexpr std::size_t most_at_once = 1000;           // files of a recording that give way in one turn
constexpr auto lateness = std::chrono::seconds(10);  // of a file system that does not free room at once

std::vector<RecordedFile> files_of(RecordArchive& archive, std::size_t most = SIZE_MAX) {
  std::vector<RecordedFile> files;
  archive.use([&](RecordIndex& index) { files = index.files(most); });
  return files;
}

std::optional<std::int64_t> free_on_disk(const FreeSpace& free, const RecordArchive& archive) {
  return free(in_own_folder(archive.index()));
}

using DiskStatus = struct statvfs;

std::optional<std::int64_t> space(const PathBelow& file, fsblkcnt_t DiskStatus::*blocks) {
  DiskStatus status{};
  const UniqueFd folder = open_folder_of(file, O_PATH);
  if (!folder || ::fstatvfs(folder.get(), &status) != 0 || status.f_frsize == 0) return std::nullopt;
  const std::uint64_t most = INT64_MAX / status.f_frsize;
  return static_cast<std::int64_t>(std::min<std::uint64_t>(status.*blocks, most) * status.f_frsize);
}

}  // namespace

std::optional<std::int64_t> free_space(const PathBelow& file) { return space(file, &DiskStatus::f_bavail); }

std::optional<std::int64_t> whole_space(const PathBelow& file) { return space(file, &DiskStatus::f_blocks); }

// True: it may be changed, and all of it has been read.
bool Housekeeper::hold(const Recording& recording) {
  RecordArchive& archive = *recording.archive;
  if (archive.is_recorded()) return archive.is_loaded();
  if (!archive.take()) return false;
  while (!archive.load_some()) {
    if (recording.is_wanted()) return false;
  }
  return true;
}

std::int64_t Housekeeper::keep(std::span<Recording> recordings, std::int64_t missing) {
  for (Recording& recording : recordings) {
    recording.is_kept = recording.is_due && learn_limits(recording) && enforce(recording);
    recording.archive->let_go();
  }
  const std::int64_t made = make_room(recordings, missing);
  for (Recording& recording : recordings) recording.archive->let_go();
  return made;
}

// Reads the limits of a recording whose camera is in no configuration from its index, where `campipe recordings` may
// have changed them.
bool Housekeeper::learn_limits(Recording& recording) {
  if (!recording.is_by_index || recording.archive->is_current()) return true;
  if (!hold(recording)) return false;
  recording.archive->use(
      [&](RecordIndex& index) { recording.limits = index.about() ? index.about()->limits : RetentionLimits{}; });
  return true;
}

// A recording that is idle keeps its limits nearly always: then its lock is not taken.
bool Housekeeper::enforce(const Recording& recording) {
  RecordArchive& archive = *recording.archive;
  const RetentionLimits& limits = recording.limits;
  if (archive.is_recorded() && !archive.is_loaded()) return false;
  if (!limits.age && !limits.bytes) return true;
  const bool may_be_idle = !archive.is_recorded() && archive.is_current();
  if (may_be_idle && are_kept(limits, files_of(archive), utc_now_ns())) return true;
  if (!hold(recording)) return false;
  settle(archive, enforce_limits(limits, archive.folder(), files_of(archive), archive.open_file(), utc_now_ns()));
  return true;
}

std::int64_t Housekeeper::make_room(std::span<Recording> recordings, std::int64_t missing) {
  std::vector<const Recording*> some;
  std::int64_t wanted = 0;
  for (const Recording& recording : recordings) {
    if (!recording.limits.free && (missing == 0 || !recording.limits.bytes)) continue;
    some.push_back(&recording);
    if (!recording.is_by_index) wanted = std::max(wanted, wanted_of(recording));
  }
  std::int64_t made = make_room_among(some, wanted, missing);
  for (const Recording* each : some) {
    const std::int64_t own = each->is_by_index ? wanted_of(*each) : 0;
    if (own > wanted) made += make_room_among({&each, 1}, own, 0);
  }
  return made;
}

// Bytes that its limit wants to be free.
std::int64_t Housekeeper::wanted_of(const Recording& recording) {
  const std::int64_t wanted = recording.limits.free.value_or(0);
  const std::filesystem::path& index = recording.archive->index();
  const auto whole = wanted > 0 ? whole_(in_own_folder(index)) : std::nullopt;
  if (!whole || wanted < *whole) return wanted;
  if (impossible_.insert(index).second) {
    spdlog::warn("{}: its keep_free is not obeyed: it wants {} MB to be free, and its disk has {} MB", index.string(),
                 wanted / 1'000'000, *whole / 1'000'000);
  }
  return 0;
}

// How much the disk lacks is asked once: file systems free room seconds later, or only when the last reader of a file
// has gone.
std::int64_t Housekeeper::make_room_among(std::span<const Recording* const> some, std::int64_t wanted,
                                          std::int64_t missing) {
  const bool is_patient = missing == 0;
  if (some.empty() || (is_patient && Clock::now() < asks_again_)) return 0;
  const auto free = free_on_disk(free_, *some.front()->archive);
  if (free) missing = std::max(missing, wanted - *free);
  if (missing <= 0) return 0;
  std::vector<GivingWay> all;
  std::vector<RecordArchive*> archives;
  for (const Recording* each : some) {
    if (!hold(*each)) {
      if (each->archive->is_recorded() && is_patient) return 0;  // the others would give way for it
      continue;
    }
    archives.push_back(each->archive.get());
    all.push_back({each->archive->folder(), files_of(*each->archive, most_at_once), &each->archive->open_file()});
  }
  const std::int64_t gone = remove_oldest(all, missing);
  for (std::size_t i = 0; i < all.size(); ++i) settle(*archives[i], all[i].result);
  const auto after = free_on_disk(free_, *some.front()->archive);
  if (gone > 0 && free && after && *after < *free + gone / 2) asks_again_ = Clock::now() + lateness;
  return gone;
}

void Housekeeper::settle(RecordArchive& archive, const RetentionResult& result) {
  archive.use([&result](RecordIndex& index) {
    for (const auto& gone : result.gone) {
      if (is_gone(path_below(index.folder(), gone.path))) index.deleted(gone.path, gone.reason);  // no new one is there
    }
  });
  std::string& reported = reported_[archive.index()];
  if (reported != result.problem && !result.problem.empty())
    spdlog::warn("{}: {}", archive.index().string(), result.problem);
  reported = result.problem;
}

}  // namespace campipe
