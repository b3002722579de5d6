// What a simulated process does: a state machine over the real messages, its page of the rig and the real rings, of
// which none waits here. It does what the role of the same name does in app/, in steps: what that waits for, it looks
// at in its next step.
#pragma once

#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "app/control/message_dispatch.h"
#include "core/frame.h"

namespace campipe::sim {

class Child;

class Role {
 public:
  Role() = default;
  Role(const Role&) = delete;
  Role& operator=(const Role&) = delete;
  virtual ~Role() = default;

  // A message of the supervisor, but for the first one. Throws what is not to be: that ends the process.
  virtual void on_message(Message& message) = 0;
  // What its main thread does ten times a second and more. True: it leaves.
  virtual bool tick() = 0;
  // What its threads do for cameras; also while its main thread hangs.
  virtual void work() = 0;
  // Its thread for one of its cameras notes that it has died of this signal. Returns that camera; empty: it has none.
  virtual std::string note_fault(std::uint32_t signal, std::uint64_t which) = 0;
  // Sends something that message_checks refuses.
  virtual void lie(std::uint64_t which) = 0;
  // It decodes a camera there.
  [[nodiscard]] virtual bool decodes_on(const Device& gpu) const {
    static_cast<void>(gpu);
    return false;
  }
  // That it has.
  [[nodiscard]] virtual std::set<std::string> cameras() const = 0;
  // Something is left in its page of a part that it has no more.
  [[nodiscard]] virtual bool leaves_rest() const = 0;
};

// One of what it has, which is not empty.
auto& pick(auto& all, std::uint64_t which) {
  return *std::next(all.begin(), static_cast<std::ptrdiff_t>(which % all.size()));
}

// That one of what it has. Null: it does not have it.
template <typename Id, typename Part>
Part* find_in(std::map<Id, Part>& all, Id id) {
  const auto found = all.find(id);
  return found == all.end() ? nullptr : &found->second;
}

// The cameras of what it has; `name_of`: a member that returns one's camera.
template <typename Id, typename Part>
std::set<std::string> cameras_of(const std::map<Id, Part>& all, const std::string& (Part::*name_of)() const) {
  std::set<std::string> names;
  for (const auto& [id, part] : all) names.insert((part.*name_of)());
  return names;
}

std::unique_ptr<Role> make_source(Child& child);
std::unique_ptr<Role> make_master(Child& child);
std::unique_ptr<Role> make_worker(Child& child);
std::unique_ptr<Role> make_publisher(Child& child);
std::unique_ptr<Role> make_cluster(Child& child);

}  // namespace campipe::sim
