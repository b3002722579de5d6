#include "app/publisher/recording/record_names.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>

#include "app/publisher/recording/record_index.h"
#include "core/nanoseconds.h"
#include "ipc/record_state.h"

namespace campipe {
namespace {}  // namespace

RecordNames::RecordNames(const ResolvedOutput& config, const RunStart& run)
    : config_(config),
      run_(run),
      index_(record_index_path(config.record->path, config.camera, config.output, config.node)) {}

PathBelow RecordNames::below(const std::string& path) const { return path_below(index_.parent_path(), path); }

void RecordNames::set_fence(const std::string& fence) { maker_ = "@" + config_.node + "@" + fence; }

bool RecordNames::are_of(const std::string& path) const {
  const std::string name = path.substr(path.rfind('/') + 1);
  return maker_.empty() || name.find(maker_ + ".") != std::string::npos || name.find(maker_ + "-") != std::string::npos;
}

std::string RecordNames::path_at(std::int64_t utc) const {
  std::string path = expand_record_path(config_.record->path, config_.camera, config_.output, utc / ns_per_s);
  return path.insert(path.rfind('.'), maker_);
}

// What was recorded before under that name is in the way, unless it is of this run and the path has been the same ever
// since: then the new one is numbered. A camera that comes anew has no state of what it recorded before.
bool RecordNames::overwrites(const std::string& path, std::int64_t utc, const RecordState& state) const {
  if (!config_.record->overwrite) return false;
  const auto before = load_record_file(state);
  if (before && !before->path.empty() && path_at(before->start_utc) == path) return false;
  struct stat there {};
  if (!status_below(below(path), there)) return false;
  const std::int64_t written = std::int64_t{there.st_mtim.tv_sec} * ns_per_s + there.st_mtim.tv_nsec;
  return written < run_.earliest_utc() || was_other_between(written, utc);
}

// Half a minute back, half an hour, …: where a time field comes round again, it is another one there.
bool RecordNames::was_other_between(std::int64_t from, std::int64_t to) const {
  using namespace std::chrono_literals;
  const std::string path = path_at(to);
  return std::ranges::any_of(std::initializer_list<std::chrono::nanoseconds>{30s, 30min, 12h, 84h, 360h, 4380h},
                             [&](auto back) { return to - back.count() > from && path_at(to - back.count()) != path; });
}

}  // namespace campipe
