// The sub-commands of campipe: status, top and reload, which talk to a running rig, hash-password and make-token.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace campipe {

// Adds them to the command line. When one of them was given, `chosen` is what it does, and returns its exit status; the
// caller runs it after parsing. It may throw Error. `chosen` must outlive `app`.
void add_commands(CLI::App& app, std::function<int()>& chosen);

}  // namespace campipe
