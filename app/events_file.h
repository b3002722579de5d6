// What happened in front of the cameras, as lines of JSON in one file of the rig: {"time": UTC, "camera": …, "output":
// …, "event": …, …}. Any thread. A line is one write, so that several processes may append to the same file.
#pragma once

#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace campipe {

class EventsFile {
 public:
  explicit EventsFile(std::string path) : path_(std::move(path)) {}
  // A file that cannot be written is told of once, in the log.
  void append(const nlohmann::json& event);

 private:
  std::string path_;
  std::mutex mutex_;
  bool told_ = false;
};

}  // namespace campipe
