// What an index is of, and which limits its files have: one line of it, so that these hold when its camera is in no
// configuration any more.
//   {"event": "recording", "camera": …, "output": …, "path": …, "node": …, "delete_after_s": …, "max_size": …,
//    "keep_free": …}
// `path` as in the configuration, `node` of a cluster only; limits that are not there are none. The last such line
// counts. Plain functions, for any thread.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/publisher/recording/retention.h"

namespace campipe {

struct ResolvedOutput;

inline constexpr std::chrono::hours longest_age_of_files{3650 * 24};
inline constexpr std::string_view index_ending = ".index.jsonl";  // of the file's name

// Where the index of a recording lies: in the folder of its path up to the first part with a time field; for camera
// `dock` dock.index.jsonl, for its output `small` dock.small.index.jsonl. Nodes of a cluster may share the folder: each
// has an index of its own, such as dock@west.index.jsonl.
std::filesystem::path record_index_path(const std::string& record_path, const std::string& camera,
                                        const std::string& output, const std::string& node = {});

struct RecordAbout {
  std::string camera;
  std::string output;
  std::string path;
  std::string node;
  RetentionLimits limits;
  friend bool operator==(const RecordAbout&, const RecordAbout&) = default;
};

// `config` has `record`.
RecordAbout about_of(const ResolvedOutput& config);
std::filesystem::path index_of(const RecordAbout& about);

nlohmann::json line_of(const RecordAbout& about);
// Throws where the line, of that event, is damaged.
RecordAbout about_in(const nlohmann::json& line);

// Indexes of the same node that lie where those of other cameras of the same `path` would. Waits for the disk.
std::vector<std::filesystem::path> indexes_beside(const RecordAbout& about);

}  // namespace campipe
