#include "app/events_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/log.h"
#include "core/unique_handle.h"

namespace campipe {

void EventsFile::append(const nlohmann::json& event) {
  const std::string line = event.dump() + "\n";
  const std::lock_guard lock(mutex_);
  const UniqueFd fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  const bool written = fd && ::write(fd.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (!written && !told_) spdlog::error("{}", system_error("cannot write events to '" + path_ + "'", errno).what());
  told_ = !written;
}

}  // namespace campipe
