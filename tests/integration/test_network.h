// Machines for a test: network namespaces on one switch, each with an address, whose links go down and which lose
// packets in one direction. All of it goes with the object. Takes root, iproute2 and, for lost packets, nftables.
#pragma once

#include <string>
#include <vector>

namespace campipe::test {

class TestNetwork {
 public:
  enum class Direction { in, out };

  explicit TestNetwork(int machines);
  ~TestNetwork();
  TestNetwork(const TestNetwork&) = delete;
  TestNetwork& operator=(const TestNetwork&) = delete;

  // Why there is no such network here; empty: there is.
  [[nodiscard]] const std::string& missing() const { return missing_; }
  [[nodiscard]] std::string name(int machine) const;     // of its namespace
  [[nodiscard]] std::string address(int machine) const;  // the test itself reaches it, too
  [[nodiscard]] std::vector<std::string> runner(int machine) const { return {"ip", "netns", "exec", name(machine)}; }

  // At the switch: packets are lost, and the machine's own address is still there.
  void cut(int machine) const;
  // What comes to the machine, or goes out from it, is lost; inside, it reaches itself.
  void drop(int machine, Direction direction) const;
  // Undoes both.
  void mend(int machine) const;

 private:
  [[nodiscard]] std::string port(int machine) const;

  const int machines_;
  const std::string number_;
  const std::string network_;
  std::string missing_;
};

}  // namespace campipe::test
