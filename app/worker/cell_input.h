// A cell of a mosaic: the newest frame of the edge that it shows, and what is known of its camera while none comes.
// Rings come one after another, as writers are replaced; the newest frame stays until there is another one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/control/messages/node_parts.h"
#include "app/worker/frame_path.h"
#include "app/worker/node_input.h"
#include "app/worker/output_filters.h"
#include "ipc/ids.h"
#include "stages/compose/canvas.h"

namespace campipe {

class RigPage;

// Used by the node's thread. What it is given outlives it.
class CellInput {
 public:
  using DropMemory = std::function<void(std::shared_ptr<FrameRingMemory>)>;

  // `name`: of the mosaic and the camera, for the log. `drop`: for memory that this thread shall not free.
  CellInput(std::string name, NodePlace& place, const RigPage& page, DropMemory drop)
      : name_(std::move(name)), place_(place), page_(page), drop_(std::move(drop)) {}
  ~CellInput() { forget_ring(); }
  CellInput(const CellInput&) = delete;
  CellInput& operator=(const CellInput&) = delete;

  void set(messages::CellState state);
  // Of `edge`, which may be another one than is shown by now.
  void add(EdgeId edge, const InputRing& ring);
  // Takes what has come; never waits. `beat`: is called where a GPU takes long.
  void take_newest(const std::function<void()>& beat);
  // Valid until the next call.
  [[nodiscard]] CellContent content();
  // There are frames, or none are to be waited for.
  [[nodiscard]] bool is_settled() const { return state_.away || !state_.edge || newest_.has_value(); }

 private:
  struct Newest {
    FrameRef frame;
    std::shared_ptr<FrameRingMemory> memory;  // of the ring that it lies in
    std::int64_t came = 0;                    // monotonic ns,
    std::int64_t came_utc = 0;                // and by the clock
  };

  void use(FrameRingReader::Lease lease, const std::function<void()>& beat);
  void forget_ring();
  void forget_frame();
  [[nodiscard]] bool is_fresh() const;

  std::string name_;
  NodePlace& place_;
  const RigPage& page_;
  DropMemory drop_;
  messages::CellState state_;
  std::shared_ptr<FrameRingMemory> memory_;  // of ring_
  std::optional<RingInUse> ring_;
  std::unique_ptr<FramePath> upload_;  // on a GPU, of frames that lie in host memory
  FrameFormat uploaded_;               // that it is configured for
  double frame_rate_ = 0;
  std::optional<Newest> newest_;
  std::uint64_t number_ = 0;
  std::string since_;  // as content() shows it
};

}  // namespace campipe
