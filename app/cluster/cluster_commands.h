// The sub-commands of campipe that are about a cluster: `campipe cluster apply`, `status`, `drain` and `move`,
// which talk to etcd and to no node, and `certificates`, which talks to nobody.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace campipe {

// As add_commands() of app/commands.
void add_cluster_commands(CLI::App& app, std::function<int()>& chosen);

}  // namespace campipe
