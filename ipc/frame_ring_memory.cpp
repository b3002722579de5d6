#include <new>
#include <utility>

#include "core/error.h"
#include "ipc/frame_ring_layout.h"

namespace campipe {

std::shared_ptr<FrameRingMemory> FrameRingMemory::create(const FrameRingSpec& spec) {
  if (spec.slots < 2 || spec.slots > max_ring_slots || spec.slot_bytes == 0)
    throw Error("a frame ring of impossible size");
  auto memory = std::make_shared<FrameRingMemory>();
  memory->control_fd_ = create_shared_memory("frame ring", sizeof(ring::Header));
  memory->pixel_fd_ = create_shared_memory("frame ring pixels", spec.slots * spec.slot_bytes);
  memory->control_ = Mapping(memory->control_fd_.get(), Mapping::Access::read_write);
  memory->pixels_ = Mapping(memory->pixel_fd_.get(), Mapping::Access::read_write);
  seal_future_writes(memory->pixel_fd_.get());
  auto* header = new (memory->control_.bytes().data()) ring::Header{};
  header->version = ring::layout_version;
  header->slots = spec.slots;
  header->slot_bytes = spec.slot_bytes;
  header->epoch = spec.epoch;
  header->base = spec.base;
  header->last_sequence = spec.last_sequence;
  header->magic = ring::magic;
  memory->header_ = header;
  return memory;
}

std::shared_ptr<FrameRingMemory> FrameRingMemory::open(UniqueFd control, UniqueFd pixels, Role role) {
  auto memory = std::make_shared<FrameRingMemory>();
  checked_size(control.get(), sizeof(ring::Header));
  memory->control_ = Mapping(control.get(), Mapping::Access::read_write);
  auto* header = std::launder(reinterpret_cast<ring::Header*>(memory->control_.bytes().data()));
  if (header->magic != ring::magic || header->version != ring::layout_version || header->slots > max_ring_slots) {
    throw Error("a frame ring of another version");
  }
  checked_size(pixels.get(), header->slots * header->slot_bytes);
  if (role == Role::reader) memory->pixels_ = Mapping(pixels.get(), Mapping::Access::read);
  memory->header_ = header;
  memory->control_fd_ = std::move(control);
  memory->pixel_fd_ = std::move(pixels);
  return memory;
}

std::span<std::uint8_t> FrameRingMemory::pixels(unsigned slot) const {
  return pixels_.bytes().subspan(slot * header_->slot_bytes, header_->slot_bytes);
}

}  // namespace campipe
