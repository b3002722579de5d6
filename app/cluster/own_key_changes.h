// Keys in etcd by which a node says what it does: what is to be written of them, and how far that is.
// Values; no thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "app/cluster/etcd_requests.h"

namespace campipe {

struct OwnKeyChanges {
  std::int64_t lease = 0;
  std::vector<std::pair<std::string, std::string>> claims{};   // made where there is no such key: another one's stays
  std::vector<std::pair<std::string, std::string>> puts{};     // written: of names that no other node uses
  std::vector<std::pair<std::string, std::string>> lasting{};  // written without the lease: the node leaves them
  std::vector<EtcdKeyValue> releases{};                        // erased, where they are still those

  [[nodiscard]] bool empty() const { return claims.empty() && puts.empty() && lasting.empty() && releases.empty(); }
};

class OwnKeyWrites {
 public:
  // The next changes can be written: the mirror, of that revision, shows those before, or has had time enough for it.
  [[nodiscard]] bool is_ready(std::int64_t mirror_revision, Clock::time_point now) const;
  void begin() { is_busy_ = true; }
  struct Written {
    bool failed = false;        // something of it
    std::int64_t revision = 0;  // of the newest that was written; 0: nothing was
    std::string problem{};
  };
  void end(Written written, Clock::time_point now);
  // Why the last changes could not be written; empty: they were.
  [[nodiscard]] const std::string& problem() const { return written_.problem; }

 private:
  bool is_busy_ = false;
  Written written_;
  Clock::time_point again_{};  // at the latest
};

// Waits for etcd.
OwnKeyWrites::Written write_own_keys(EtcdRequests& etcd, const OwnKeyChanges& changes);

}  // namespace campipe
