#include "app/control/load_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <utility>

#include "app/config/config.h"
#include "app/control/message_dispatch.h"
#include "app/control/messages/load.h"
#include "app/control/started_process.h"
#include "core/error.h"

namespace campipe {
namespace {

constexpr auto time_to_end = std::chrono::seconds(1);

// A configuration may take passwords from any variable.
std::vector<std::string> whole_environment() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}

}  // namespace

LoadProcess::LoadProcess(const LoadJob& job, const StartProcess& start)
    : writes_(job.keep), process_(start({load_role, job.file.string()}, whole_environment())) {
  process_->allow(longest_load_step);
  process_->send(messages::LoadConfig::type, write_message(messages::LoadConfig{job.keep, job.changes}), {});
}

LoadProcess::~LoadProcess() {
  if (!gone()) process_->leave_behind();
}

std::optional<LoadedConfig> LoadProcess::look() {
  const bool ended = gone();
  try {
    if (process_->has_unsent()) process_->flush();
    read_messages();
  } catch (const std::exception& error) {
    give_up(fmt::format("failed: {}", error.what()));
  }
  if (loaded_) {
    const auto since = Clock::now() - loaded_at_;
    if (!ended && since > time_to_end && !process_->killed()) process_->kill();
    // A disk that it has asked may keep it from ending even then.
    if (ended || since > 2 * time_to_end) return std::move(**loaded_);
    return std::nullopt;
  }
  if (!ended && !process_->is_late()) return std::nullopt;
  if (!ended && how_.empty()) {
    give_up(fmt::format("took longer than {} s and was given up", longest_load_step.count()));
    return std::nullopt;
  }
  if (how_.empty()) how_ = fmt::format("ended its process ({})", describe(*exit_));
  ConfigError error = step_.place;
  error.message += fmt::format(" {}; {}", how_, step_.remedy);
  return LoadedConfig{{}, {}, {std::move(error)}};
}

void LoadProcess::on(const messages::LoadsNext& next) { step_ = next.step; }
void LoadProcess::on(messages::Loaded& done) {
  loaded_ = std::move(done.config);
  loaded_at_ = Clock::now();
}

bool LoadProcess::gone() {
  if (!exit_) exit_ = process_->reap();
  return exit_.has_value();
}

// What is killed ends at once, unless a disk holds it.
void LoadProcess::give_up(const std::string& how) {
  if (!how_.empty()) return;
  how_ = how;
  process_->kill();
  process_->allow(time_to_end);
}

void LoadProcess::read_messages() {
  while (auto message = process_->receive()) {
    if (how_.empty()) process_->allow(longest_load_step);
    dispatch(messages::FromLoadProcess(), *message, [this](auto& read) { on(read); });
  }
}

LoadedConfig load_config_apart(const std::filesystem::path& file, RigSignals* signals, ForkServer* forks) {
  LoadProcess process({file}, starts_processes(STDERR_FILENO, forks));
  while (signals == nullptr || !signals->asks_to_end()) {
    if (auto loaded = process.look()) return std::move(*loaded);
    Waits waits;
    process.add_waits(waits);
    if (signals != nullptr) waits.push_back({signals->fd(), POLLIN, 0});
    ::poll(waits.data(), waits.size(), 100);
  }
  return {};
}

}  // namespace campipe
