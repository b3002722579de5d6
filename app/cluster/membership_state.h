// A node's place in its cluster, as its Membership has it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "app/cluster/etcd_values.h"

namespace campipe {

// The right to plan. Writes that compare it fail once it is lost.
struct Candidacy {
  std::string key;
  std::int64_t create_revision = 0;

  [[nodiscard]] EtcdCompare holds() const { return EtcdCompare::created_at(key, create_revision); }
  friend bool operator==(const Candidacy&, const Candidacy&) = default;
};

struct MembershipState {
  enum class Stage : std::uint8_t { joining, member, name_taken };
  Stage stage = Stage::joining;
  std::int64_t lease = 0;           // of a member
  Clock::time_point effects_end{};  // of a member: by when what must not happen twice has to end
  Candidacy candidacy{};            // of a member; revision 0: it does not plan
  std::string problem{};            // of etcd, or why it is not a member; for people, with what to do
  friend bool operator==(const MembershipState&, const MembershipState&) = default;
};

}  // namespace campipe
