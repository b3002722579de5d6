#include "app/events_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "core/files_below.h"
#include "core/log.h"

namespace campipe {

void EventsFile::append(const nlohmann::json& event) {
  const std::string line = event.dump() + "\n";
  const std::lock_guard lock(mutex_);
  const UniqueFd fd = open_below(in_own_folder(path_), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const bool written = fd && ::write(fd.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (!written && !told_) spdlog::error("{}", file_error("cannot write events to '" + path_ + "'", errno).what());
  told_ = !written;
}

}  // namespace campipe
