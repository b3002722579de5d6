// The service manager's side: what arrives at its socket, and what the journal gets.
#include "app/supervisor/show/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <optional>

#include "app/supervisor/port/real_service_manager.h"
#include "core/log.h"
#include "core/unique_handle.h"
#include "tests/unit/temporary_folder.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

class Service : public testing::Test {
 protected:
  Service() { bind(socket_, path_); }

  // False: the socket is full.
  [[nodiscard]] bool send_from_elsewhere(const std::string& text) const {
    const UniqueFd sender(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = address_of(path_);
    const auto* generic = static_cast<const sockaddr*>(static_cast<const void*>(&address));
    return ::sendto(sender.get(), text.data(), text.size(), MSG_DONTWAIT, generic, sizeof address) >= 0;
  }

  static sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(&address.sun_path[0], sizeof address.sun_path - 1);
    return address;
  }
  // `size`: of the address, where it is not all of it.
  static void bind(const UniqueFd& socket, const std::string& path, socklen_t size = sizeof(sockaddr_un)) {
    const sockaddr_un address = address_of(path);
    const auto* generic = static_cast<const sockaddr*>(static_cast<const void*>(&address));
    if (::bind(socket.get(), generic, size) != 0) throw system_error("bind", errno);
  }

  // What came within `patience_ms`.
  std::optional<std::string> receive(int patience_ms = 10'000) {
    pollfd readable{socket_.get(), POLLIN, 0};
    if (::poll(&readable, 1, patience_ms) != 1) return std::nullopt;
    std::array<char, 4096> buffer{};
    const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    return std::string(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path() / "notify";
  UniqueFd socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
};

TEST_F(Service, TellsThatItIsReadyOnceAndThenHowItDoes) {
  const Variable variable("NOTIFY_SOCKET", path_);
  RealServiceManager manager;
  ServiceNotifier notifier(manager);
  EXPECT_TRUE(manager.active());
  notifier.ready("3 cameras: 3 running");
  EXPECT_EQ(receive(), "READY=1\nSTATUS=3 cameras: 3 running");
  notifier.ready("3 cameras: 3 running");
  notifier.ready("3 cameras: 2 running, 1 waiting");
  EXPECT_EQ(receive(), "STATUS=3 cameras: 2 running, 1 waiting") << "the same is not told again";
}

TEST_F(Service, IsReadyAgainAfterAReload) {
  const Variable variable("NOTIFY_SOCKET", path_);
  RealServiceManager manager;
  ServiceNotifier notifier(manager);
  notifier.ready("fine");
  EXPECT_TRUE(receive());
  notifier.reloading();
  EXPECT_THAT(receive().value_or(""), MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[0-9]+\nSTATUS=reloading.*"));
  notifier.ready("fine");
  EXPECT_EQ(receive(), "READY=1\nSTATUS=fine");
}

TEST_F(Service, TellsThatItStops) {
  const Variable variable("NOTIFY_SOCKET", path_);
  RealServiceManager manager;
  ServiceNotifier(manager).stopping();
  EXPECT_THAT(receive().value_or(""), StartsWith("STOPPING=1\n"));
}

TEST_F(Service, FeedsTheWatchdogTwiceInItsTime) {
  const Variable variable("NOTIFY_SOCKET", path_);
  const Variable time("WATCHDOG_USEC", "400000");
  const Variable process("WATCHDOG_PID", std::to_string(::getpid()));
  RealServiceManager manager;
  ServiceNotifier notifier(manager);
  const auto begin = Clock::now();
  notifier.watchdog();
  notifier.watchdog();
  EXPECT_EQ(receive(), "WATCHDOG=1");
  while (!receive(5)) notifier.watchdog();
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(200)) << "not at every tick";
}

TEST_F(Service, HasNoWatchdogThatIsForAnotherProcess) {
  const Variable variable("NOTIFY_SOCKET", path_);
  const Variable time("WATCHDOG_USEC", "400000");
  const Variable process("WATCHDOG_PID", "1");
  RealServiceManager manager;
  ServiceNotifier notifier(manager);
  notifier.watchdog();
  notifier.stopping();
  EXPECT_THAT(receive().value_or(""), StartsWith("STOPPING=1")) << "nothing came before";
}

TEST_F(Service, TellsNobodyWhereNobodyListens) {
  RealServiceManager manager;
  ServiceNotifier notifier(manager);
  EXPECT_FALSE(manager.active());
  notifier.ready("fine");
  notifier.watchdog();
  notifier.stopping();
  EXPECT_FALSE(receive(0));
}

// A manager that reads nothing: its socket is full. What it did not take comes once it reads again.
TEST_F(Service, WaitsForNoManager) {
  const Variable variable("NOTIFY_SOCKET", path_);
  const Variable time("WATCHDOG_USEC", "400000");
  const Variable process("WATCHDOG_PID", std::to_string(::getpid()));
  std::size_t before = 0;
  while (send_from_elsewhere("earlier")) ++before;
  RealServiceManager manager;
  ServiceNotifier notifier(manager);
  auto done = std::async(std::launch::async, [&notifier] {
    notifier.ready("fine");
    notifier.watchdog();
    notifier.reloading();
    notifier.ready("fine");
  });
  EXPECT_EQ(done.wait_for(std::chrono::seconds(10)), std::future_status::ready);
  for (; before > 0; --before) EXPECT_EQ(receive(), "earlier");
  done.get();
  notifier.watchdog();
  EXPECT_EQ(receive(), "READY=1\nSTATUS=fine");
  EXPECT_THAT(receive().value_or(""), StartsWith("RELOADING=1\n"));
  EXPECT_EQ(receive(), "WATCHDOG=1");
  notifier.ready("fine");
  EXPECT_EQ(receive(), "READY=1\nSTATUS=fine");
}

TEST_F(Service, NotifiesAnAbstractSocketToo) {
  const std::string name = "campipe-test-" + std::to_string(::getpid());
  socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  bind(socket_, '\0' + name, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size()));
  const Variable variable("NOTIFY_SOCKET", "@" + name);
  RealServiceManager manager;
  ServiceNotifier(manager).ready("fine");
  EXPECT_EQ(receive(), "READY=1\nSTATUS=fine");
}

TEST_F(Service, NotifiesNobodyAtAnAddressThatIsNone) {
  for (const std::string& address : {std::string("vsock:2:1234"), "/" + std::string(200, 'x')}) {
    const Variable variable("NOTIFY_SOCKET", address);
    RealServiceManager manager;
    ServiceNotifier notifier(manager);
    EXPECT_FALSE(manager.active()) << address;
    notifier.ready("fine");
  }
}

TEST_F(Service, GoesOnWithoutItsManager) {
  const Variable variable("NOTIFY_SOCKET", path_ + "-gone");
  RealServiceManager manager;
  ServiceNotifier notifier(manager);
  notifier.ready("fine");
  notifier.stopping();
}

class JournalLog : public testing::Test {
 protected:
  JournalLog() {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw system_error("pipe", errno);
    read_.reset(ends[0]);
    write_.reset(ends[1]);
  }
  ~JournalLog() override {
    ::unsetenv("CAMPIPE_LOGS_TO_JOURNAL");
    init_logging("test", "info");
  }

