// `campipe check-links`: loads UCX, tells the process that started it what there is, and ends. UCX installs handlers of
// signals and threads of its own, which no other process is to have.
#pragma once

namespace campipe {

// The whole life of the process: its exit status.
int run_link_check();

}  // namespace campipe
