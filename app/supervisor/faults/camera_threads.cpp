#include "app/supervisor/faults/camera_threads.h"

#include <algorithm>

#include "app/supervisor/processes/processes.h"
#include "ipc/decode_blocks.h"
#include "ipc/node_block.h"
#include "ipc/publish_block.h"
#include "ipc/source_blocks.h"

namespace campipe {
namespace {

constexpr std::int64_t most_waited = INT64_MAX / 2;  // of what a process reports that a thread did

}  // namespace

std::optional<std::chrono::nanoseconds> CameraThread::hung(std::int64_t others_waited, std::int64_t now) {
  // The end of a wait is seen with the heartbeat that goes before it.
  const std::int64_t wait_until = block.wait_until.load(std::memory_order_acquire);
  const std::int64_t waited = std::clamp<std::int64_t>(block.cpu_waited.load(), 0, most_waited) + others_waited;
  return watch.hung({block.beat.load(), wait_until, block.cpu_time.load(), waited}, now);
}

std::vector<CameraThread> threads_of(const ManagedProcess& process, Camera& camera, const RigPage& page) {
  std::vector<CameraThread> threads;
  if (!has_work(process, camera)) return threads;
  switch (process.kind) {
    case ProcessKind::source:
      threads.push_back({camera.own(), page.source(camera.id).thread, camera.source.watch});
      break;
    case ProcessKind::master:
      threads.push_back({camera.own(), page.decode(camera.id, process.id).thread, camera.decoding.watch});
      break;
    case ProcessKind::worker:
      for (CameraNode& node : camera.nodes) {
        if (node.worker == process.number && !node.done)
          threads.push_back({camera.own(), page.node(node.id, process.id).thread, node.watch});
      }
      break;
    case ProcessKind::publisher:
      for (Output& output : camera.outputs) {
        if (!output.publisher.done) threads.push_back({output, page.publish(output.id).thread, output.publisher.watch});
      }
      break;
    case ProcessKind::cluster:
    case ProcessKind::link:  // whose main thread looks after its threads
      break;
  }
  return threads;
}

}  // namespace campipe
