#include "app/supervisor/show/group_report.h"

#include "app/config/camera_config.h"
#include "app/supervisor/rig/accounting.h"
#include "app/supervisor/show/report.h"
#include "ipc/decode_blocks.h"
#include "ipc/encode_block.h"
#include "ipc/rig_page.h"

namespace campipe {
namespace {

double ms(double ns) { return rounded(ns / 1e6); }

}  // namespace

// Each set was decided by one of the members, which may have come anew since.
nlohmann::json group_report(const Camera& camera, const Cameras& cameras, const RigPage& page) {
  const auto& group = camera.config->group;
  if (!group || !camera.takes_part()) return {};
  SetTotals all;
  HistogramCounts skew;
  for (const Camera& member : cameras.all()) {
    const Output& own = member.own();
    if (!own.config.group || own.config.group->name != group->name) continue;
    const SetTotals sets = sets_of(member, own, page);
    all.encoded += sets.encoded;
    all.dropped += sets.dropped;
    all.out_of_tolerance += sets.out_of_tolerance;
    if (member.config->group == group && member.takes_part())
      skew.add(page.encode(own.id, member.encoder_of(own).process()).sets.skew.counts());
  }
  const SetHealth& health = page.decode(camera.id, camera.decoding.process).sets;
  return {{"name", group->name},
          {"phase_ms", ms(static_cast<double>(health.phase.load()))},
          {"drift_ms", ms(static_cast<double>(health.drift.load()))},
          {"sets", {{"encoded", all.encoded}, {"dropped", all.dropped}, {"out_of_tolerance", all.out_of_tolerance}}},
          {"skew_ms", {{"p50", ms(skew.quantile(0.5))}, {"p99", ms(skew.quantile(0.99))}}}};
}

}  // namespace campipe
