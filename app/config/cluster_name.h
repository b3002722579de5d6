#pragma once

#include <string_view>

namespace campipe {

// Names of clusters and nodes: parts of etcd's keys, and of files.
inline bool is_cluster_name(std::string_view text) {
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  return !text.empty() && text.size() <= 64 && text.find_first_not_of(allowed) == std::string_view::npos &&
         text.front() != '_' && text.front() != '-' && text.front() != '.';
}

}  // namespace campipe
