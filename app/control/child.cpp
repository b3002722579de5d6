#include "app/control/child.h"

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "app/control/messages/answer.h"
#include "app/control/messages/cameras.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/from_master.h"
#include "app/control/messages/from_publisher.h"
#include "app/control/messages/from_worker.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/messages/parts.h"
#include "app/control/messages/setup.h"
#include "app/control/messages/to_publisher.h"
#include "app/control/receive_by.h"
#include "app/control/thread_cpu.h"
#include "app/control/thread_scope.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;
constexpr auto setup_deadline = std::chrono::seconds(10);
constexpr auto time_to_leave = std::chrono::seconds(4);  // users are promised 5
constexpr auto last_flush = std::chrono::seconds(1);
constexpr int process_failed = 1;

// Memory goes where a thread first touches it, but page-locked memory is touched by whatever thread the driver likes.
// "Preferred": a node that is full is no reason to fail.
void prefer_memory_of(int node) {
  constexpr int most_nodes = 64;
  if (node < 0 || node >= most_nodes) return;
  const std::uint64_t nodes = std::uint64_t{1} << static_cast<unsigned>(node);
  // Containers often forbid it. Then memory is as near as first touch makes it.
  if (::syscall(SYS_set_mempolicy, MPOL_PREFERRED, &nodes, most_nodes + 1) != 0) {
    spdlog::debug("cannot prefer the memory of NUMA node {}: {}", node, std::strerror(errno));
  }
}

bool is_seqpacket(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

// SIGTERM comes through a descriptor; SIGINT of the terminal is the supervisor's business; writing to a peer that
// is gone is an ordinary error.
UniqueFd take_signals() {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGTERM);
  sigaddset(&mask, SIGINT);
  sigaddset(&mask, SIGHUP);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is its writer's error, and no reason to die
  sigdelset(&mask, SIGINT);
  UniqueFd fd(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) throw system_error("cannot receive signals", errno);
  return fd;
}

}  // namespace

Child::Child() {
  channel_ = Channel(UniqueFd(child_channel_fd));
  ::fcntl(child_channel_fd, F_SETFD, FD_CLOEXEC);
  signals_ = take_signals();
  wakeups_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wakeups_) throw system_error("cannot make an event descriptor", errno);
  prctl(PR_SET_NAME, "campipe");     // it was started as /proc/self/exe
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // if the parent died before this line, its end of the channel is closed
  install_crash_handler();
  receive_setup();
  pin();
}

Child::~Child() = default;

bool Child::started_by_supervisor() { return is_seqpacket(child_channel_fd); }

void Child::receive_setup() {
  auto message = receive_by(channel_, Clock::now() + setup_deadline);
  if (!message) throw Error("the supervisor sent no setup");
  if (message->type != messages::Setup::type) throw Error("the supervisor did not begin with 'setup'");
  setup_ = std::make_unique<messages::Setup>(read_message<messages::Setup>(*message));
  process_ = setup_->process;
  page_ = std::make_unique<RigPage>(RigPage::open(std::move(message->fds[0]), std::move(message->fds[1]), process_));
  init_logging(setup_->role, setup_->log_level);
}

void Child::pin() {
  prefer_memory_of(setup_->numa_node);
  if (setup_->cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : setup_->cpus) CPU_SET(cpu, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    spdlog::warn("cannot run on the CPUs chosen for this process: {}", std::strerror(errno));
  }
}

void fail_process(const std::string& reason) {
  spdlog::critical("this process ends: {}", reason);
  _exit(process_failed);
}

void Child::send(std::string_view type, const nlohmann::json& body, const std::vector<int>& fds) {
  try {
    outbox_.send(std::string(type), body, fds);
  } catch (const std::exception& error) {
    fail_process(error.what());
  }
  if (outbox_.waiting()) wake();
}

void Child::arrive(std::uint32_t phase) { page_->process(process_).arrive(phase); }

void Child::wake() {
  // The counter of the descriptor cannot overflow here; a write that fails changes nothing but the time of the tick.
  const std::uint64_t one = 1;
  static_cast<void>(::write(wakeups_.get(), &one, sizeof one) > 0);
}

void Child::beat() const { page_->process(process_).beat.store(now_ns(), std::memory_order_relaxed); }

