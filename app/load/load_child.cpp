// The process that reads a configuration, or writes its overlay.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>

#include <cstdlib>

#include "app/control/child.h"
#include "app/control/load_process.h"
#include "app/control/messages/load.h"
#include "app/control/receive_by.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr auto longest_wait = std::chrono::seconds(10);  // for the job

LoadedConfig keep(const std::filesystem::path& file, const CameraChanges& changes, const OnLoadStep& on_step) try {
  on_step({{0, 0, "", "writing its overlay " + overlay_path(file).string()}, "look at the disk"});
  keep_changes(file, changes);
  return {};
} catch (const std::exception& error) {
  return {{}, {}, {{0, 0, "", error.what()}}};
}

LoadedConfig load(const std::filesystem::path& file, const CameraChanges& changes, const OnLoadStep& on_step) {
  LoadedConfig loaded = load_config_with(file, changes, on_step);
  const bool as_kept = changes.empty();  // not to check a request
  if (as_kept && !loaded.overlay_effects.empty()) {
    spdlog::warn("{} changes {}: {}", overlay_in_use(file).string(), file.string(),
                 fmt::join(loaded.overlay_effects, ", "));
  }
  return loaded;
}

}  // namespace

int run_load_process(const std::filesystem::path& file) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::fcntl(child_channel_fd, F_SETFD, FD_CLOEXEC);
  init_logging("configuration", "warning");
  Channel channel{UniqueFd(child_channel_fd)};
  auto message = receive_by(channel, Clock::now() + longest_wait);
  if (!message) return EXIT_FAILURE;
  const auto job = read_message<messages::LoadConfig>(*message);
  const OnLoadStep on_step = [&](const LoadStep& step) { send(channel, messages::LoadsNext{step}); };
  send(channel, messages::Loaded{job.keep ? keep(file, job.changes, on_step) : load(file, job.changes, on_step)});
  // A library that was tried may hang even in what it does at the end.
  ::_exit(EXIT_SUCCESS);
}

}  // namespace campipe
