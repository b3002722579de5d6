#include "tests/bench/filled_ring.h"

#include <algorithm>
#include <cstdio>
#include <random>

#include "core/clock.h"
#include "core/error.h"
#include "ipc/ring_slots.h"

namespace campipe {
namespace {

constexpr unsigned queue_size = 8;
constexpr auto deadline = std::chrono::seconds(60);

FrameFormat format_of(const std::string& size, const Device& device) {
  FrameFormat format{on_gpu(device) ? PixelFormat::nv12 : PixelFormat::i420, 0, 0};
  if (std::sscanf(size.c_str(), "%dx%d", &format.width, &format.height) != 2) throw Error("no size: WIDTHxHEIGHT");
  return format;
}

bool never() { return false; }

}  // namespace

FilledRing::FilledRing(const std::string& size, const Device& device, MemoryKind memory, unsigned readers)
    : format_(format_of(size, device)),
      layout_(slot_layout(format_.pixels, format_.width, format_.height, gpu_row_alignment)),
      device_(device) {
  FrameRingSpec spec;
  spec.slots = ring_slots(1, queue_size, readers);
  spec.slot_bytes = layout_.bytes;
  spec.expected = format_;
  if (on_gpu(device)) {
    use_gpu(device);
    spec.memory = memory;
    spec.device = device;
    spec.ready = ReadySignal::ipc_event;
  }
  memory_ = FrameRingMemory::create(spec);
  writer_ = std::make_unique<FrameRingWriter>(memory_);
  fill(spec.slots);
  record_.format = format_;
  record_.offset = layout_.offset;
  record_.stride = layout_.stride;
}

void FilledRing::wait_for_readers() {
  if (!writer_->wait_for_reader(Clock::now() + deadline, never)) throw Error("the workers do not come");
}

void FilledRing::publish() {
  const auto slot = writer_->claim_by(Clock::now() + deadline, never);
  if (!slot || !writer_->wait_for_room(Clock::now() + deadline, never)) throw Error("the workers take no frames");
  ++record_.source_number;
  record_.times.pts = static_cast<std::int64_t>(record_.source_number) * 20'000'000;
  record_.times.decoded = record_.times.published = now_ns();
  if (on_gpu(device_)) writer_->filled(slot->index, stream_.get());
  if (writer_->publish(slot->index, record_) != FrameRingWriter::Published::yes) throw Error("the workers have died");
  writer_->unpin(slot->index);
}

void FilledRing::fill(unsigned slots) {
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

void FilledRing::copy(const std::vector<std::uint8_t>& from, std::span<std::uint8_t> to) {
  if (!on_gpu(device_)) {
    std::ranges::copy(from, to.begin());
    return;
  }
  if (!stream_) stream_ = make_cuda_stream();
  cuda_check(cudaMemcpy(to.data(), from.data(), from.size(), cudaMemcpyHostToDevice), "filling the ring");
}

}  // namespace campipe
