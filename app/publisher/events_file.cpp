#include "app/publisher/events_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/config/paths.h"
#include "core/failpoint.h"
#include "core/files_below.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr std::size_t most_events = 1000;  // wait
constexpr auto last_wait = std::chrono::seconds(1);

// Used by the queue's thread.
class Writer {
 public:
  explicit Writer(std::string path) : path_(std::move(path)) {}

  void write(const std::string& line, std::size_t left_out) {
    failpoint("events.writing");
    if (left_out > 0) spdlog::error("'{}' did not answer: {} events are not in it", path_, left_out);
    const UniqueFd fd = open_below(in_own_folder(path_), O_WRONLY | O_CREAT | O_APPEND, 0644);
    const bool written = fd && ::write(fd.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
    if (!written && !logged_) spdlog::error("{}", file_error("cannot write events to '" + path_ + "'", errno).what());
    logged_ = !written;
  }

 private:
  std::string path_;
  bool logged_ = false;
};

}  // namespace

EventsFile::EventsFile(const std::string& path, std::string node)
    : node_(std::move(node)),
      queue_({.texts = most_events},
             [writer = Writer(with_node(path, node_))](const std::string& line, std::size_t left_out) mutable {
               writer.write(line, left_out);
             }) {}

EventsFile::~EventsFile() { queue_.finish(Clock::now() + last_wait); }

void EventsFile::append(nlohmann::json event) {
  if (!node_.empty()) event["node"] = node_;
  queue_.put(event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace campipe
