// The frames of one edge, in their order: rings come one after another, as their writers are replaced and formats
// change.
#pragma once

#include <optional>
#include <string>

#include "app/rings/ring_queue.h"
#include "app/worker/node_input.h"
#include "app/worker/reader_queue.h"
#include "ipc/ids.h"

namespace campipe {

struct EdgeReaderBlock;
class RigPage;

class RingInput final : public NodeInput {
 public:
  // `name`: for the log.
  RingInput(std::string name, EdgeId edge, const ReaderQueue& queue, const RigPage& page);

  void add(EdgeId edge, InputRing ring) override;
  void accuse_writer(EdgeId edge) override;
  void finish(EdgeId /*edge*/) override { rings_.finish(); }
  void finish() override { rings_.finish(); }
  void abandon() override { rings_.abandon(); }
  void run(FrameTaker& taker) override;
  [[nodiscard]] bool is_abandoned() const override { return rings_.is_abandoned(); }
  void leave() override { leaves_ = true; }

 private:
  std::optional<InputRing> next_ring(FrameTaker& taker);
  void drain(const InputRing& ring, FrameTaker& taker);
  static void hand_on(RingInUse& ring, FrameRingReader::Lease lease, const NodeOutput::Source& source,
                      FrameTaker& taker);

  std::string name_;
  ReaderQueue queue_;
  EdgeReaderBlock& edge_;
  RingQueue<InputRing> rings_;
  bool leaves_ = false;
};

}  // namespace campipe
