// What a machine has for links between nodes, beside ZeroMQ: what `campipe check-links` finds, and what a node's offer
// to its cluster has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace campipe::messages {

struct LinksFound {
  static constexpr std::string_view type = "links_found";
  std::string ucx;                // its version; empty: there is none
  std::string problem_of_ucx;     // why
  std::vector<std::string> rdma;  // ports of RDMA devices that UCX uses ("mlx5_0:1"), sorted
  static void fields(auto& m, auto&& f) { f("ucx", m.ucx), f("problem_of_ucx", m.problem_of_ucx), f("rdma", m.rdma); }
  friend bool operator==(const LinksFound&, const LinksFound&) = default;
};

}  // namespace campipe::messages
