#include "app/probe/device_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "app/control/child_environment.h"
#include "app/control/message_dispatch.h"
#include "core/error.h"

namespace campipe {
namespace {

constexpr std::size_t most_log = 4096;

}  // namespace

DeviceProbe::DeviceProbe(std::chrono::nanoseconds limit, Mps mps) : limit_(limit) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) throw system_error("cannot make a pipe", errno);
  log_read_.reset(pipe[0]);
  const UniqueFd log_write(pipe[1]);
  std::vector<std::string> variables = mps_variables(mps);
  variables.emplace_back("CUDA_DEVICE_ORDER=PCI_BUS_ID");  // as nvidia-smi counts
  process_ = std::make_unique<StartedProcess>(std::vector<std::string>{"probe"}, log_write.get(), variables);
}

DeviceProbe::~DeviceProbe() {
  if (!ended_ && !process_->reap()) process_->leave_behind();
}

void DeviceProbe::end(std::chrono::milliseconds longest) {
  if (ended_) return;
  process_->kill();
  pollfd gone{process_->pidfd(), POLLIN, 0};
  if (::poll(&gone, 1, static_cast<int>(longest.count())) == 1) ended_ = process_->reap();
}

void DeviceProbe::add_waits(Waits& waits) const {
  if (!ended_) waits.push_back({process_->pidfd(), POLLIN, 0});
  if (!process_->channel().closed()) waits.push_back({process_->channel().fd(), POLLIN, 0});
  if (!log_closed_) waits.push_back({log_read_.get(), POLLIN, 0});
}

std::optional<Devices> DeviceProbe::look() try {
  if (!ended_) ended_ = process_->reap();
  read_messages();
  read_log();
  if (ended_ && complete_) return std::move(found_);
  if (ended_) return failed(fmt::format("failed ({})", describe(*ended_)));
  if (Clock::now() < deadline()) return std::nullopt;
  const auto seconds = std::chrono::duration<double>(limit_).count();
  return failed(fmt::format("did not end within {} s, and was killed", seconds));
} catch (const std::exception& error) {
  return failed(fmt::format("sent {}", error.what()));
}

void DeviceProbe::read_messages() {
  while (auto message = process_->channel().receive()) {
    dispatch(messages::FromProbe(), *message, [this](const auto& read) { on(read); });
  }
}

void DeviceProbe::on(const messages::FoundDevices& found) {
  const Devices& part = found.devices;
  found_.gpus.insert(found_.gpus.end(), part.gpus.begin(), part.gpus.end());
  found_.pairs.insert(found_.pairs.end(), part.pairs.begin(), part.pairs.end());
  if (!part.problem.empty()) found_.problem = part.problem;
}

void DeviceProbe::on(const messages::ProbeDone& /*done*/) {
  complete_ = true;
  found_.driver = true;
  if (found_.gpus.empty() && found_.problem.empty()) found_.problem = "the NVIDIA driver shows none";
}

void DeviceProbe::read_log() {
  std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = ::read(log_read_.get(), buffer.data(), buffer.size())) > 0) {
    log_.append(buffer.data(), static_cast<std::size_t>(size));
    if (log_.size() > most_log) log_.erase(0, log_.size() - most_log);
  }
  log_closed_ = size == 0;
}

std::string DeviceProbe::last_words() const {
  const auto end = log_.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const auto begin = log_.rfind('\n', end);
  return "; its last output: " + log_.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

Devices DeviceProbe::failed(const std::string& how) const {
  Devices none;
  none.driver = true;
  none.problem = "the probe of the GPUs " + how + last_words();
  return none;
}

}  // namespace campipe
