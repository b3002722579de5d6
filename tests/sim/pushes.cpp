#include "tests/sim/pushes.h"

#include "app/control/messages/from_publisher.h"
#include "ipc/publish_block.h"
#include "ipc/shared_block.h"
#include "tests/sim/child.h"
#include "tests/sim/machine.h"

namespace campipe::sim {
namespace {

constexpr auto push_interval = seconds(2);

}  // namespace

Pushes::Pushes(Child& child, OutputId output, const ResolvedOutput& config)
    : child_(child), output_(output), camera_(config.camera), is_limited_(!config.node.empty()) {
  for (const PushUrl& url : config.push)
    targets_.push_back({url.url, Clock::now() + child.takes(milliseconds(20), milliseconds(500))});
}

bool Pushes::may_push() const { return !is_limited_ || now_ns() < child_.page().shared(output_).push_until.load(); }

// A permit that ends meanwhile ends what it permits with the next look.
void Pushes::step() {
  for (Target& target : targets_) {
    if (target.sends_since && is_limited_) child_.machine().cluster().on_pushed(camera_, *target.sends_since);
    target.sends_since.reset();
    if (!may_push()) {
      disconnect(target);
      continue;
    }
    if (Clock::now() >= target.next) connect(target);
    if (target.state == "connected") target.sends_since = Clock::now();
  }
}

void Pushes::connect(Target& target) {
  const bool is_refused = target.state != "connected" && child_.chance().one_in(4);
  const bool is_there = child_.machine().targets_are_there() && !is_refused;
  report(target, is_there ? "connected" : "failed", is_there ? "" : "the target does not answer");
  target.next = Clock::now() + (is_there ? nanoseconds(milliseconds(500)) : nanoseconds(push_interval));
}

void Pushes::disconnect(Target& target) {
  if (target.state != "connected") return;
  report(target, "failed", "this node may not push it now");
  target.next = Clock::now();
}

void Pushes::close() {
  for (Target& target : targets_) {
    count(target, false);
    target = {target.url, target.next};
  }
}

// In the rig page, for who gives its permit back.
void Pushes::count(const Target& target, bool is_open) {
  if (!is_limited_ || target.state != "connected") return;
  child_.page().publish(output_).pushing += is_open ? 1 : -1;
}

void Pushes::report(Target& target, const char* state, const std::string& cause) {
  if (target.state == state) return;
  count(target, false);
  target.state = state;
  count(target, true);
  child_.send(messages::PushChanged{output_, target.url, state, cause, cause});
}

}  // namespace campipe::sim
