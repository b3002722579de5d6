// Which interfaces links use.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

#include <fstream>
#include <sstream>

#include "app/link/network_devices.h"
#include "app/link/ucx_found.h"
#include "core/error.h"
#include "tests/integration/environment.h"
#include "tests/unit/link_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string with(const std::string& address) { return interface_with(parse_socket_address(address)); }
std::string towards(const std::string& address) { return interface_towards(parse_socket_address(address)); }

TEST(NetworkDevices, AddressesBelongToInterfaces) {
  EXPECT_EQ(with("127.0.0.1:7000"), "lo");
  EXPECT_EQ(with("127.3.2.1:7000"), "lo");
  EXPECT_EQ(with("0.0.0.0:7000"), "") << "all of them";
  EXPECT_EQ(with("[::]:7000"), "") << "all of them";
  EXPECT_EQ(with("203.0.113.77:7000"), "") << "an address of documentation, which nobody has";
  EXPECT_EQ(towards("127.0.0.1:7000"), "lo");
}

TEST(NetworkDevices, AnAddressHasItsPort) {
  EXPECT_EQ(port_of(parse_socket_address("10.0.0.7:7000").storage), 7000);
  EXPECT_EQ(port_of(parse_socket_address("[::1]:7001").storage), 7001);
  for (const char* const bad : {"", "10.0.0.7", "hall:7000", "10.0.0.7:port"})
    EXPECT_THROW(parse_socket_address(bad), Error) << bad;
}

// The calling thread, and those that it starts, have a network of their own: the loopback, and a further interface. UCX
// finds interfaces below /sys, so that is their own, too.
class OwnNetwork {
 public:
  OwnNetwork()
      : network_before_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)),
        mounts_before_(::open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC)) {
    is_there_ = network_before_ && mounts_before_ && ::unshare(CLONE_NEWNET | CLONE_NEWNS) == 0;
    is_there_ = is_there_ && run("mount --make-rprivate / && mount -t sysfs sysfs /sys && "
                                 "ip link set lo up && ip link add other type veth peer name end && ip link set end up "
                                 "&& ip addr add 10.77.0.1/24 dev other && ip link set other up");
  }
  ~OwnNetwork() {
    const bool is_back =
        ::setns(network_before_.get(), CLONE_NEWNET) == 0 && ::setns(mounts_before_.get(), CLONE_NEWNS) == 0;
    if (is_there_ && !is_back) ADD_FAILURE() << "this thread's network is lost";
  }
  OwnNetwork(const OwnNetwork&) = delete;
  OwnNetwork& operator=(const OwnNetwork&) = delete;

  // False: this account may not have one, or there is no `ip`.
  [[nodiscard]] bool is_there() const { return is_there_; }
  static bool run(const std::string& command) { return ::system(("(" + command + ") > /dev/null 2>&1").c_str()) == 0; }

 private:
  UniqueFd network_before_;
  UniqueFd mounts_before_;
  bool is_there_ = false;
};

TEST(NetworkDevices, OfAnotherInterfaceAreItsOwn) {
  const OwnNetwork network;
  if (!network.is_there()) GTEST_SKIP() << "no network of its own for this account";
  EXPECT_EQ(with("10.77.0.1:7000"), "other");
  EXPECT_EQ(towards("10.77.0.9:7000"), "other");
  EXPECT_EQ(towards("10.78.0.9:7000"), "") << "there is no route";
}

// Of this thread's network, with their addresses in the kernel's form: 127.0.0.1 is 0100007F.
std::string sockets() {
  std::ostringstream text;
  text << std::ifstream("/proc/thread-self/net/tcp").rdbuf();
  return text.str();
}

TEST(UcxLink, DoesNotNoticeThatAnotherInterfaceGoes) {
  if (const std::string why = why_not(Carrier::ucx); !why.empty()) GTEST_SKIP() << why;
  const OwnNetwork network;
  if (!network.is_there()) GTEST_SKIP() << "no network of its own for this account";
  const Environment without_shared_memory("UCX_TLS", "tcp");
  auto wires = wire_pair(Carrier::ucx);
  FarSide far(std::move(wires.listening), DropPolicy::block);
  NearSide near(std::move(wires.connecting), DropPolicy::block);
  near.write(20);
  ASSERT_TRUE(eventually([&] { return far.read() == 20; }));
  // UCX listens at each interface that it uses.
  EXPECT_THAT(sockets(), AllOf(HasSubstr("0100007F:"), Not(HasSubstr("01004D0A:"))));
  ASSERT_TRUE(OwnNetwork::run("ip link del other"));
  near.write(100);
  near.finish();
  EXPECT_TRUE(eventually([&] { return far.read() == 120; }));
  EXPECT_EQ(far.counts().connections, 1U);
  EXPECT_EQ(near.counts().lost, 0U);
}

#ifdef CAMPIPE_WITH_UCX
TEST(UcxDevices, AreThoseThatUcxHasFound) {
  EXPECT_THAT(rdma_ports_in("#     component 4  :  ib\n"
                            "#            md 4  :  component 4  ib/mlx5_0\n"
                            "#      resource 1  :  md 1  dev 1  flags -- tcp/eth0\n"
                            "#      resource 4  :  md 3  dev 3  flags -- posix/memory\n"
                            "#      resource 6  :  md 4  dev 5  flags -- rc_verbs/mlx5_1:1\n"
                            "#      resource 7  :  md 4  dev 4  flags -- rc_mlx5/mlx5_0:1 \n"
                            "#      resource 8  :  md 4  dev 4  flags -- ud_mlx5/mlx5_0:1\n"
                            "#      resource 9  :  md 5  dev 4  flags a- rdmacm/sockaddr\n"),
              testing::ElementsAre("mlx5_0:1", "mlx5_1:1"));
}
#endif

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
