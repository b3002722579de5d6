// What signals ask of a rig.
#include "app/control/rig_signals.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>

#include "core/error.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using Request = RigSignals::Request;

// Standard error is a terminal, until that closes or this goes.
class Terminal {
 public:
  Terminal() {
    int master = -1;
    int slave = -1;
    if (::openpty(&master, &slave, nullptr, nullptr, nullptr) != 0) throw system_error("cannot make a terminal", errno);
    master_.reset(master);
    const UniqueFd own(slave);
    ::dup2(own.get(), STDERR_FILENO);
  }
  ~Terminal() { ::dup2(before_.get(), STDERR_FILENO); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  void close() { master_.reset(); }

 private:
  UniqueFd before_{::dup(STDERR_FILENO)};
  UniqueFd master_;
};

// A session that ends sends both: that is no second wish to end at once.
TEST(RigSignals, ATerminalThatClosesAndASignalAreOneWish) {
  Terminal terminal;
  RigSignals signals;
  terminal.close();
  ::raise(SIGHUP);
  ::raise(SIGTERM);
  EXPECT_EQ(signals.next(), Request::terminal_closed);
  EXPECT_EQ(signals.next(), std::nullopt);
}

TEST(RigSignals, WithItsTerminalSighupReloads) {
  const Terminal terminal;
  RigSignals signals;
  ::raise(SIGHUP);
  EXPECT_EQ(signals.next(), Request::reload);
  ::raise(SIGTERM);
  EXPECT_EQ(signals.next(), Request::end);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
