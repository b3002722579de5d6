#include "app/control/rig_signals.h"

#include <signal.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>

#include "core/error.h"

namespace campipe {
namespace {

// timeout(1) and shells signal a child and its group: a signal that comes again so soon is the same one.
constexpr auto same_signal = std::chrono::milliseconds(500);

UniqueFd take_rig_signals() {
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&mask, signal);
  sigprocmask(SIG_BLOCK, &mask, nullptr);  // children inherit this, and take SIGTERM in the same way
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  UniqueFd fd(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) throw system_error("cannot receive signals", errno);
  return fd;
}

}  // namespace

RigSignals::RigSignals() : fd_(take_rig_signals()) {}

std::optional<RigSignals::Request> RigSignals::next() {
  if (kept_.empty()) return read();
  const Request first = kept_.front();
  kept_.pop_front();
  return first;
}

bool RigSignals::asks_to_end() {
  while (const auto request = read()) {
    if (std::ranges::find(kept_, *request) == kept_.end()) kept_.push_back(*request);
  }
  return std::ranges::any_of(kept_, [](Request request) { return request != Request::reload; });
}

// SIGHUP asks to read the configuration again, unless it means that the terminal of this run is gone.
std::optional<RigSignals::Request> RigSignals::read() {
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof info) == sizeof info) {
    const bool closed = info.ssi_signo == SIGHUP && terminal_closed();
    if (info.ssi_signo == SIGHUP && !closed) return Request::reload;
    if (!closed && Clock::now() - told_to_end_ < same_signal) continue;
    told_to_end_ = Clock::now();
    return closed ? Request::terminal_closed : Request::end;
  }
  return std::nullopt;
}

}  // namespace campipe
