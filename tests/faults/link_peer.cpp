// One end of a link in a process of its own, to be killed and stopped; the other end is the test's.
//
//   link_peer PARENT_PID receive ADDRESS    notes the frames that it reads in its journal
//   link_peer PARENT_PID send ADDRESS       a frame each 2 ms
#include "tests/faults/peer_side.h"
#include "tests/unit/link_test_support.h"

namespace campipe::test {
namespace {

int receive(const std::string& address, Note note) {
  const FarSide far(connecting_wire(address), DropPolicy::block);
  for (std::size_t noted = 0;; std::this_thread::sleep_for(milliseconds(5))) {
    for (const auto numbers = far.numbers(); noted < numbers.size(); ++noted) {
      note.add(numbers[noted], far.damaged() == 0);
    }
  }
}

int send(const std::string& address) {
  NearSide near(connecting_wire(address), DropPolicy::drop);
  while (near.write()) std::this_thread::sleep_for(milliseconds(2));
  return 1;
}

}  // namespace
}  // namespace campipe::test

int main(int count, char** values) {
  using namespace campipe::test;
  const auto run = [](const std::string& role, const Arguments& arguments, campipe::Channel&, Journal& journal) {
    return role == "receive" ? receive(arguments.at(0), Note(journal)) : send(arguments.at(0));
  };
  return peer_main(count, values, run);
}
