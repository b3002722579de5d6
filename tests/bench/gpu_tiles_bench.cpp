// How many frames a second campipe's workers filter in tiles: real ones (tests/bench/bench_workers.h). Undistort,
// denoise and sharpen, from a frame ring that was filled before to the joined frame; nothing is decoded or encoded.
//
//   gpu_tiles_bench PLACE... [--size 7680x4320] [--filters NAME...] [--seconds S] [--memory KIND] [--copies]
//     PLACE      of each tile: a GPU's index, or cpu for one more worker; one alone: the frames are not tiled
//     --filters  others; `color` takes as long as a copy, so that what is left is moving frames and joining them
//     --memory   of rings on GPUs
//     --copies   no workers: the parts of frames that are on other GPUs go there and back by the driver's own copies
//
// The ring is the first place's, and so is the join. Prints one line of JSON.
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/control/messages/node_parts.h"
#include "app/control/messages/run_node.h"
#include "stages/decoders/slot_layout.h"
#include "tests/bench/bench_workers.h"
#include "tests/bench/peer_copies.h"

namespace campipe {
namespace {

struct Options {
  std::vector<std::string> places;
  std::vector<std::string> filters{"undistort", "denoise", "sharpen"};
  std::string size = "7680x4320";
  double seconds = 10;
  MemoryKind memory = MemoryKind::cuda_vmm;
  bool copies = false;
};

// The edges from the ring to the tiles are numbered first, then those from the tiles to the join.
EdgeId read_by(std::size_t tile) { return EdgeId(static_cast<unsigned>(tile)); }
EdgeId made_by(std::size_t tile, std::size_t tiles) { return EdgeId(static_cast<unsigned>(tiles + tile)); }

nlohmann::json measure(const Options& options, const std::vector<Device>& devices) {
  std::vector<FilterConfig> filters;
  for (const std::string& name : options.filters) filters.push_back(filter_to_measure(name));
  const std::size_t tiles = devices.size();
  BenchWorkers workers(devices, devices[0]);

  messages::RunNode join;
  join.node = NodeId(static_cast<unsigned>(tiles));
  join.name = "frames";
  if (tiles > 1) join.join = messages::Join{filters, 0, {}};
  std::vector<EdgeId> read;
  for (std::size_t tile = 0; tile < tiles; ++tile) {
    messages::WrittenEdge edge;
    edge.edge = made_by(tile, tiles);
    edge.name = "tile " + std::to_string(tile);
    edge.filters = filters;
    edge.memory = memory_between(devices[tile], devices[0], options.memory);
    if (tiles > 1) edge.tile = messages::Tile{static_cast<unsigned>(tile), static_cast<unsigned>(tiles)};
    messages::RunNode node;
    node.node = NodeId(static_cast<unsigned>(tile));
    node.name = edge.name;
    node.inputs = {read_by(tile)};
    node.edges = {edge};
    join.inputs.push_back(edge.edge);
    read.push_back(read_by(tile));
    workers.run(workers.worker_of(tile), node);
  }
  workers.run(workers.worker_of(0), join);

  FilledRing ring(options.size, devices[0], options.memory, static_cast<unsigned>(tiles));
  workers.connect(ring.memory(), read);
  // Of a frame the join takes the last tile's part last.
  return measure_frames(ring, workers, made_by(tiles - 1, tiles), options.seconds);
}

nlohmann::json measure_copies(const Options& options, const std::vector<Device>& devices) {
  int width = 0;
  int height = 0;
  if (std::sscanf(options.size.c_str(), "%dx%d", &width, &height) != 2) throw Error("no size: WIDTHxHEIGHT");
  const std::size_t bytes = slot_layout(PixelFormat::nv12, width, height, gpu_row_alignment).bytes;
  const PeerCopies copies = measure_peer_copies(devices, bytes, options.seconds);
  return {{"bytes", copies.bytes}, {"us", copies.us}, {"fps", 1e6 / copies.us}};
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("measures frames that are filtered in tiles", "gpu_tiles_bench");
  app.add_option("places", options.places, "of each tile: a GPU's index, or cpu")->required()->expected(1, max_workers);
  app.add_option("--size", options.size)->capture_default_str();
  app.add_option("--filters", options.filters)->expected(1, 16)->capture_default_str();
  app.add_option("--seconds", options.seconds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--memory", options.memory)->transform(CLI::CheckedTransformer(memory_words()));
  app.add_flag("--copies", options.copies);
  CLI11_PARSE(app, argc, argv);
  std::vector<Device> devices;
  for (const std::string& place : options.places) devices.push_back(device_of(place));
  nlohmann::json result = options.copies ? measure_copies(options, devices) : measure(options, devices);
  result["places"] = options.places;
  result["size"] = options.size;
  std::cout << result << std::endl;
  return 0;
}

}  // namespace
}  // namespace campipe

int main(int argc, char** argv) { return campipe::bench_main(argc, argv, "gpu_tiles_bench", campipe::run); }
