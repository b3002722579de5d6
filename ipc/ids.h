// What the parts of a rig are named by: small numbers, a type for each kind, so that none is taken for another. Each is
// the part's place in the rig page (ipc/rig_page.h), counted from 0 for its kind, and is used again when the part is
// gone. On control channels an id is its number.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>

namespace campipe {

template <typename Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(unsigned index) : index_(index) {}
  [[nodiscard]] constexpr unsigned index() const { return index_; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  unsigned index_ = 0;
};

template <typename T>
inline constexpr bool is_id = false;
template <typename Tag>
inline constexpr bool is_id<Id<Tag>> = true;

// One of the configuration, with its source, which is read on a thread of its own.
using CameraId = Id<struct CameraTag>;
// A thread in a worker. Each camera has one, or one for each of its stages.
using NodeId = Id<struct NodeTag>;
// A frame ring, from who writes it to who reads it: to each node there is one.
using EdgeId = Id<struct EdgeTag>;
// A stream of packets, with a thread in the publisher: a camera's own stream, and each of its other outputs.
using OutputId = Id<struct OutputTag>;
// Source, publisher, a master, a worker, or that of a cluster.
using ProcessId = Id<struct ProcessTag>;

}  // namespace campipe

// A specialisation for a type of ours is allowed; the check does not see that it is one.
template <typename Tag>
// NOLINTNEXTLINE(cert-dcl58-cpp)
struct std::hash<campipe::Id<Tag>> {
  std::size_t operator()(campipe::Id<Tag> id) const noexcept { return std::hash<unsigned>()(id.index()); }
};
