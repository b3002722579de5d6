// Named places where a test can make a process die or hang. In campipe itself failpoint() does nothing; the
// tests link failpoint_on.cpp instead, which obeys the environment variable
// CAMPIPE_FAILPOINT=NAME[@SUBJECT][:COUNT]=ACTION[,…], ACTION one of kill (SIGKILL), segv, stop (SIGSTOP):
// the COUNTth time (default 1) that this process reaches NAME for SUBJECT (default any), ACTION happens.
#pragma once

#include <string_view>

namespace campipe {

// `subject`: the camera, where there is one. Any thread.
void failpoint(std::string_view name, std::string_view subject = {});

}  // namespace campipe
