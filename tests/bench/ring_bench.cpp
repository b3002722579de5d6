// What one frame ring costs between two real processes, the writer and a reader that is this program started again:
// how long a frame takes from publish() until the reader holds it, and the CPU time of 1,000 frames of 1080p a second.
//
//   ring_bench [--quick]     prints one JSON object
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "ipc/frame_ring.h"
#include "ipc/futex.h"
#include "tests/bench/figures.h"

extern char** environ;

namespace campipe {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr int width = 1920;
constexpr int height = 1080;
constexpr std::size_t slot_bytes = std::size_t{width} * height * 3 / 2;

enum class Pause { sleep, spin };

// One run: `frames` frames, one each `interval`.
struct Run {
  int frames = 0;
  nanoseconds interval{};
  nanoseconds reader_spin{};  // how long the reader looks before it sleeps
  Pause writer = Pause::sleep;
};

struct Result {
  double p50_us = 0;
  double p99_us = 0;
  double cpu_s = 0;  // of both processes, from the first frame to the last
  double wall_s = 0;
};

void pause_until(Clock::time_point due, Pause how) {
  if (how == Pause::sleep) return std::this_thread::sleep_until(due);
  while (Clock::now() < due) spin_pause();
}

// Frames that are late are not made up for: a queue would be measured, not the hand-over.
Clock::time_point next_due(Clock::time_point due, nanoseconds interval) {
  return Clock::now() < due + interval ? due + interval : Clock::now() + interval;
}

// The second process. `pixels` are mapped and never looked at, so that the ring's own cost is what remains.
int read_frames(int control, int pixels, nanoseconds spin) {
  FrameRingReader reader(FrameRingMemory::open(UniqueFd(control), UniqueFd(pixels), FrameRingMemory::Role::reader), 0,
                         spin);
  reader.attach(true, 8);
  std::vector<std::int64_t> handover;
  handover.reserve(1 << 20);
  double cpu_begin = 0;
  for (;;) {
    FrameRingReader::Lease lease;
    const auto next = reader.next(lease, Clock::now() + seconds(1));
    if (next == FrameRingReader::Next::timeout) continue;
    if (next != FrameRingReader::Next::frame) break;
    handover.push_back(now_ns() - lease.times.decoded);
    if (handover.size() == 1) cpu_begin = process_cpu_s();
  }
  std::cout << nlohmann::json{{"frames", handover.size()},
                              {"p50_us", quantile(handover, 0.5) / 1000.0},
                              {"p99_us", quantile(handover, 0.99) / 1000.0},
                              {"cpu_s", process_cpu_s() - cpu_begin}}
            << std::endl;
  return 0;
}

// The reader's process and what it will print.
class ReaderProcess {
 public:
  ReaderProcess(const FrameRingMemory& ring, nanoseconds spin) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw system_error("pipe", errno);
    output_ = UniqueFd(ends[0]);
    const UniqueFd input(ends[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    // dup2 on itself takes the close-on-exec flag away.
    for (const int fd : {ring.control_fd(), ring.pixel_fd()}) ::posix_spawn_file_actions_adddup2(&actions, fd, fd);
    ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
    std::array<std::string, 5> words{"ring_bench", "--reader", std::to_string(ring.control_fd()),
                                     std::to_string(ring.pixel_fd()), std::to_string(spin.count())};
    std::array<char*, 6> argv{};
    for (std::size_t i = 0; i < words.size(); ++i) argv[i] = words[i].data();
    const int code = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (code != 0) throw system_error("cannot start the reader", code);
  }
  ReaderProcess(const ReaderProcess&) = delete;
  ReaderProcess& operator=(const ReaderProcess&) = delete;

  nlohmann::json finish() {
    std::string text;
    std::array<char, 4096> part{};
    for (ssize_t size = 0; (size = ::read(output_.get(), part.data(), part.size())) > 0;) {
      text.append(part.data(), static_cast<std::size_t>(size));
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    if (status != 0) throw Error("the reader failed");
    return nlohmann::json::parse(text);
  }

 private:
  UniqueFd output_;
  pid_t pid_ = -1;
};

Result hand_over(const Run& run) {
  FrameRingSpec spec;
  spec.slots = 12;
  spec.slot_bytes = slot_bytes;
  const auto memory = FrameRingMemory::create(spec);
  FrameRingObserver(memory).reserve();
  FrameRingWriter writer(memory);
  ReaderProcess reader(*memory, run.reader_spin);
  const auto never = [] { return false; };
  if (!writer.wait_for_reader(Clock::now() + seconds(10), never)) throw Error("the reader did not come");

  FrameRecord record;
  record.format = {.pixels = PixelFormat::i420, .width = width, .height = height};
  record.stride = {width, width / 2, width / 2};
  record.offset = {0, width * height, width * height * 5 / 4};
  const double cpu_begin = process_cpu_s();
  const auto begin = Clock::now();
  auto due = begin;
  for (int frame = 0; frame < run.frames; ++frame) {
    pause_until(due, run.writer);
    due = next_due(due, run.interval);
    if (!writer.wait_for_room(Clock::now() + seconds(1), never)) throw Error("the reader takes nothing");
    const auto slot = writer.claim();
    if (!slot) throw Error("no slot is free");
    record.times.decoded = now_ns();
    writer.publish(slot->index, record);
    writer.unpin(slot->index);
  }
  const double wall = std::chrono::duration<double>(Clock::now() - begin).count();
  const double cpu = process_cpu_s() - cpu_begin;
  writer.close();
  const auto told = reader.finish();
  if (told.at("frames") != run.frames) throw Error("frames were lost");
  return {told.at("p50_us"), told.at("p99_us"), cpu + told.at("cpu_s").get<double>(), wall};
}

// The same pacing, without a ring and without a second process.
Result pacing_alone(const Run& run) {
  const double cpu_begin = process_cpu_s();
  const auto begin = Clock::now();
  auto due = begin;
  for (int frame = 0; frame < run.frames; ++frame) {
    pause_until(due, run.writer);
    due = next_due(due, run.interval);
  }
  const double wall = std::chrono::duration<double>(Clock::now() - begin).count();
  return {0, 0, process_cpu_s() - cpu_begin, wall};
}

template <typename Measure>
double median_of(int times, Measure measure) {
  std::vector<double> values;
  for (int i = 0; i < times; ++i) values.push_back(measure());
  return median(std::move(values));
}

int measure(bool quick) {
  const int times = quick ? 3 : 7;
  const Run spinning{20'000, microseconds(50), seconds(1), Pause::spin};
  const Run idle{quick ? 200 : 400, milliseconds(5), microseconds(2), Pause::sleep};
  const Run steady{quick ? 2'000 : 4'000, milliseconds(1), microseconds(2), Pause::sleep};
  nlohmann::json result;
  result["spinning_p50_us"] = median_of(times, [&] { return hand_over(spinning).p50_us; });
  result["idle_p50_us"] = median_of(times, [&] { return hand_over(idle).p50_us; });
  const auto load = [](const Result& one) { return 100 * one.cpu_s / one.wall_s; };
  // One right after the other, so that both find the machine in the same mood.
  result["ring_percent_of_a_core"] =
      median_of(times, [&] { return load(hand_over(steady)) - load(pacing_alone(steady)); });
  std::cout << result.dump(2) << std::endl;
  return 0;
}

}  // namespace
}  // namespace campipe

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 4 && arguments[0] == "--reader") {
      return campipe::read_frames(std::stoi(arguments[1]), std::stoi(arguments[2]),
                                  std::chrono::nanoseconds(std::stoll(arguments[3])));
    }
    if (arguments.empty() || arguments == std::vector<std::string>{"--quick"}) {
      return campipe::measure(!arguments.empty());
    }
    std::cerr << "usage: ring_bench [--quick]\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "ring_bench: " << error.what() << '\n';
    return 1;
  }
}
