// Until when something may be pushed, where that has to be certain: of a node of a cluster, whose successor may push
// then. Both words lie in shared memory, so that pushes end in time although nobody is left who could say so.
//
// Who takes the permit away stores `until` and then reads `open`; who pushes counts itself in `open` and then reads
// `until`. So one of them sees the other: once `until` is over and `open` is 0, nothing is pushed any more.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/clock.h"

namespace campipe {

struct PushPermit {
  const std::atomic<std::int64_t>* until = nullptr;  // monotonic ns; null: for ever
  std::atomic<std::uint32_t>* open = nullptr;        // connections, from before they are made until they are closed

  [[nodiscard]] bool is_limited() const { return until != nullptr; }
  [[nodiscard]] bool holds() const { return until == nullptr || now_ns() < until->load(); }
};

// A connection that is counted as long as this lives.
class OpenPush {
 public:
  explicit OpenPush(const PushPermit& permit) : open_(permit.open) {
    if (open_ != nullptr) open_->fetch_add(1);
  }
  ~OpenPush() {
    if (open_ != nullptr) open_->fetch_sub(1);
  }
  OpenPush(const OpenPush&) = delete;
  OpenPush& operator=(const OpenPush&) = delete;

 private:
  std::atomic<std::uint32_t>* open_;
};

}  // namespace campipe
