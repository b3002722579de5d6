#include "app/control/descriptor_limit.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "app/config/rig_config.h"
#include "app/config/serves.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

constexpr std::size_t own = 64;             // what every process has, and libraries open for a moment
constexpr std::size_t of_process = 2;       // the supervisor's: its channel and its pidfd
constexpr std::size_t of_supervisor = 32;   // its own, and its reserve
constexpr std::size_t most_processes = 27;  // as many as machines have: 15 workers, 8 masters of GPUs
constexpr std::size_t reserve = 12;         // four processes at once need three each
constexpr std::size_t of_source = 6;        // RTSP over UDP has two sockets a track
constexpr std::size_t of_frame_ring = 2;
constexpr std::size_t of_recording = 4;  // the file, its index, its lock, one that is being finished

rlimit limits() {
  rlimit both{};
  if (::getrlimit(RLIMIT_NOFILE, &both) != 0) throw system_error("cannot read the limit of descriptors", errno);
  return both;
}

struct Sums {
  std::size_t supervisor = supervisor_descriptors(most_processes);
  std::size_t source = own;
  std::size_t master = own;
  std::size_t publisher = own;
  std::size_t worker = own;
};

// Of a mosaic: of its cells.
std::size_t frame_rings_of(const CameraConfig& camera) { return camera.mosaic ? camera.mosaic->cells.size() : 1; }

// Of each of its outputs.
std::size_t packet_rings_of(const CameraConfig& camera) { return camera.source.audio == Audio::copy ? 2 : 1; }

void add_output(Sums& sums, const CameraConfig& camera, const StreamConfig& output) {
  const std::size_t rings = packet_rings_of(camera);
  if (!camera.mosaic) sums.source += rings;
  sums.publisher += 2 * rings + (output.record ? of_recording : 0) + 2 * output.push.size();
}

}  // namespace

void raise_descriptor_limit() {
  rlimit both = limits();
  if (both.rlim_cur == both.rlim_max) return;
  both.rlim_cur = both.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &both) == 0) return;
  spdlog::warn("{}", system_error("cannot raise the limit of descriptors", errno).what());
}

std::size_t descriptor_limit() { return limits().rlim_cur; }

std::size_t most_viewers(std::size_t wanted) { return std::min(wanted, descriptor_limit() / 4); }

void DescriptorReserve::refill() {
  while (kept_.size() < reserve) {
    UniqueFd next(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!next) return;  // tried again with the next tick
    kept_.push_back(std::move(next));
  }
}

std::size_t descriptors_of(const CameraConfig& camera) {
  if (!camera.enabled) return 0;
  const std::size_t outputs = 1 + camera.outputs.size() + (camera.for_browsers ? 1 : 0);  // it may get one more
  const std::size_t of_source_ring = camera.mosaic ? 0 : 1;
  return of_source_ring + of_frame_ring * frame_rings_of(camera) + outputs * packet_rings_of(camera);
}

std::size_t supervisor_descriptors(std::size_t processes) { return of_supervisor + of_process * processes; }

DescriptorNeeds descriptors_needed(const RigConfig& rig) {
  Sums sums;
  for (const CameraConfig& camera : rig.cameras) {
    if (!camera.enabled) continue;
    sums.supervisor += descriptors_of(camera);
    if (!camera.mosaic) sums.source += of_source + 1;
    if (!camera.mosaic) sums.master += 2 * of_frame_ring + 2;       // one may be replaced just now
    sums.worker += 3 * of_frame_ring * frame_rings_of(camera) + 1;  // likewise; of a cell, both ends
    add_output(sums, camera, camera);
    if (camera.for_browsers) add_output(sums, camera, made_for_browsers());
    for (const OutputConfig& output : camera.outputs) add_output(sums, camera, output);
  }
  if (serves(rig)) sums.publisher *= 2;
  const std::array<DescriptorNeeds, 5> all{{{"supervisor", sums.supervisor},
                                            {"source", sums.source},
                                            {"master", sums.master},
                                            {"publisher", sums.publisher},
                                            {"worker", sums.worker}}};
  return *std::ranges::max_element(all, {}, &DescriptorNeeds::count);
}

std::string describe_descriptors(const DescriptorNeeds& needs, std::size_t limit) {
  return fmt::format("the {} needs up to {} descriptors; the limit is {}{}", needs.process, needs.count, limit,
                     needs.count > limit ? ": raise it (ulimit -Hn, LimitNOFILE= of the service)" : "");
}

}  // namespace campipe