// A long queue is handled in parts, with ticks in between.
bool Child::handle_messages(const Role& role) {
  const Deadline until = Clock::now() + beat_interval;
  while (Clock::now() < until) {
    auto message = channel_.receive();
    if (!message) break;
    beat();
    handle(role, *message);
  }
  return !channel_.closed();
}

// A process out of descriptors can do without the status for a second, and without an answer that a client waits for.
// Without a ring it can do nothing for that camera.
//
// A message that is wrong is the supervisor's mistake, and nothing that a restart of this process would mend. What is
// in it is not logged: it may hold passwords.
void Child::handle(const Role& role, Message& message) try {
  failpoint("child.message", message.type);
  if (!message.incomplete) return role.on_message(message);
  const std::string what = "out of descriptors (LimitNOFILE, ulimit -n): message '" + message.type + "' was lost";
  const bool dispensable = message.type == messages::Status::type || message.type == messages::Answer::type;
  const bool frames = message.type == messages::OfferFrameRing::type;
  const bool packets = message.type == messages::PacketRing::type || message.type == messages::AudioRing::type;
  const bool to_decode = message.type == messages::SourceRing::type;
  if (!dispensable && !frames && !packets && !to_decode) throw Error(what);
  spdlog::error("{}", what);
  if (frames) {
    const auto of = read_message<messages::OfEdgeAtNode>(message);
    send(messages::FrameRingLost{of.node, of.edge, what});
  }
  if (to_decode) send(messages::DecodingOver{read_message<messages::OfCamera>(message).camera, what});
  if (packets) send(messages::RingLost{{read_message<messages::OfOutput>(message).output, what}});
} catch (const BadMessage& error) {
  spdlog::error("the supervisor sent {}; it is passed over", error.what());
}

void Child::abandon(const Role& role) {
  if (abandoned_.exchange(true)) return;
  leave_by_ = Clock::now() + time_to_leave;
  role.on_abandoned();
}

int Child::run(const Role& role) {
  try {
    failpoint("child.starting", setup_->role);
    return run_loop(role);
  } catch (const std::exception& error) {
    fail_process(error.what());
  } catch (...) {
    fail_process("an exception of an unknown type");
  }
}

void Child::wait_for_events(std::chrono::nanoseconds longest) {
  const auto events = static_cast<short>(outbox_.wants_room() ? POLLIN | POLLOUT : POLLIN);
  std::array<pollfd, 3> waits{
      {{channel_.closed() ? -1 : channel_.fd(), events, 0}, {signals_.get(), POLLIN, 0}, {wakeups_.get(), POLLIN, 0}}};
  const auto left = std::chrono::ceil<milliseconds>(longest);
  ::poll(waits.data(), waits.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  channel_ready_ = (waits[0].revents & ~POLLOUT) != 0;
  signalfd_siginfo signal{};
  signalled_ = waits[1].revents != 0 && ::read(signals_.get(), &signal, sizeof signal) > 0;
  std::uint64_t wakeups = 0;
  woken_ = waits[2].revents != 0 && ::read(wakeups_.get(), &wakeups, sizeof wakeups) > 0;
}

int Child::run_loop(const Role& role) {
  Deadline next_tick = Clock::now();
  while (Clock::now() < leave_by_) {
    wait_for_events(next_tick - Clock::now());
    if (outbox_.waiting()) outbox_.flush();
    if (channel_ready_ && !handle_messages(role)) abandon(role);
    // A SIGTERM for the whole group is the supervisor's to obey; it reports it in good order. One that its death sent
    // is ours.
    if (signalled_ && ::getppid() != supervisor_) abandon(role);
    if (woken_ || channel_ready_) next_tick = Clock::now();
    if (Clock::now() < next_tick) continue;
    next_tick = Clock::now() + beat_interval;
    beat();
    publish_cpu_times();
    if (!role.on_tick()) continue;
    flush_before_leaving();
    return 0;
  }
  spdlog::warn("left before everything was finished: the time to end was over");
  // Without waiting for threads that do not end: nothing is left that would end this process.
  _exit(process_failed);
}

void Child::flush_before_leaving() {
  const Deadline deadline = Clock::now() + last_flush;
  while (outbox_.waiting() && Clock::now() < deadline) {
    pollfd writable{channel_.fd(), POLLOUT, 0};
    ::poll(&writable, outbox_.wants_room() ? 1 : 0, 10);
    outbox_.flush();
  }
}

}  // namespace campipe
