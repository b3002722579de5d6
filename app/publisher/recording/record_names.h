// How a recording's files are named, and whether a new one replaces what lies there. In a cluster each name says who
// made the file, by the node and the fence of its camera's assignment: no other node ever makes one of that name. Used
// by the camera's thread in the publisher.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "app/config/stream_config.h"
#include "app/control/record_state.h"
#include "app/publisher/recording/record_times.h"
#include "core/files_below.h"

namespace campipe {

class RecordNames {
 public:
  // `config` (which has `record`) outlives it.
  RecordNames(const ResolvedOutput& config, const RunStart& run);

  [[nodiscard]] const std::filesystem::path& index() const { return index_; }
  // All files lie in the index's folder, or below it.
  [[nodiscard]] PathBelow below(const std::string& path) const;
  // In a cluster: what the names of files that begin from now on have. Else it is never called.
  void set_fence(const std::string& fence);
  // Whether a file of that path has been begun under this fence.
  [[nodiscard]] bool are_of(const std::string& path) const;
  // The path of a file by when its first frame was taken (UTC, ns).
  [[nodiscard]] std::string path_at(std::int64_t utc) const;
  // Whether a file that begins at `path` then replaces what lies there, rather than being numbered. `state` holds which
  // file was the last one.
  [[nodiscard]] bool overwrites(const std::string& path, std::int64_t utc, const RecordState& state) const;

 private:
  [[nodiscard]] bool was_other_between(std::int64_t from, std::int64_t to) const;

  const ResolvedOutput& config_;
  const RunStart run_;
  const std::filesystem::path index_;
  std::string maker_;  // "@west@1.0000000057"; empty: no cluster
};

}  // namespace campipe
