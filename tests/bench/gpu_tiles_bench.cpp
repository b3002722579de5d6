// How many frames a second campipe's workers filter in tiles: real ones, this program started again, in place of whose
// supervisor and master it stands. Undistort, denoise and sharpen, from a frame ring that was filled before to the
// joined frame; nothing is decoded or encoded.
//
//   gpu_tiles_bench PLACE... [--size 7680x4320] [--seconds S] [--memory KIND]
//     PLACE     of each tile: a GPU's index, or cpu for one more worker; one alone: the frames are not tiled
//     --memory  of rings on GPUs
//
// The ring is the first place's, and so is the join. Prints one line of JSON.
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include "app/control/child.h"
#include "app/control/child_environment.h"
#include "app/control/child_process.h"
#include "app/control/messages.h"
#include "app/control/ring_descriptors.h"
#include "app/worker/worker.h"
#include "core/cuda.h"
#include "ipc/ring_slots.h"
#include "stages/decoders/slot_layout.h"

namespace campipe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr unsigned queue_size = 8;
constexpr auto deadline = seconds(60);
constexpr auto warm = seconds(2);
const std::vector<FilterConfig> filters{{"undistort", {{"k1", -0.2}}}, {"denoise", {}}, {"sharpen", {}}};

struct Options {
  std::vector<std::string> places;
  std::string size = "7680x4320";
  double seconds = 10;
  MemoryKind memory = MemoryKind::cuda_vmm;
};

Device device_of(const std::string& place) { return place == "cpu" ? Device{} : gpu_at(std::stoi(place)); }

// The ring that stands for a source's.
class FilledRing {
 public:
  FilledRing(const FrameFormat& format, const Device& gpu, MemoryKind memory, unsigned readers)
      : layout_(slot_layout(format.pixels, format.width, format.height, gpu_row_alignment)), gpu_(gpu) {
    FrameRingSpec spec;
    spec.slots = ring_slots(1, queue_size, readers);
    spec.slot_bytes = layout_.bytes;
    spec.expected = format;
    if (on_gpu(gpu)) {
      spec.memory = memory;
      spec.device = gpu;
      spec.ready = ReadySignal::ipc_event;
    }
    memory_ = FrameRingMemory::create(spec);
    writer_ = std::make_unique<FrameRingWriter>(memory_);
    fill(spec.slots);
    record_.format = format;
    record_.offset = layout_.offset;
    record_.stride = layout_.stride;
  }

  [[nodiscard]] const std::shared_ptr<FrameRingMemory>& memory() const { return memory_; }
  [[nodiscard]] std::uint64_t published() const { return record_.source_number; }

  bool wait_for_readers() {
    return writer_->wait_for_reader(Clock::now() + deadline, [] { return false; });
  }
  void publish() {
    const auto never = [] { return false; };
    const auto slot = writer_->claim_by(Clock::now() + deadline, never);
    if (!slot || !writer_->wait_for_room(Clock::now() + deadline, never)) throw Error("the workers take no frames");
    ++record_.source_number;
    record_.times.pts = static_cast<std::int64_t>(record_.source_number) * 20'000'000;
    record_.times.decoded = record_.times.published = now_ns();
    if (on_gpu(gpu_)) writer_->filled(slot->index, stream_.get());
    if (writer_->publish(slot->index, record_) != FrameRingWriter::Published::yes) throw Error("the workers have died");
    writer_->unpin(slot->index);
  }

 private:
  void fill(unsigned slots) {
    std::vector<std::uint8_t> samples(layout_.bytes);
    std::mt19937 random(1);
    for (auto& sample : samples) sample = static_cast<std::uint8_t>(96 + random() % 64);
    std::vector<unsigned> claimed;
    for (unsigned n = 0; n < slots; ++n) {
      const auto slot = writer_->claim();
      if (!slot) throw Error("the ring has no slots");
      copy(samples, slot->pixels);
      claimed.push_back(slot->index);
    }
    for (const unsigned slot : claimed) writer_->unpin(slot);
  }
  void copy(const std::vector<std::uint8_t>& from, std::span<std::uint8_t> to) {
    if (!on_gpu(gpu_)) {
      std::ranges::copy(from, to.begin());
      return;
    }
    if (!stream_) stream_ = make_cuda_stream();
    cuda_check(cudaMemcpy(to.data(), from.data(), from.size(), cudaMemcpyHostToDevice), "filling the ring");
  }

