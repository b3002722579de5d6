// A cluster as a node of it sees it, for tests of what shows it.
#pragma once

#include <nlohmann/json.hpp>

#include "app/control/cluster_state.h"
#include "app/control/json_fields.h"

namespace campipe::test {

// "east" sees it, and plans; "west" is drained, "north" is gone.
inline ClusterState some_cluster() {
  ClusterState state;
  state.cluster = "hall";
  state.node = "east";
  state.planner = "east";
  state.rig.revision = 7;
  state.etcd.up = true;
  state.nodes["east"] = {true, 2, false, true, "10.0.0.1:8443", "0.1.0", {{"hall", "2"}}, {{"cores", 7.5}}};
  state.nodes["west"] = {true, 0, true, true, "10.0.0.2:8443", "0.1.0"};
  state.nodes["north"] = {false, 1};
  state.cameras["dock"] = {"east", "", "", ""};
  state.cameras["gate"] = {"east", "west", "", ""};
  state.cameras["lane"] = {"north", "", "", "west"};
  state.cameras["yard"] = {"", "", "no node has room for it: too little cores", ""};
  return state;
}

// That east receives from west.
inline nlohmann::json some_links() {
  return nlohmann::json::array({{{"mosaic", "lane"},
                                 {"camera", "gate"},
                                 {"part", ""},
                                 {"peer", "west"},
                                 {"direction", "receives"},
                                 {"transport", "zeromq"},
                                 {"encrypted", true},
                                 {"connected", true},
                                 {"connections", 1},
                                 {"refused", 3},
                                 {"frames", 103},
                                 {"delivered", 100},
                                 {"dropped", 2},
                                 {"lost", 1},
                                 {"bytes", 2880000}}});
}

// As its status shows it, with what the servers know of the nodes' clocks.
inline nlohmann::json shown_cluster() {
  nlohmann::json shown = write_json(some_cluster());
  shown["clock_tolerance_s"] = 1;
  shown["links"] = some_links();
  shown["nodes"]["west"]["clock"] = {
      {"offset_s", 3.25}, {"bound_s", 0.001}, {"problem", "the clock of node 'west' is 3.250 s ahead"}};
  return shown;
}

}  // namespace campipe::test
