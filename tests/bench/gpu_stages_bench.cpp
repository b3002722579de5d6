// How many frames a second campipe's workers filter, where each filter is a stage on a device of its own: real workers
// (tests/bench/bench_workers.h), from a frame ring that was filled before to the last stage's ring, which a node reads
// that makes nothing of its frames. Nothing is decoded or encoded.
//
//   gpu_stages_bench FILTER:PLACE... [--ring PLACE] [--size 7680x4320] [--seconds S] [--memory KIND]
//     PLACE     a GPU's index, or cpu for one more worker
//     --ring    of the first ring; else the first stage's
//     --memory  of rings on GPUs
//
//   gpu_stages_bench undistort:0 denoise:1 sharpen:2
//
// Prints one line of JSON.
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/control/messages/run_node.h"
#include "core/error.h"
#include "tests/bench/bench_workers.h"

namespace campipe {
namespace {

struct Options {
  std::vector<std::string> stages;
  std::string ring;
  std::string size = "7680x4320";
  double seconds = 10;
  MemoryKind memory = MemoryKind::cuda_vmm;
};

struct Stage {
  FilterConfig filter;
  Device device;
};

Stage stage_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) throw Error("'" + text + "' is no stage: FILTER:PLACE");
  return {filter_to_measure(text.substr(0, colon)), device_of(text.substr(colon + 1))};
}

EdgeId edge_before(std::size_t stage) { return EdgeId(static_cast<unsigned>(stage)); }

nlohmann::json measure(const Options& options) {
  std::vector<Stage> stages;
  std::vector<Device> devices;
  for (const std::string& text : options.stages) {
    stages.push_back(stage_of(text));
    devices.push_back(stages.back().device);
  }
  const Device source = options.ring.empty() ? devices[0] : device_of(options.ring);
  if (on_gpu(source) && !on_gpu(devices[0])) throw Error("a ring on a GPU is for a stage on a GPU");
  BenchWorkers workers(devices, source);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    messages::WrittenEdge edge;
    edge.edge = edge_before(i + 1);
    edge.name = stages[i].filter.name;
    edge.filters = {stages[i].filter};
    edge.memory = memory_between(devices[i], devices[std::min(i + 1, stages.size() - 1)], options.memory);
    messages::RunNode node;
    node.node = NodeId(static_cast<unsigned>(i));
    node.name = edge.name;
    node.inputs = {edge_before(i)};
    node.edges = {edge};
    workers.run(workers.worker_of(i), node);
  }
  messages::RunNode last;
  last.node = NodeId(static_cast<unsigned>(stages.size()));
  last.name = "frames";
  last.inputs = {edge_before(stages.size())};
  workers.run(workers.worker_of(stages.size() - 1), last);

  FilledRing ring(options.size, source, options.memory, 1);
  workers.connect(ring.memory(), {edge_before(0)});
  return measure_frames(ring, workers, edge_before(stages.size()), options.seconds);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("measures frames that are filtered in stages", "gpu_stages_bench");
  app.add_option("stages", options.stages, "FILTER:PLACE, a GPU's index or cpu")->required()->expected(1, max_workers);
  app.add_option("--ring", options.ring, "where the first ring is");
  app.add_option("--size", options.size)->capture_default_str();
  app.add_option("--seconds", options.seconds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--memory", options.memory)->transform(CLI::CheckedTransformer(memory_words()));
  CLI11_PARSE(app, argc, argv);
  nlohmann::json result = measure(options);
  result["stages"] = options.stages;
  result["size"] = options.size;
  std::cout << result << std::endl;
  return 0;
}

}  // namespace
}  // namespace campipe

int main(int argc, char** argv) { return campipe::bench_main(argc, argv, "gpu_stages_bench", campipe::run); }