  SlotLayout layout_;
  Device gpu_;
  CudaStream stream_;
  std::shared_ptr<FrameRingMemory> memory_;
  std::unique_ptr<FrameRingWriter> writer_;
  FrameRecord record_;
};

// What a supervisor would do: starts the workers, gives them their nodes, and passes rings on.
class Workers {
 public:
  Workers(const Options& options, std::vector<Device> devices)
      : devices_(std::move(devices)),
        memory_(options.memory),
        page_(RigPage::create(2 * max_workers + 1, max_workers)) {
    for (const Device& device : devices_) {
      const auto same = std::ranges::find(places_, device);
      tile_worker_.push_back(static_cast<unsigned>(same - places_.begin()));
      if (same == places_.end() || !on_gpu(device)) {
        tile_worker_.back() = static_cast<unsigned>(places_.size());
        places_.push_back(device);
      }
    }
    for (unsigned worker = 0; worker < places_.size(); ++worker) start(worker);
  }

  // All nodes, each of which reads `ring`, and the one that joins what they make.
  void run(const std::shared_ptr<FrameRingMemory>& ring) {
    run_join();
    FrameRingObserver observer(ring);
    std::uint32_t seats = 0;
    for (unsigned tile = 0; tile < tiles(); ++tile) {
      run_tile(tile);
      const unsigned seat = observer.reserve().value();
      seats |= 1U << seat;
      observer.require(seats);
      observer.keep_together(seats);
      send(tile_worker_[tile], messages::OfferFrameRing{NodeId(tile), EdgeId(tile), seat, 0, 0}, descriptors_of(*ring));
    }
    const Deadline by = Clock::now() + deadline;
    while (rings_.size() < tiles()) receive(by);
  }

  [[nodiscard]] std::size_t processes() const { return children_.size(); }
  // Frames of which the node that joins has taken the last tile's part.
  [[nodiscard]] std::uint64_t joined() const {
    const EdgeReaderBlock& block = page_.edge_reader(made_by(tiles() - 1), worker_process(tile_worker_[0]));
    const HistogramCounts counts = block.queue.counts();
    return std::accumulate(counts.count.begin(), counts.count.end(), std::uint64_t{0});
  }

 private:
  [[nodiscard]] unsigned tiles() const { return static_cast<unsigned>(devices_.size()); }
  [[nodiscard]] EdgeId made_by(unsigned tile) const { return EdgeId(tiles() + tile); }
  [[nodiscard]] NodeId join() const { return NodeId(tiles()); }

  void start(unsigned worker) {
    messages::Setup setup;
    setup.role = "worker " + std::to_string(worker);
    setup.process = worker_process(worker);
    setup.log_level = "warn";
    setup.gpu = places_[worker];
    for (const Device& device : places_)
      if (on_gpu(device)) setup.sees.push_back(device);
    const std::vector<std::string> arguments{"worker", std::to_string(worker)};
    children_.push_back(std::make_unique<ChildProcess>(arguments, STDERR_FILENO, std::vector{see_gpus(setup.sees)}));
    send(worker, setup, {page_.shared_fd(), page_.fd_of(setup.process)});
  }

  void run_join() {
    messages::RunNode node;
    node.node = join();
    node.name = "frames";
    for (unsigned tile = 0; tile < tiles(); ++tile) node.inputs.push_back(made_by(tile));
    if (tiles() > 1) node.join = messages::Join{filters, 0};
    send(tile_worker_[0], node);
  }

  void run_tile(unsigned tile) {
    messages::WrittenEdge edge;
    edge.edge = made_by(tile);
    edge.name = "tile " + std::to_string(tile);
    edge.filters = filters;
    if (on_gpu(devices_[tile])) edge.memory = {memory_, ReadySignal::immediate, devices_[tile]};
    if (tiles() > 1) edge.tile = messages::Tile{tile, tiles()};
    messages::RunNode node;
    node.node = NodeId(tile);
    node.name = edge.name;
    node.inputs = {EdgeId(tile)};
    node.edges = {edge};
    send(tile_worker_[tile], node);
  }

  template <typename M>
  void send(unsigned worker, const M& message, const std::vector<int>& fds = {}) {
    if (!children_[worker]->channel().send(std::string(M::type), write_json(message), fds))
      throw Error("a worker has died");
  }

