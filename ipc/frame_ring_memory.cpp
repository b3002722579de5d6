#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "core/error.h"
#include "ipc/frame_ring_layout.h"
#include "ipc/ready_signals.h"
#include "ipc/ring_checks.h"

namespace campipe {
namespace {

constexpr std::uint64_t largest_slot = std::uint64_t{1} << 40;
constexpr std::uint64_t most_frames = std::uint64_t{1} << 62;  // in all epochs

void check(const FrameRingSpec& spec) {
  if (spec.slots < 2 || spec.slots > max_ring_slots || spec.slot_bytes == 0)
    throw Error("a frame ring of impossible size");
  if (spec.memory == MemoryKind::cuda) throw Error("a frame ring of memory that no other process can map");
  if (spec.memory != MemoryKind::host && !on_gpu(spec.device)) throw Error("a frame ring in the memory of no GPU");
}

bool is_possible(const BandSource& source) {
  return is_possible(source.format, false) && source.rotation >= 0 && source.rotation < 360 &&
         source.rotation % 90 == 0;
}

bool is_possible(const ring::Description& description) {
  const bool size = description.slots >= 2 && description.slots <= max_ring_slots && description.slot_bytes > 0 &&
                    description.slot_bytes <= largest_slot;
  return size && description.memory < MemoryKind::cuda && description.ready <= ReadySignal::timeline &&
         is_possible(description.device) && is_possible(description.expected, false) &&
         is_possible(description.band_source) && description.epoch <= most_frames && description.base <= most_frames &&
         description.last_sequence <= ring::largest_sequence;
}

// A copy of what another process may change at any time.
ring::Description copy_of(const ring::Header& header) {
  ring::Description copy;
  std::memcpy(&copy, &header.description, sizeof copy);
  return copy;
}

}  // namespace

std::shared_ptr<FrameRingMemory> FrameRingMemory::create(const FrameRingSpec& spec) {
  check(spec);
  auto memory = std::make_shared<FrameRingMemory>();
  memory->control_fd_ = create_shared_memory("frame ring", sizeof(ring::Header));
  memory->control_ = Mapping(memory->control_fd_.get(), Mapping::Access::read_write);
  auto* header = new (memory->control_.bytes().data()) ring::Header{};
  auto description = std::make_shared<ring::Description>();
  description->magic = ring::magic;
  description->version = ring::layout_version;
  description->slots = spec.slots;
  description->memory = spec.memory;
  // Then it is as if the CPU had filled it.
  const bool complete_on_host = spec.memory == MemoryKind::host && spec.ready == ReadySignal::immediate;
  description->ready = on_gpu(spec.device) ? spec.ready : ReadySignal::immediate;
  description->device = complete_on_host ? Device{} : spec.device;
  description->expected = spec.expected;
  description->band_source = spec.band_source;
  description->slot_bytes = spec.slot_bytes;
  description->epoch = spec.epoch;
  description->base = spec.base;
  description->last_sequence = std::min(spec.last_sequence, ring::largest_sequence);
  memory->header_ = header;
  memory->description_ = description;
  if (spec.memory == MemoryKind::host) memory->create_pixels();
  if (on_gpu(description->device)) memory->create_gpu_part();
  if (on_gpu(spec.device) && complete_on_host) memory->page_lock_for(spec.device);
  if (memory->gpu_pixels_) description->gpu_pixels = memory->gpu_pixels_->handle();
  std::memcpy(&header->description, description.get(), sizeof *description);
  return memory;
}

void FrameRingMemory::create_pixels() {
  pixel_fd_ = create_shared_memory("frame ring pixels", pixel_size());
  pixels_ = Mapping(pixel_fd_.get(), Mapping::Access::read_write);
  pixel_bytes_ = pixels_.bytes();
  seal_future_writes(pixel_fd_.get());
}

void FrameRingMemory::page_lock_for(const Device& gpu) {
  if constexpr (with_cuda) {
    page_lock_ = page_lock(pixel_bytes_, gpu);
  } else {
    throw Error("this campipe was built without CUDA and has no frame ring for " + to_string(gpu));
  }
}

void FrameRingMemory::create_gpu_part() {
  if constexpr (with_cuda) {
    const Device gpu = description_->device;
    if (kind() == MemoryKind::host) {
      page_lock_ = page_lock(pixel_bytes_, gpu);
    } else {
      gpu_pixels_ = GpuPixels::create(kind(), gpu, pixel_size());
      pixel_bytes_ = gpu_pixels_->bytes();
      if (gpu_pixels_->fd() >= 0) pixel_fd_ = duplicate(gpu_pixels_->fd());
    }
    signals_ = ReadySignals::create(*header_, *description_, gpu);
  } else {
    throw Error("this campipe was built without CUDA and has no frame ring for " + to_string(description_->device));
  }
}

std::shared_ptr<FrameRingMemory> FrameRingMemory::open(UniqueFd control, UniqueFd pixels, Role role,
                                                       const Device& gpu) {
  auto memory = std::make_shared<FrameRingMemory>();
  checked_size(control.get(), sizeof(ring::Header));
  memory->control_ = Mapping(control.get(), Mapping::Access::read_write);
  auto* header = std::launder(reinterpret_cast<ring::Header*>(memory->control_.bytes().data()));
  const auto description = std::make_shared<const ring::Description>(copy_of(*header));
  if (description->magic != ring::magic || description->version != ring::layout_version) {
    throw Error("a frame ring of another version");
  }
  if (!is_possible(*description)) throw Error("a frame ring that describes itself as it cannot be");
  memory->header_ = header;
  memory->description_ = description;
  memory->control_fd_ = std::move(control);
  memory->pixel_fd_ = std::move(pixels);
  if (memory->kind() == MemoryKind::host) checked_size(memory->pixel_fd(), memory->pixel_size());
  if (role == Role::reader) memory->open_pixels(gpu);
  return memory;
}

void FrameRingMemory::open_pixels(const Device& gpu) {
  if (!on_gpu(gpu) && on_gpu(description_->device)) {
    throw Error("pixels that " + to_string(description_->device) + " fills can only be read with a GPU");
  }
  if (kind() == MemoryKind::host) {
    pixels_ = Mapping(pixel_fd_.get(), Mapping::Access::read);
    pixel_bytes_ = pixels_.bytes();
  }
  if (on_gpu(gpu)) open_gpu_part(gpu);
}

void FrameRingMemory::open_gpu_part(const Device& gpu) {
  if constexpr (with_cuda) {
    if (kind() == MemoryKind::host) {
      page_lock_ = page_lock_read_only(pixel_bytes_, gpu);
    } else {
      gpu_pixels_ = GpuPixels::import(kind(), gpu, description_->gpu_pixels, pixel_fd(), pixel_size());
      pixel_bytes_ = gpu_pixels_->bytes();
    }
    signals_ = ReadySignals::open(*header_, *description_, gpu);
  } else {
    throw Error("this campipe was built without CUDA and cannot read a frame ring with " + to_string(gpu));
  }
}

const FrameFormat& FrameRingMemory::expected() const { return description_->expected; }

const BandSource& FrameRingMemory::band_source() const { return description_->band_source; }

MemoryKind FrameRingMemory::kind() const { return description_->memory; }

ReadySignal FrameRingMemory::ready_signal() const { return description_->ready; }

unsigned FrameRingMemory::slots() const { return description_->slots; }

std::size_t FrameRingMemory::pixel_size() const { return description_->slots * description_->slot_bytes; }

std::span<std::uint8_t> FrameRingMemory::pixels(unsigned slot) const {
  return pixel_bytes_.subspan(slot * description_->slot_bytes, description_->slot_bytes);
}

}  // namespace campipe
