// What the processes of a run did, with which the supervisor's counts have to agree: packets that sources had are
// decoded once, deaths are counted, a ring that is done is given to nobody, who crashed a master is decoded apart, who
// crashes processes again and again is quarantined, one that hangs is killed, and a master ends in time.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/clock.h"
#include "tests/sim/fault.h"
#include "tests/sim/world.h"

namespace campipe::sim {

class Checks;

class Witness {
 public:
  // Both must outlive it.
  Witness(World& world, const Checks& checks) : world_(world), checks_(checks) {}

  // A source passes on a packet of a camera, of which each one is decoded.
  void on_packet(const std::string& camera) { ++packets_[camera]; }
  // A process has ended, as waitpid() says. Those that die while the rig ends are not all counted.
  void on_death(Part part, int status, bool while_ending);
  // A process is given a ring of another one, or has finished one, or all: the camera's next ones begin with 1.
  void on_ring_given(const std::string& process, const std::string& camera, const std::string& what,
                     std::uint64_t epoch);
  void on_ring_done(const std::string& camera, const std::string& what, std::uint64_t epoch);
  void on_all_done(const std::string& camera, const std::string& what);
  // The decoder of a camera has crashed its master; a master is to decode a camera. One that was changed begins anew.
  void on_decoder_crash(const std::string& camera);
  void on_decoding(const std::string& master, const std::string& camera) const;
  // A master has not done yet with a camera that it has had since `begun`, while the rig ends since `end`.
  void on_decoding_still(const std::string& master, const std::string& camera, Clock::time_point begun,
                         Clock::time_point end) const;
  // A process crashes on its thread for a camera, which is quarantined at the third within a minute.
  void on_crash(const std::string& camera, Part part);
  // A process has hung for so long that it has to be killed, and is not.
  void on_hang_still(const std::string& process) const;
  // `is_unchanged`: nobody stopped its recording, or changed it.
  void on_status(const nlohmann::json& status, bool is_unchanged);
  // A line of the supervisor's log.
  void on_log(const std::string& line);

  // Of a run that settles.
  void check(const nlohmann::json& report) const;

 private:
  using Ring = std::tuple<std::string, unsigned, std::string, std::uint64_t>;
  void check_packets(const std::string& camera, const nlohmann::json& counts) const;
  void check_deaths(const nlohmann::json& report) const;

  World& world_;
  const Checks& checks_;
  std::map<std::string, std::uint64_t> packets_;
  std::array<unsigned, parts> deaths_{};
  bool dies_ending_ = false;
  std::set<Ring> done_;
  std::set<std::pair<std::string, unsigned>> crashed_;
  struct Crashes {
    unsigned number = 0;
    std::deque<Clock::time_point> at;  // the newest ones
    std::optional<Clock::time_point> quarantined_by;
  };
  using Life = std::tuple<std::string, unsigned, bool>;  // of a camera; true: in the publisher
  std::map<Life, Crashes> crashes_;
};

}  // namespace campipe::sim