  void receive(Deadline by) {
    std::vector<pollfd> waits;
    for (const auto& child : children_) waits.push_back({child->channel().fd(), POLLIN, 0});
    if (Clock::now() > by) throw Error("a worker makes no ring");
    ::poll(waits.data(), waits.size(), 100);
    for (const auto& child : children_) {
      while (auto message = child->channel().receive()) take(*message);
      if (child->channel().closed()) throw Error("a worker has died");
    }
  }

  // The ring of a tile: the node that joins gets it.
  void take(Message& message) {
    if (message.type == messages::EdgeFailed::type)
      throw Error("a worker cannot make its ring: " + message.body.dump());
    if (message.type != messages::FrameRing::type) return;
    const auto ring = read_message<messages::FrameRing>(message);
    UniqueFd pixels = message.fds.size() > 1 ? std::move(message.fds[1]) : UniqueFd();
    FrameRingObserver observer(
        FrameRingMemory::open(std::move(message.fds.at(0)), std::move(pixels), FrameRingMemory::Role::observer));
    const unsigned seat = observer.reserve().value();
    send(tile_worker_[0], messages::OfferFrameRing{join(), ring.edge, seat, 0, 0}, descriptors_of(observer.memory()));
    rings_.insert_or_assign(ring.edge, std::move(observer));
  }

  std::vector<Device> devices_;  // of each tile
  MemoryKind memory_;
  std::vector<unsigned> tile_worker_;
  std::vector<Device> places_;  // of each worker
  RigPage page_;
  std::vector<std::unique_ptr<ChildProcess>> children_;
  std::map<EdgeId, FrameRingObserver> rings_;
};

nlohmann::json measure(const Options& options) {
  FrameFormat format{PixelFormat::nv12, 0, 0};
  if (std::sscanf(options.size.c_str(), "%dx%d", &format.width, &format.height) != 2)
    throw Error("no size: WIDTHxHEIGHT");
  std::vector<Device> devices;
  for (const std::string& place : options.places) devices.push_back(device_of(place));
  if (!on_gpu(devices[0])) format.pixels = PixelFormat::i420;
  Workers workers(options, devices);
  if (on_gpu(devices[0])) use_gpu(devices[0]);
  FilledRing ring(format, devices[0], options.memory, static_cast<unsigned>(devices.size()));
  workers.run(ring.memory());
  if (!ring.wait_for_readers()) throw Error("the workers do not come");

  const auto publish_until = [&](Clock::time_point end) {
    while (Clock::now() < end) ring.publish();
  };
  publish_until(Clock::now() + warm);
  const auto begin = Clock::now();
  const std::uint64_t before = workers.joined();
  publish_until(begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds)));
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  const std::uint64_t frames = workers.joined() - before;
  // What is joined is what was published, but for what waits and is in work.
  const Deadline by = Clock::now() + deadline;
  while (workers.joined() < ring.published()) {
    if (Clock::now() > by) throw Error("frames were lost between the processes");
    ::poll(nullptr, 0, 5);
  }
  return {{"places", options.places}, {"workers", workers.processes()},
          {"size", options.size},     {"frames", frames},
          {"seconds", took},          {"fps", static_cast<double>(frames) / took}};
}

const std::map<std::string, MemoryKind> memory_words{
    {"cuda_vmm", MemoryKind::cuda_vmm}, {"cuda_legacy", MemoryKind::cuda_legacy}, {"host", MemoryKind::host}};

int run(int argc, char** argv) {
  Options options;
  CLI::App app("measures frames that are filtered in tiles", "gpu_tiles_bench");
  app.add_option("places", options.places, "of each tile: a GPU's index, or cpu")->required()->expected(1, max_workers);
  app.add_option("--size", options.size)->capture_default_str();
  app.add_option("--seconds", options.seconds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--memory", options.memory)->transform(CLI::CheckedTransformer(memory_words));
  CLI11_PARSE(app, argc, argv);
  std::cout << measure(options) << std::endl;
  return 0;
}

}  // namespace
}  // namespace campipe

int main(int argc, char** argv) {
  try {
    const bool worker = argc == 3 && std::string(argv[1]) == "worker" && campipe::Child::started_by_supervisor();
    return worker ? campipe::run_worker() : campipe::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "gpu_tiles_bench: " << error.what() << '\n';
    return 1;
  }
}
