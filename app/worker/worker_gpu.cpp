#include "app/worker/worker_gpu.h"

#include <unistd.h>

#include <utility>

#include "app/control/gpu_loss.h"
#include "app/control/messages/run_node.h"
#include "app/control/messages/setup.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "core/pretended_gpus.h"

namespace campipe {

Device take_gpu(const Device& gpu) {
  failpoint("worker.beginning", to_string(gpu));
  if (!on_gpu(gpu) || is_pretended(gpu)) return {};
  if constexpr (with_cuda) {
    use_gpu(gpu);
    spdlog::info("works on {}", to_string(gpu));
    return gpu;
  } else {
    throw Error("this campipe was built without CUDA and cannot work on " + to_string(gpu));
  }
}

messages::WrittenEdge on_this_machine(messages::WrittenEdge edge) {
  if (is_pretended(edge.memory.device)) edge.memory = {};
  return edge;
}

void leave_lost_gpu(const messages::Setup& setup, const std::string& reason) {
  spdlog::critical("the GPU cannot be used any more, so this process ends: {}", reason);
  _exit(gpu_loss_status(setup.gpu, setup.sees));
}

}  // namespace campipe
