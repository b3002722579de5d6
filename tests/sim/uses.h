// Which processes each camera uses, and which of these a fault has befallen meanwhile, or just before.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "tests/sim/fault.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class Uses {
 public:
  explicit Uses(const World& world) : world_(world) {}

  // `process`: its role.
  void begin(const std::string& camera, Part part, const std::string& process);
  void end(const std::string& camera, Part part, const std::string& process);
  void befall(const std::string& process, const Fault& fault);
  [[nodiscard]] bool is_befallen(const std::string& camera, Part part) const {
    return is_befallen(camera, part, false);
  }
  // By what is no death: its process may be away for long.
  [[nodiscard]] bool is_hindered(const std::string& camera, Part part) const { return is_befallen(camera, part, true); }

 private:
  struct Use {
    Part part;
    std::string process;
    Clock::time_point since;
    std::optional<Clock::time_point> until;  // none: it goes on
  };
  struct Trouble {
    Clock::time_point since;
    Clock::time_point until;
    bool is_death = false;
  };
  [[nodiscard]] bool is_befallen(const std::string& camera, Part part, bool by_no_death) const;

  const World& world_;
  std::map<std::string, std::vector<Use>> uses_;          // by camera
  std::map<std::string, std::vector<Trouble>> troubles_;  // by process
};

}  // namespace campipe::sim
