// Real workers in a benchmark: the program itself, started again, in place of whose supervisor and master it stands.
// Nodes read one filled ring (tests/bench/filled_ring.h) and what one another make; nothing is decoded or encoded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/control/camera_placement.h"
#include "app/control/started_process.h"
#include "ipc/frame_ring.h"
#include "ipc/rig_page.h"
#include "stages/filters/filter_config.h"
#include "tests/bench/filled_ring.h"

namespace campipe {

namespace messages {
struct RunNode;
}  // namespace messages

// "0": a GPU's index; or "cpu".
Device device_of(const std::string& place);
// With the parameters that the benchmarks measure it with.
FilterConfig filter_to_measure(const std::string& name);
// Of what is made on one device for the other. `kind`: between GPUs.
RingMemory memory_between(const Device& from, const Device& to, MemoryKind kind);
// The words of --memory.
const std::map<std::string, MemoryKind>& memory_words();

class BenchWorkers {
 public:
  // Starts one for each GPU, and one for each time that the CPU is named. `ring`: where the filled ring is.
  BenchWorkers(const std::vector<Device>& devices, const Device& ring);

  // That of the i-th of the devices.
  [[nodiscard]] unsigned worker_of(std::size_t device) const { return workers_[device]; }
  [[nodiscard]] std::size_t processes() const { return children_.size(); }
  // Before connect(). Each edge has one node that reads it.
  void run(unsigned worker, const messages::RunNode& node);
  // The readers of these edges get the ring, and no frame leaves it before all of them had it; what nodes make goes to
  // those that read it. Returns when every ring is there.
  void connect(const std::shared_ptr<FrameRingMemory>& ring, const std::vector<EdgeId>& edges);
  // Frames of the edge that its reader has taken.
  [[nodiscard]] std::uint64_t taken(EdgeId edge) const;

 private:
  struct Reader {
    unsigned worker;
    NodeId node;
  };
  void start(unsigned worker);
  void receive();
  void take(Message& message);
  template <typename M>
  void send(unsigned worker, const M& message, const std::vector<int>& fds = {});

  std::vector<unsigned> workers_;  // of each device
  std::vector<Device> places_;     // of each worker
  std::vector<Device> gpus_;       // that every worker sees
  RigPage page_;
  std::vector<std::unique_ptr<StartedProcess>> children_;
  std::map<EdgeId, Reader> readers_;
  std::size_t written_ = 0;  // edges that nodes write
  std::map<EdgeId, FrameRingObserver> rings_;
};

// Publishes as fast as the frames are taken, for `seconds` after some to warm up: "frames" of `last` that were taken
// meanwhile, "seconds", "fps". Throws where one is lost.
nlohmann::json measure_frames(FilledRing& ring, const BenchWorkers& workers, EdgeId last, double seconds);

// The program's main(): `run`, or, where it was started as one, a worker.
int bench_main(int argc, char** argv, const char* name, int (*run)(int, char**));

}  // namespace campipe
