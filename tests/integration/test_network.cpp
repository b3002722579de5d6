#include "tests/integration/test_network.h"

#include <unistd.h>

#include <cstdlib>

namespace campipe::test {
namespace {

bool run(const std::string& command) { return std::system((command + " > /dev/null 2>&1").c_str()) == 0; }

}  // namespace

TestNetwork::TestNetwork(int machines)
    : machines_(machines),
      number_(std::to_string(::getpid() % 65'536)),
      // Of the range for benchmarks (RFC 2544), which no network has.
      network_("198." + std::to_string(18 + ::getpid() % 2) + "." + std::to_string(::getpid() / 2 % 256)) {
  bool made = run("ip link add cpb" + number_ + " type bridge") &&
              run("ip addr add " + network_ + ".1/24 dev cpb" + number_) && run("ip link set cpb" + number_ + " up");
  for (int machine = 0; made && machine < machines_; ++machine) {
    const std::string ns = name(machine);
    made = run("ip netns add " + ns) && run("ip link add " + port(machine) + " type veth peer name eth0 netns " + ns) &&
           run("ip link set " + port(machine) + " master cpb" + number_) &&
           run("ip link set " + port(machine) + " up") &&
           run("ip -n " + ns + " addr add " + address(machine) + "/24 dev eth0") &&
           run("ip -n " + ns + " link set eth0 up") && run("ip -n " + ns + " link set lo up");
  }
  if (!made) missing_ = "network namespaces on a bridge cannot be made here: that takes root and iproute2";
  if (made && !run("ip netns exec " + name(0) + " nft list ruleset"))
    missing_ = "there is no nftables here (Debian: apt-get install nftables)";
}

TestNetwork::~TestNetwork() {
  for (int machine = 0; machine < machines_; ++machine) {
    run("ip link del " + port(machine));
    run("ip netns del " + name(machine));
  }
  run("ip link del cpb" + number_);
}

std::string TestNetwork::name(int machine) const { return "campipe-test-" + number_ + "-" + std::to_string(machine); }

std::string TestNetwork::address(int machine) const { return network_ + "." + std::to_string(machine + 2); }

std::string TestNetwork::port(int machine) const { return "cp" + number_ + "p" + std::to_string(machine); }

void TestNetwork::cut(int machine) const { run("ip link set " + port(machine) + " down"); }

void TestNetwork::drop(int machine, Direction direction) const {
  const std::string nft = "ip netns exec " + name(machine) + " nft ";
  const bool in = direction == Direction::in;
  run(nft + "add table inet lost");
  run(nft + "'add chain inet lost all { type filter hook " + (in ? "input" : "output") + " priority 0 ; }'");
  run(nft + "add rule inet lost all " + (in ? "iifname" : "oifname") + " eth0 drop");
}

void TestNetwork::mend(int machine) const {
  run("ip link set " + port(machine) + " up");
  run("ip netns exec " + name(machine) + " nft delete table inet lost");
}

}  // namespace campipe::test
