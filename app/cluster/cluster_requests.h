// `campipe cluster drain` and `move`: what somebody asks of the plan. Each returns the exit status.
#pragma once

#include <string>

namespace campipe {

int run_cluster_drain(const std::string& config, const std::string& node, bool end);
// No node: it does not matter any more.
int run_cluster_move(const std::string& config, const std::string& camera, const std::string& node);

}  // namespace campipe
