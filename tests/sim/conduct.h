// What the processes of a rig send, in which order and with what in it, as facts that can be compared: of real rigs
// with those of simulated ones. Messages are followed for each part that a process has: a camera of the source and of a
// master, a node of a worker, an output of the publisher. What a part sends of one matter is a thread of messages: its
// video, its sound, its recording. What a part shows in the rig page (app/control/page_watch.h) is one, too. Numbers
// and texts are facts only as far as a role decides them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "app/control/page_watch.h"

namespace campipe::sim {

struct ConductFacts {
  std::set<std::string> steps;                        // "worker video: packet_ring, node_done"
  std::map<std::string, std::set<std::string>> told;  // what the part had been sent before that, each time
  std::set<std::string> fields;                       // "worker packet_ring: stream.codec is a text"

  void add(const ConductFacts& more);
  void add_told(const std::string& step, const std::set<std::string>& kinds);
};
nlohmann::json to_json(const ConductFacts& facts);
ConductFacts conduct_from_json(const nlohmann::json& json);

class Conduct {
 public:
  // `role`: "worker 0". Of other roles than the simulated ones nothing is noted.
  void start(pid_t pid, std::string_view role);
  void to(pid_t pid, std::string_view type, const nlohmann::json& body);
  void from(pid_t pid, std::string_view type, const nlohmann::json& body, std::size_t descriptors);
  // Something else in its page.
  void shows(pid_t pid, const PageWatch::Change& change);
  // It may have sent what is still to be received.
  void end(pid_t pid, int status);
  // It lies from now on.
  void distrust(pid_t pid) { processes_.erase(pid); }
  // Of all that was noted; nothing follows.
  ConductFacts finish();

 private:
  struct Thread {
    std::string matter;
    std::string last = "begins";
    std::map<std::string, std::uint64_t, std::less<>> epochs = {};  // the newest, by the type of message
  };
  struct Part {
    std::set<std::string, std::less<>> told;
    std::map<std::string, Thread> threads;
  };
  struct Process {
    std::string role;
    std::set<std::string, std::less<>> told;     // of no part
    std::map<std::string, Part> parts;           // "node 4"
    std::map<std::string, std::string> part_of;  // "output 7": "node 4"
    Part itself;
    bool exits = false;  // in good order
  };
  [[nodiscard]] static std::string part_in(const Process& process, const nlohmann::json& body);
  static void begin_part(Process& process, const std::string& name, std::string_view type, const nlohmann::json& body);
  void note_step(const Process& process, const Part& part, Thread& thread, std::string_view type);
  void note_fields(const std::string& of, const std::string& path, const nlohmann::json& body, Thread* thread,
                   std::string_view type);

  std::map<pid_t, Process> processes_;
  ConductFacts facts_;
};

}  // namespace campipe::sim
