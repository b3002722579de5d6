// The sub-commands of campipe that are about what work costs: calibrate-costs and capacity.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace campipe {

// As add_commands() of app/commands.
void add_cost_commands(CLI::App& app, std::function<int()>& chosen);

}  // namespace campipe