  [[nodiscard]] std::string journal_is(int fd) const {
    struct stat file {};
    ::fstat(fd, &file);
    return std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino);
  }
  std::string line_of(spdlog::level::level_enum level, const std::string& text = "text") {
    spdlog::log(level, "{}", text);
    std::array<char, 256> buffer{};
    const ssize_t size = ::read(read_.get(), buffer.data(), buffer.size());
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

  UniqueFd read_;
  UniqueFd write_;
};

TEST_F(JournalLog, HasPrioritiesAndNoTimes) {
  const Variable variable("JOURNAL_STREAM", journal_is(write_.get()));
  init_logging("worker 0", "trace", write_.get());
  EXPECT_EQ(line_of(spdlog::level::debug), "<7>[worker 0] text\n");
  EXPECT_EQ(line_of(spdlog::level::info), "<6>[worker 0] text\n");
  EXPECT_EQ(line_of(spdlog::level::warn), "<4>[worker 0] text\n");
  EXPECT_EQ(line_of(spdlog::level::err), "<3>[worker 0] text\n");
  EXPECT_EQ(line_of(spdlog::level::critical), "<2>[worker 0] text\n");
}

// A camera's redirect may say what it likes.
TEST_F(JournalLog, HasOneLineAndNothingThatATerminalObeys) {
  const Variable variable("JOURNAL_STREAM", journal_is(write_.get()));
  init_logging("master", "info", write_.get());
  EXPECT_EQ(line_of(spdlog::level::info,
                    "http://\x1b[2Jevil\n<3>[master] forged\xc2\x9b"
                    "1m"),
            "<6>[master] http://?[2Jevil?<3>[master] forged?1m\n");
}

// The supervisor finds the journal at its standard error; its children write into a pipe that ends there.
TEST_F(JournalLog, IsWrittenThroughPipesToo) {
  const UniqueFd journal(::memfd_create("journal", MFD_CLOEXEC));
  const Variable variable("JOURNAL_STREAM", journal_is(journal.get()));
  init_logging("supervisor", "info", journal.get());
  init_logging("supervisor", "info", write_.get());
  EXPECT_EQ(line_of(spdlog::level::warn), "<4>[supervisor] text\n");
}

TEST_F(JournalLog, IsNotWhereStandardErrorWasRedirected) {
  const Variable variable("JOURNAL_STREAM", "1:2");
  init_logging("supervisor", "info", write_.get());
  EXPECT_THAT(line_of(spdlog::level::warn), MatchesRegex("....-..-.. ..:..:..\\.... warning \\[supervisor\\] text\n"));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
