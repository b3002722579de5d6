// One end of a link in a process of its own, to be killed and stopped; the other end is the test's.
//
//   link_peer PARENT_PID receive ADDRESS CARRIER    notes the frames that it reads in its journal
//   link_peer PARENT_PID send ADDRESS CARRIER       a frame each 2 ms
#include "tests/faults/peer_side.h"
#include "tests/unit/link_test_support.h"

namespace campipe::test {
namespace {

int receive(std::unique_ptr<LinkWire> wire, Note note) {
  const FarSide far(std::move(wire), DropPolicy::block);
  for (std::size_t noted = 0;; std::this_thread::sleep_for(milliseconds(5))) {
    for (const auto numbers = far.numbers(); noted < numbers.size(); ++noted) {
      note.add(numbers[noted], far.damaged() == 0);
    }
  }
}

int send(std::unique_ptr<LinkWire> wire) {
  NearSide near(std::move(wire), DropPolicy::drop);
  while (near.write()) std::this_thread::sleep_for(milliseconds(2));
  return 1;
}

}  // namespace
}  // namespace campipe::test

int main(int count, char** values) {
  using namespace campipe::test;
  const auto run = [](const std::string& role, const Arguments& arguments, campipe::Channel&, Journal& journal) {
    auto wire = plain_wire(Carrier{static_cast<std::uint8_t>(number_of(arguments.at(1)))}, arguments.at(0), false);
    return role == "receive" ? receive(std::move(wire), Note(journal)) : send(std::move(wire));
  };
  return peer_main(count, values, run);
}
