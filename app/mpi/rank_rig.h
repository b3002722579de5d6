// The part of a rig's file that a rank runs: a file of its own, as its owner wrote the whole one. Pure functions.
#pragma once

#include <set>
#include <string>

#include "app/config/yaml.h"

namespace campipe {

struct RankPart {
  unsigned rank = 0;                   // of all
  unsigned local = 0;                  // of those on its machine
  std::set<std::string> cameras = {};  // and mosaics, that it runs
  bool has_motion = false;             // one of them writes events
};

// "rank3"
std::string rank_name(unsigned rank);

// "recordings/events.jsonl" of rank 3: "recordings/events.rank3.jsonl".
std::string with_rank(const std::string& path, unsigned rank);

// The rig's file with the part's cameras and mosaics, and groups of them, as YAML. Variables stay as they were written.
// Ports of the servers are higher by `part.local`; the events' file has the rank in its name. `rig`: as
// read_yaml_file() returns it, of a configuration without mistakes. Throws Error where a port cannot be another one.
std::string rank_rig(const YamlNode& rig, const RankPart& part);

// Where a server listens by that, as the file has it: "127.0.0.1:8081"; empty: nowhere. `key`: "http_address" or
// "rtsp_address".
std::string rank_address(const YamlNode& rig, const std::string& key, const RankPart& part);

}  // namespace campipe
