// `campipe cluster apply`: the rig of a file becomes the cluster's.
#pragma once

#include <string>
#include <vector>

namespace campipe {

// What is between two rigs' texts: "+ dock", "- gate", "~ yard", "~ defaults". Of texts that are no rigs: nothing.
std::vector<std::string> rig_difference(const std::string& before, const std::string& after);

struct ApplyOptions {
  bool dry_run = false;
  bool restored = false;  // etcd was restored from a backup, or lost its data: what is there counts again
};
// Returns the exit status.
int run_cluster_apply(const std::string& file, const ApplyOptions& options);

}  // namespace campipe
