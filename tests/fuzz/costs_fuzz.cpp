// The file of measured costs: whatever is in it, no time that is predicted from it is impossible, and what is written
// of what was read is read as the same.
#include <cmath>

#include "app/costs/cost_cache.h"
#include "tests/fuzz/fuzz.h"

namespace campipe::fuzz {
namespace {

void check(const std::string& input) {
  const CostCache cache = parse_costs(input, "costs.json");
  require(cache.problem.empty() || cache.devices.empty(), "nothing is believed of a file that is not", input);
  for (const DeviceCosts& costs : cache.devices) {
    for (const WorkCost& cost : costs.work) {
      for (const double megapixels : {1e-4, 1.0, 67.0}) {
        for (const double parameter : {0.0, 3.0, 1e5}) {
          const double us = cost_us(costs, Work{cost.work, megapixels, parameter}).value_or(-1);
          require(std::isfinite(us) && us > 0, "a time is possible", input);
        }
      }
    }
  }
  if (cache.devices.empty()) return;
  const CostCache again = parse_costs(costs_text(cache.devices), "costs.json");
  require(again.devices == cache.devices, "the same when read again", input);
}

}  // namespace
}  // namespace campipe::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  campipe::fuzz::check(campipe::fuzz::text_of(data, size));
  return 0;
}
