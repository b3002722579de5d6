// How many frames all decoders of a GPU give together: one stream uses one of them, so that several have to run.
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "app/calibrate/clip.h"
#include "core/clock.h"
#include "core/cuda.h"
#include "core/error.h"
#include "stages/decoders/cuda_decoder.h"

namespace campipe {
namespace {

constexpr unsigned streams_at_once = 16;
constexpr std::uint64_t warm_frames = 20;  // of each
constexpr auto measured_for = std::chrono::milliseconds(700);
constexpr auto longest = std::chrono::seconds(30);

// The counters and the end of all threads.
struct Race {
  std::vector<std::atomic<std::uint64_t>> frames = std::vector<std::atomic<std::uint64_t>>(streams_at_once);
  std::atomic<bool> over{false};
  std::mutex mutex;
  std::exception_ptr failure;

  [[nodiscard]] bool all_warm() const {
    return std::ranges::all_of(frames, [](const auto& count) { return count >= warm_frames; });
  }
  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t all = 0;
    for (const auto& count : frames) all += count;
    return all;
  }
  void fail() {
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::current_exception();
    over = true;
  }
};

void run_stream(const EncodedFootage& clip, const Device& gpu, Race& race, std::atomic<std::uint64_t>& frames) {
  use_gpu(gpu);
  const auto decoder = open_cuda_decoder(clip.stream(), gpu);
  FrameRingSpec spec;
  spec.slots = decoder->needs().kept + 3;
  spec.slot_bytes = decoder->needs().bytes;
  spec.memory = MemoryKind::cuda_vmm;
  spec.device = gpu;
  spec.ready = ReadySignal::timeline;
  decoder->write_to(std::make_shared<FrameRingWriter>(FrameRingMemory::create(spec)));
  // Each thread numbers packets of its own, which share the bytes.
  const AvPacket packet = make_av_packet();
  std::int64_t pts = 0;
  while (!race.over) {
    for (const AvPacket& original : clip.packets) {
      av_check(av_packet_ref(packet.get(), original.get()), "copying a packet");
      packet->pts = packet->dts = pts++;
      decoder->send(packet.get(), 0);
      av_packet_unref(packet.get());
      DecodedFrame frame;
      while (decoder->receive(frame) == Decoder::Receive::frame) ++frames;
      if (race.over) return;
    }
  }
}

}  // namespace

double gpu_decode_us_of(const EncodedFootage& clip, const Device& gpu) {
  Race race;
  const Deadline deadline = Clock::now() + longest;
  double us = 0;
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < streams_at_once; ++i) {
      threads.emplace_back([&, i] {
        try {
          run_stream(clip, gpu, race, race.frames[i]);
        } catch (...) {
          race.fail();
        }
      });
    }
    // What is measured is how far they come in some time; looking every few milliseconds costs nothing beside it.
    while (!race.over && !race.all_warm() && Clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const bool warm = race.all_warm();
    const auto begin = Clock::now();
    const std::uint64_t before = race.sum();
    while (!race.over && Clock::now() < begin + measured_for) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const std::uint64_t frames = race.sum() - before;
    us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count() /
         static_cast<double>(std::max<std::uint64_t>(frames, 1));
    race.over = true;
    if (!warm && !race.failure) us = 0;
  }
  if (race.failure) std::rethrow_exception(race.failure);
  if (us == 0) throw Error("the GPU's decoders did not begin within 30 s");
  return us;
}

}  // namespace campipe
