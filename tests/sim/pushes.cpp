#include "tests/sim/pushes.h"

#include "app/control/messages/from_publisher.h"
#include "tests/sim/child.h"
#include "tests/sim/machine.h"

namespace campipe::sim {
namespace {

constexpr auto push_interval = seconds(2);

}  // namespace

Pushes::Pushes(Child& child, OutputId output, const std::vector<PushUrl>& urls) : child_(child), output_(output) {
  for (const PushUrl& url : urls)
    targets_.push_back({url.url, Clock::now() + child.takes(milliseconds(20), milliseconds(500))});
}

void Pushes::step() {
  for (Target& target : targets_) {
    if (Clock::now() < target.next) continue;
    const bool is_refused = target.state != "connected" && child_.chance().one_in(4);
    const bool is_there = child_.machine().targets_are_there() && !is_refused;
    report(target, is_there ? "connected" : "failed", is_there ? "" : "the target does not answer");
    target.next = Clock::now() + (is_there ? nanoseconds(milliseconds(500)) : nanoseconds(push_interval));
  }
}

void Pushes::report(Target& target, const char* state, const std::string& cause) {
  if (target.state == state) return;
  target.state = state;
  child_.send(messages::PushChanged{output_, target.url, state, cause, cause});
}

}  // namespace campipe::sim
