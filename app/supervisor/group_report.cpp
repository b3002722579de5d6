#include "app/supervisor/group_report.h"

#include <algorithm>
#include <cstdint>

#include "app/supervisor/report.h"

namespace campipe {
namespace {

double ms(double ns) { return rounded(ns / 1e6); }

}  // namespace

// Each set was decided by one of the members.
nlohmann::json group_report(const Camera& camera, const Cameras& cameras, const RigPage& page) {
  const auto& group = camera.config.group;
  if (!group || !camera.takes_part()) return {};
  std::uint64_t encoded = 0;
  std::uint64_t dropped = 0;
  std::uint64_t out_of_tolerance = 0;
  HistogramCounts skew;
  for (const Camera& member : cameras.all()) {
    if (member.config.group != group || !member.takes_part()) continue;
    const Output& own = member.own();
    const DecidedSets& sets = page.encode(own.id, member.encoder_of(own).process()).sets;
    encoded += sets.encoded.load();
    dropped += sets.dropped.load();
    out_of_tolerance += sets.out_of_tolerance.load();
    skew.add(sets.skew.counts());
  }
  const SourceHealth& health = page.source(camera.id).health;
  return {{"name", group->name},
          {"phase_ms", ms(static_cast<double>(health.set_phase.load()))},
          {"drift_ms", ms(static_cast<double>(health.set_drift.load()))},
          {"sets", {{"encoded", encoded}, {"dropped", dropped}, {"out_of_tolerance", out_of_tolerance}}},
          {"skew_ms", {{"p50", ms(skew.quantile(0.5))}, {"p99", ms(skew.quantile(0.99))}}}};
}

}  // namespace campipe
