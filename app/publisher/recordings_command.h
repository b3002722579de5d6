// The sub-command recordings: what indexes are there, and which limits their files have, also of cameras that are in no
// configuration any more.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace campipe {

// As add_commands() of app/commands.
void add_recordings_command(CLI::App& app, std::function<int()>& chosen);

}  // namespace campipe
