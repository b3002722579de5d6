// The rig that the tests of faults disturb: four cameras on two workers (a and c on 0, b and d on 1), test patterns
// of 25 frames a second, recorded with a key frame every ten.
#pragma once

#include <signal.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "core/clock.h"
#include "tests/integration/recording.h"
#include "tests/integration/rig_run.h"

namespace campipe::test {

inline const std::vector<std::string> fault_cameras{"a", "b", "c", "d"};
inline constexpr int group = 10;

// `frames`: of each pattern, 0: without end. `policy`: of every camera.
inline std::string fault_rig(int frames, const std::string& policy = "block") {
  std::string yaml = "http_address: off\nrtsp_address: off\ndefaults:\n  drop_policy: " + policy +
                     "\n  queue_size: 32\n  encode: {gop: 10, bitrate: 1M}\n"
                     "  source: \"test://pattern?width=320&height=240&rate=25&frames=" +
                     std::to_string(frames) + "\"\n  record: {path: \"{camera}.mp4\"}\nworkers: {count: 2}\ncameras:\n";
  for (const std::string& name : fault_cameras) yaml += "  " + name + ": {}\n";
  return yaml;
}

// All cameras record: something of each is in its file.
inline bool wait_until_recording(RigRun& rig) {
  constexpr std::uintmax_t header = 2000;
  bool all = true;
  for (const std::string& name : fault_cameras) all = all && rig.wait_for_growth(name + ".mp4", header);
  return all;
}

inline std::uint64_t dropped(const nlohmann::json& camera, const std::string& cause) {
  return camera.at("frames").at("dropped").value(cause, std::uint64_t{0});
}

// To processes of a rig, all at once.
struct Blow {
  std::string title;
  std::vector<std::string> roles;
  int signal = SIGKILL;
};

// One after the other in the same rig: so few to each process that it is restarted at once, or nearly so.
struct Blows {
  std::string title;
  std::vector<Blow> blows;
};
inline void PrintTo(const Blows& blows, std::ostream* out) { *out << blows.title; }

inline bool hits(const Blow& blow, const std::string& role) { return std::ranges::count(blow.roles, role) > 0; }
// How many of them do.
inline int hits(const std::vector<Blow>& blows, const std::string& role) {
  return static_cast<int>(std::ranges::count_if(blows, [&](const Blow& blow) { return hits(blow, role); }));
}

// Strikes all at once; returns when that was, and waits for the successors.
inline std::int64_t strike(RigRun& rig, const Blow& blow) {
  std::vector<pid_t> victims;
  for (const std::string& role : blow.roles) victims.push_back(rig.pid_of(role));
  const std::int64_t when = utc_now_ns();
  for (const pid_t pid : victims) ::kill(pid, blow.signal);
  for (std::size_t i = 0; i < victims.size(); ++i) rig.successor_of(blow.roles[i], victims[i]);
  return when;
}

}  // namespace campipe::test
