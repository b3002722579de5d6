// Paths of recordings, snapshots and events: what they may contain, how their files are named in a cluster, and whether
// these could be written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/report.h"

namespace campipe {

// What is wrong with a path's fields or its length, or nothing.
std::optional<std::string> check_record_path(const std::string& path);
// Likewise of one that is right, in a cluster, which adds "@NODE@FENCE" to the file's name.
std::optional<std::string> check_cluster_record_path(const std::string& path);
std::optional<std::string> check_snapshot_path(const std::string& path);
// Checks the length of a snapshot's path in a cluster, where with_node() adds to it. `path` passes
// check_snapshot_path().
std::optional<std::string> check_cluster_snapshot_path(const std::string& path);
// "@NODE" stands before the ending, so that nodes may have one folder; no node: the path as it is.
std::string with_node(const std::string& path, const std::string& node);
// It is another file each second.
bool tells_seconds(const std::string& path);
// That the file could be made; creates nothing. A folder that cannot be used now is a condition that passes: its disk
// may not be there yet. False: none will ever be made there, which is a mistake.
bool check_can_be_written(const std::string& path, const YamlNode& node, Report& report);

// A file that a camera writes, or several by the time. `what`: "records", "writes snapshots".
struct FileTarget {
  std::string camera;
  std::string output;
  std::string_view what;
  const YamlNode* node = nullptr;
  std::string path;
};
void check_files(const std::vector<FileTarget>& targets, Report& report);

}  // namespace campipe
