#include "app/worker/node_input.h"

#include <utility>

namespace campipe {

void NodeInput::drop_used_rings() {
  std::vector<std::shared_ptr<FrameRingMemory>> used;
  const std::lock_guard lock(mutex_);
  used.swap(used_rings_);
}

void NodeInput::leave_to_main_thread(std::shared_ptr<FrameRingMemory> memory) {
  const std::lock_guard lock(mutex_);
  used_rings_.push_back(std::move(memory));
}

}  // namespace campipe
