// What happened in front of the cameras, and to this machine's clock, as lines of JSON in one file of the rig: {"time":
// UTC, "event": …, …}, of cameras with "camera" and "output", in a cluster with "node". Any thread; none waits for the
// file's disk. A line is one write, so that several processes may append to the same file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/control/background_queue.h"

namespace campipe {

class EventsFile {
 public:
  // `node`: of a cluster, whose file has its name (with_node()); empty: there is none. Throws std::system_error where
  // there can be no thread.
  EventsFile(const std::string& path, std::string node);
  // Waits up to a second for what has not been written.
  ~EventsFile();
  EventsFile(const EventsFile&) = delete;
  EventsFile& operator=(const EventsFile&) = delete;

  // A file that cannot be written is logged once, and so are events that a disk which does not answer left
  // no room for.
  void append(nlohmann::json event);

 private:
  const std::string node_;
  BackgroundQueue queue_;
};

}  // namespace campipe
