// Values of a cluster in etcd, which other versions write, and whoever can reach it: whatever they are, they are read
// or refused, and what was read is the same when it is written and read again.
#include "app/cluster/assignment.h"
#include "app/cluster/node_offer.h"
#include "app/cluster/plan_store.h"
#include "app/cluster/rig_store.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

void check(const std::string& input) {
  if (const auto offer = read_offer("a", input)) {
    require(read_offer("a", write_offer(*offer)) == offer, "an offer is the same when read again", input);
  }
  if (const auto assignment = read_assignment(input)) {
    require(read_assignment(write_assignment(*assignment)) == assignment, "an assignment is the same", input);
  }
  const ClusterKeys keys("x");
  EtcdMirror mirror;
  mirror.apply({true,
                {{false, {keys.plan(), input, 1, 1}},
                 {false, {keys.generation(1) + "dock", input, 1, 1}},
                 {false, {keys.plans() + input, input, 1, 1}},
                 {false, {keys.rig(), input, 1, 1}},
                 {false, {keys.rig() + "/" + input, input, 1, 1}}},
                1});
  const StoredPlan plan = read_plan(mirror, keys);
  require(plan.cameras.size() + plan.unreadable.size() <= 3, "no camera is made up", input);
  require(read_rig(mirror, keys).problem.empty() || read_rig(mirror, keys).text.empty(),
          "a rig with a problem has no text", input);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
