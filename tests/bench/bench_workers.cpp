#include "tests/bench/bench_workers.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "app/control/child.h"
#include "app/control/child_environment.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/run_node.h"
#include "app/control/messages/setup.h"
#include "app/control/ring_descriptors.h"
#include "app/worker/worker.h"
#include "core/clock.h"
#include "core/cuda.h"
#include "core/error.h"
#include "ipc/edge_blocks.h"
#include "stages/filters/filter.h"

namespace campipe {
namespace {

constexpr auto deadline = std::chrono::seconds(60);
constexpr auto warm = std::chrono::seconds(2);

}  // namespace

Device device_of(const std::string& place) { return place == "cpu" ? Device{} : gpu_at(std::stoi(place)); }

FilterConfig filter_to_measure(const std::string& name) {
  static_cast<void>(known_filter(name));  // throws
  if (name == "undistort") return {name, {{"k1", -0.2}}};
  return {name, {}};
}

RingMemory memory_between(const Device& from, const Device& to, MemoryKind kind) {
  if (!on_gpu(from)) return {};
  return {on_gpu(to) ? kind : MemoryKind::host, ReadySignal::immediate, from};
}

const std::map<std::string, MemoryKind>& memory_words() {
  static const std::map<std::string, MemoryKind> words{
      {"cuda_vmm", MemoryKind::cuda_vmm}, {"cuda_legacy", MemoryKind::cuda_legacy}, {"host", MemoryKind::host}};
  return words;
}

BenchWorkers::BenchWorkers(const std::vector<Device>& devices, const Device& ring)
    : page_(RigPage::create(2 * max_workers + 1, max_workers)) {
  for (const Device& device : devices) {
    const auto same = std::ranges::find(places_, device);
    const bool is_new = same == places_.end() || !on_gpu(device);
    workers_.push_back(static_cast<unsigned>((is_new ? places_.end() : same) - places_.begin()));
    if (is_new) places_.push_back(device);
  }
  std::ranges::copy_if(places_, std::back_inserter(gpus_), on_gpu);
  if (on_gpu(ring) && std::ranges::find(gpus_, ring) == gpus_.end()) gpus_.push_back(ring);
  for (unsigned worker = 0; worker < places_.size(); ++worker) start(worker);
}

void BenchWorkers::start(unsigned worker) {
  messages::Setup setup;
  setup.role = "worker " + std::to_string(worker);
  setup.process = worker_process(worker);
  setup.log_level = "warn";
  setup.gpu = places_[worker];
  setup.sees = gpus_;
  const std::vector<std::string> arguments{"worker", std::to_string(worker)};
  children_.push_back(std::make_unique<StartedProcess>(arguments, STDERR_FILENO, std::vector{see_gpus(setup.sees)}));
  send(worker, setup, {page_.shared_fd(), page_.fd_of(setup.process)});
}

template <typename M>
void BenchWorkers::send(unsigned worker, const M& message, const std::vector<int>& fds) {
  if (!children_[worker]->channel().send(std::string(M::type), write_message(message), fds))
    throw Error("a worker has died");
}

void BenchWorkers::run(unsigned worker, const messages::RunNode& node) {
  for (const EdgeId edge : node.inputs) readers_.insert_or_assign(edge, Reader{worker, node.node});
  written_ += node.edges.size();
  send(worker, node);
}

void BenchWorkers::connect(const std::shared_ptr<FrameRingMemory>& ring, const std::vector<EdgeId>& edges) {
  FrameRingObserver observer(ring);
  std::uint32_t seats = 0;
  for (const EdgeId edge : edges) {
    const unsigned seat = observer.reserve().value();
    seats |= 1U << seat;
    observer.require(seats);
    observer.keep_together(seats);
    const Reader& reader = readers_.at(edge);
    send(reader.worker, messages::OfferFrameRing{reader.node, edge, seat, 0, 0}, descriptors_of(*ring));
  }
  const Deadline by = Clock::now() + deadline;
  while (rings_.size() < written_) {
    if (Clock::now() > by) throw Error("a worker makes no ring");
    receive();
  }
}

std::uint64_t BenchWorkers::taken(EdgeId edge) const {
  const EdgeReaderBlock& block = page_.edge_reader(edge, worker_process(readers_.at(edge).worker));
  const HistogramCounts counts = block.queue.counts();
  return std::accumulate(counts.count.begin(), counts.count.end(), std::uint64_t{0});
}

void BenchWorkers::receive() {
  std::vector<pollfd> waits;
  for (const auto& child : children_) waits.push_back({child->channel().fd(), POLLIN, 0});
  ::poll(waits.data(), waits.size(), 100);
  for (const auto& child : children_) {
    while (auto message = child->channel().receive()) take(*message);
    if (child->channel().closed()) throw Error("a worker has died");
  }
}

// A node's ring: the node that reads it gets it.
void BenchWorkers::take(Message& message) {
  if (message.type == messages::EdgeFailed::type) throw Error("a worker cannot make its ring: " + message.body.dump());
  if (message.type != messages::FrameRing::type) return;
  const auto ring = read_message<messages::FrameRing>(message);
  UniqueFd pixels = message.fds.size() > 1 ? std::move(message.fds[1]) : UniqueFd();
  FrameRingObserver observer(
      FrameRingMemory::open(std::move(message.fds.at(0)), std::move(pixels), FrameRingMemory::Role::observer));
  const unsigned seat = observer.reserve().value();
  const Reader& reader = readers_.at(ring.edge);
  send(reader.worker, messages::OfferFrameRing{reader.node, ring.edge, seat, 0, 0}, descriptors_of(observer.memory()));
  rings_.insert_or_assign(ring.edge, std::move(observer));
}

nlohmann::json measure_frames(FilledRing& ring, const BenchWorkers& workers, EdgeId last, double seconds) {
  ring.wait_for_readers();
  const auto publish_until = [&](Clock::time_point end) {
    while (Clock::now() < end) ring.publish();
  };
  publish_until(Clock::now() + warm);
  const auto begin = Clock::now();
  const std::uint64_t before = workers.taken(last);
  publish_until(begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
  const double took = std::chrono::duration<double>(Clock::now() - begin).count();
  const std::uint64_t frames = workers.taken(last) - before;
  // What is taken in the end is what was published, but for what waits and is in work.
  const Deadline by = Clock::now() + deadline;
  while (workers.taken(last) < ring.published()) {
    if (Clock::now() > by) throw Error("frames were lost between the processes");
    ::poll(nullptr, 0, 5);
  }
  return {{"workers", workers.processes()},
          {"frames", frames},
          {"seconds", took},
          {"fps", static_cast<double>(frames) / took}};
}

int bench_main(int argc, char** argv, const char* name, int (*run)(int, char**)) {
  try {
    const bool worker = argc == 3 && std::string(argv[1]) == "worker" && Child::started_by_supervisor();
    return worker ? run_worker() : run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << name << ": " << error.what() << '\n';
    return 1;
  }
}

}  // namespace campipe
