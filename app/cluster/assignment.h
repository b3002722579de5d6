// Which node a camera is assigned to, as a value in etcd, and its fence.
//
// A fence says which of two assignments of a camera is the newer one: a node that has seen one obeys none that is
// lower. It is etcd's revision at which the camera got its node. Since a restored backup lowers revisions, an epoch
// stands before it, which is raised then.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace campipe {

struct Fence {
  std::uint64_t epoch = 0;
  std::int64_t revision = 0;
  auto operator<=>(const Fence&) const = default;
};

// As names of files and values in etcd have it: "1.0000000057", which sorts.
std::string text_of(const Fence& fence);
// Nothing: it is none.
std::optional<Fence> read_fence(std::string_view text);

struct CameraAssignment {
  std::string node;         // empty: none
  std::string from = {};    // the node that had it before; while that is alive, the camera is handed over
  std::string home = {};    // the node that it left because that was gone; empty: it is at home
  std::string reason = {};  // why it has no node, or why it had to move; for people
  // Of the fence. No revision: the key's own, since this value gave the camera its node.
  std::uint64_t epoch = 0;
  std::int64_t revision = 0;
  nlohmann::json other = nlohmann::json::object();  // fields that this version does not know
  friend bool operator==(const CameraAssignment&, const CameraAssignment&) = default;
};

std::string write_assignment(const CameraAssignment& assignment);
// Nothing: it is none, has an epoch that cannot be, or is of a schema that this version cannot read.
std::optional<CameraAssignment> read_assignment(const std::string& value);

inline Fence fence_of(const CameraAssignment& assignment, std::int64_t mod_revision) {
  return {assignment.epoch, assignment.revision != 0 ? assignment.revision : mod_revision};
}

// A node's memory of fences. A value; one thread.
class FenceGuard {
 public:
  // Whether an assignment with this fence is to be obeyed: none with a higher one was seen.
  bool accept(const std::string& camera, const Fence& fence) {
    const auto [known, is_new] = highest_.try_emplace(camera, fence);
    if (!is_new && fence < known->second) return false;
    known->second = fence;
    return true;
  }

 private:
  std::map<std::string, Fence> highest_;
};

}  // namespace campipe
