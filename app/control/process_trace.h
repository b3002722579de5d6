// A trace of the messages between processes and the one that has started them, for tests that compare roles with
// simulated ones. In campipe itself these functions do nothing; the tests' programs link process_trace_on.cpp instead,
// which appends lines of JSON to the file that the environment variable CAMPIPE_TRACE names:
//
//   {"pid": 71, "start": ["worker", "0"]}
//   {"pid": 71, "to": "start", "body": {…}, "fds": 0, "ns": …}      a message to the process,
//   {"pid": 71, "from": "node_done", "body": {…}, "fds": 0, "ns": …}  and one from it
//   {"pid": 71, "part": "node 2", "matter": "thread", "shows": "beats"}   what its page shows (page_watch.h)
//   {"pid": 71, "status": 0}                                        it has ended, as waitpid() says
#pragma once

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace campipe {

struct Message;

void trace_start(pid_t pid, const std::vector<std::string>& arguments);
void trace_sent(pid_t pid, std::string_view type, const nlohmann::json& body, const std::vector<int>& fds);
void trace_received(pid_t pid, const Message& message);
// It may show something else by now. To be called several times a second.
void trace_page(pid_t pid);
void trace_end(pid_t pid, int status);

}  // namespace campipe
