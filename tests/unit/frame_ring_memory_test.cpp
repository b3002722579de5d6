// The memory of a frame ring: who may map what, which descriptors are refused, and that a frame is never copied.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "core/error.h"
#include "core/metadata_types.h"
#include "ipc/frame_ring_layout.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

using Role = FrameRingMemory::Role;
using Next = FrameRingReader::Next;

std::shared_ptr<FrameRingMemory> small_ring() {
  return FrameRingMemory::create({.slots = 4, .slot_bytes = picture_bytes});
}

UniqueFd unsealed_memory(std::size_t size) {
  UniqueFd fd(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(size)), 0);
  return fd;
}

TEST(FrameRingMemory, RefusesAnImpossibleSize) {
  EXPECT_THROW(FrameRingMemory::create({.slots = 1, .slot_bytes = 100}), Error);
  EXPECT_THROW(FrameRingMemory::create({.slots = max_ring_slots + 1, .slot_bytes = 100}), Error);
  EXPECT_THROW(FrameRingMemory::create({.slots = 4, .slot_bytes = 0}), Error);
  EXPECT_NO_THROW(FrameRingMemory::create({.slots = 2, .slot_bytes = 1}));
  EXPECT_NO_THROW(FrameRingMemory::create({.slots = max_ring_slots, .slot_bytes = 1}));
}

TEST(FrameRingMemory, RefusesMemoryThatDoesNotFitItsGpu) {
  const Device nowhere = device_from_string("GPU-00000000-0000-0000-0000-000000000001").value();
  const auto create = [](MemoryKind kind, const Device& device, ReadySignal ready) {
    return FrameRingMemory::create({.slots = 4, .slot_bytes = 64, .memory = kind, .device = device, .ready = ready});
  };
  EXPECT_THROW(create(MemoryKind::cuda_vmm, {}, ReadySignal::timeline), Error) << "of no GPU";
  EXPECT_THROW(create(MemoryKind::cuda, nowhere, ReadySignal::timeline), Error) << "no other process can map it";
  EXPECT_THROW(create(MemoryKind::host, nowhere, ReadySignal::immediate), Error) << "nothing says when it is filled";
  for (const MemoryKind kind : {MemoryKind::host, MemoryKind::cuda_vmm, MemoryKind::cuda_legacy}) {
    EXPECT_THROW(create(kind, nowhere, ReadySignal::timeline), Error) << "on a GPU that is not there";
  }
}

// As for a ring that a GPU fills.
TEST(FrameRingMemory, AReaderWithoutAGpuIsRefusedWhereOneFills) {
  const auto ring = small_ring();
  ring->header().description.device.gpu_uuid[15] = 1;
  EXPECT_THROW(reopen(*ring, Role::reader), Error);
  EXPECT_NO_THROW(reopen(*ring, Role::observer));
}

TEST(FrameRingMemory, AnObserverNeedsNoDescriptorOfPixelsThatAreNotInHostMemory) {
  const auto ring = small_ring();
  ring->header().description.memory = MemoryKind::cuda_legacy;
  ring->header().description.device.gpu_uuid[15] = 1;
  const auto observer = FrameRingMemory::open(duplicate(ring->control_fd()), UniqueFd(), Role::observer);
  EXPECT_EQ(observer->kind(), MemoryKind::cuda_legacy);
  EXPECT_EQ(observer->pixel_fd(), -1);
  // A descriptor of the driver's is no sealed memory, and is only handed on.
  UniqueFd other(::open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_NO_THROW(FrameRingMemory::open(duplicate(ring->control_fd()), std::move(other), Role::observer));
}

TEST(FrameRingMemory, RefusesAControlDescriptorThatIsNotSealed) {
  const auto ring = small_ring();
  const auto open = [&](UniqueFd control) {
    return FrameRingMemory::open(std::move(control), duplicate(ring->pixel_fd()), Role::reader);
  };
  EXPECT_THROW(open(unsealed_memory(sizeof(ring::Header))), Error);
  EXPECT_THROW(open(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC))), Error);
  EXPECT_THROW(open(UniqueFd()), Error);
  EXPECT_NO_THROW(open(duplicate(ring->control_fd())));
}

TEST(FrameRingMemory, RefusesControlMemoryThatIsTooSmall) {
  const auto ring = small_ring();
  EXPECT_THROW(FrameRingMemory::open(create_shared_memory("small", sizeof(ring::Header) - 1),
                                     duplicate(ring->pixel_fd()), Role::reader),
               Error);
}

TEST(FrameRingMemory, RefusesAnotherMagicOrVersionOrTooManySlots) {
  const auto expect_refused = [](auto damage) {
    const auto ring = small_ring();
    damage(ring->header());
    EXPECT_THROW(reopen(*ring, Role::reader), Error);
    EXPECT_THROW(reopen(*ring, Role::observer), Error);
  };
  expect_refused([](ring::Header& header) { header.description.magic = 0; });
  expect_refused([](ring::Header& header) { header.description.version = ring::layout_version + 1; });
  expect_refused([](ring::Header& header) { header.description.slots = max_ring_slots + 1; });
}

// What kind of device it says it is on is another process's word.
TEST(FrameRingMemory, RefusesADeviceOfNoKind) {
  for (const auto kind : {Device::Kind::mig, static_cast<Device::Kind>(2), static_cast<Device::Kind>(255)}) {
    const auto ring = small_ring();
    ring->header().description.device.kind = kind;
    EXPECT_THROW(reopen(*ring, Role::observer), Error) << static_cast<int>(kind);
  }
  const auto ring = small_ring();
  ring->header().description.device = device_from_string("MIG-00000000-0000-0000-0000-000000000001").value();
  EXPECT_NO_THROW(reopen(*ring, Role::observer));
  EXPECT_THROW(reopen(*ring, Role::reader), Error) << "without a GPU";
}

TEST(FrameRingMemory, RefusesPixelsThatAreTooSmallOrNotSealed) {
  const auto ring = small_ring();
  const auto open = [&](UniqueFd pixels, Role role) {
    return FrameRingMemory::open(duplicate(ring->control_fd()), std::move(pixels), role);
  };
  const std::size_t size = 4 * picture_bytes;
  for (const Role role : {Role::reader, Role::observer}) {
    EXPECT_THROW(open(create_shared_memory("small", size - 1), role), Error);
    EXPECT_THROW(open(unsealed_memory(size), role), Error);
    EXPECT_NO_THROW(open(create_shared_memory("right", size), role));
  }
}

TEST(FrameRingMemory, CannotChangeItsSize) {
  const auto ring = small_ring();
  for (const int fd : {ring->control_fd(), ring->pixel_fd()}) {
    EXPECT_NE(::ftruncate(fd, 1), 0);
    EXPECT_NE(::ftruncate(fd, 1 << 24), 0);
  }
}

TEST(FrameRingMemory, PixelsCannotBeMappedWritableAnyMore) {
  const auto ring = small_ring();
  EXPECT_EQ(::mmap(nullptr, picture_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->pixel_fd(), 0), MAP_FAILED);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::pwrite(ring->pixel_fd(), "x", 1, 0), -1);
  // Nor through another open file of the same memory, nor by asking for more seals.
  const UniqueFd again(::open(("/proc/self/fd/" + std::to_string(ring->pixel_fd())).c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(again);
  EXPECT_EQ(::mmap(nullptr, picture_bytes, PROT_WRITE, MAP_SHARED, again.get(), 0), MAP_FAILED);
  EXPECT_NE(::fcntl(ring->pixel_fd(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(FrameRingMemory, ReadersMappingCannotBeMadeWritable) {
  const auto ring = small_ring();
  const auto reader = reopen(*ring, Role::reader);
  EXPECT_NE(::mprotect(reader->pixels(0).data(), picture_bytes, PROT_READ | PROT_WRITE), 0);
  // While the writer, who mapped it before, still writes.
  ring->pixels(0)[0] = 7;
  EXPECT_EQ(reader->pixels(0)[0], 7);
}

TEST(FrameRingMemory, MappingsOutliveDescriptorsAndTheOtherSide) {
  auto ring = small_ring();
  const auto reader = reopen(*ring, Role::reader);
  fill_pattern(ring->pixels(2), 5);
  ring.reset();
  EXPECT_TRUE(has_pattern(reader->pixels(2), 5));
  EXPECT_EQ(reader->description().slots, 4U);
}

TEST(FrameRingMemory, APictureIsReadWhereItWasWritten) {
  const auto ring = small_ring();
  const auto mapping = reopen(*ring, Role::reader);
  ASSERT_NE(mapping->pixels(0).data(), ring->pixels(0).data());
  FrameRingWriter writer(ring);
  FrameRingReader reader(mapping, 0);
  reserve_seat(mapping, 0);
  reader.attach(false, 4);
  ASSERT_TRUE(writer.claim());  // so that the next slot does not lie at the beginning
  const auto slot = writer.claim();
  ASSERT_TRUE(slot);
  fill_pattern(slot->pixels, 1);
  ASSERT_EQ(writer.publish(slot->index, record_of(1)), FrameRingWriter::Published::yes);

  FrameRingReader::Lease lease;
  ASSERT_EQ(reader.next(lease, after(seconds(30))), Next::frame);
  const auto offset_read = lease.frame.view.data[0] - mapping->pixels(0).data();
  const auto offset_written = slot->pixels.data() - ring->pixels(0).data();
  EXPECT_EQ(offset_read, offset_written);
  EXPECT_EQ(offset_read, static_cast<std::ptrdiff_t>(picture_bytes));
  EXPECT_TRUE(intact(lease));
  // A copy would not follow what is stored at the writer's address now (which a real writer must not do).
  for (const std::size_t at : {std::size_t{0}, picture_bytes / 2, picture_bytes - 1}) {
    slot->pixels[at] = static_cast<std::uint8_t>(~slot->pixels[at]);
    EXPECT_EQ(bytes_of(lease)[at], slot->pixels[at]);
  }
}

FrameRecord full_record() {
  FrameRecord record;
  record.format = {.pixels = PixelFormat::nv12,
                   .width = 62,
                   .height = 34,
                   .color_range = 1,
                   .color_space = 3,
                   .color_primaries = 4,
                   .color_transfer = 5,
                   .chroma_location = 6,
                   .sample_aspect_num = 7,
                   .sample_aspect_den = 8};
  record.offset = {64, 64 * 40, 0};
  record.stride = {64, 72, 0};
  record.times = {.pts = 11,
                  .duration = 12,
                  .media_time = 20,
                  .capture_utc = 13,
                  .capture_clock = CaptureClock::camera,
                  .arrival = 14,
                  .decode_cost = 15,
                  .decoded = 16,
                  .leased = 17,
                  .filtered = 18,
                  .encoded = 19};
  record.metadata.set(MotionScore{0.5F, 0.25F, 0.125F});
  return record;
}

TEST(FrameRingMemory, EveryFieldOfARecordArrives) {
  const auto ring = small_ring();
  FrameRingWriter writer(ring);
  const auto mapping = reopen(*ring, Role::reader);
  FrameRingReader reader(mapping, 3);
  reserve_seat(mapping, 3);
  reader.attach(true, 1);
  const FrameRecord sent = full_record();
  const auto slot = writer.claim();
  ASSERT_EQ(writer.publish(slot->index, sent), FrameRingWriter::Published::yes);

  FrameRingReader::Lease lease;
  ASSERT_EQ(reader.next(lease, after(seconds(30))), Next::frame);
  const FrameView& view = lease.frame.view;
  EXPECT_EQ(view.format, sent.format);
  EXPECT_EQ(view.stride, sent.stride);
  EXPECT_EQ(view.data[0], mapping->pixels(0).data() + 64);
  EXPECT_EQ(view.data[1], mapping->pixels(0).data() + 64 * 40);
  EXPECT_EQ(view.data[2], nullptr);
  EXPECT_EQ(view.memory, MemoryKind::host);
  EXPECT_EQ(view.device, Device{});
  EXPECT_EQ(lease.ready, ReadySignal::immediate);
  const auto fields = [](const FrameTimes& t) {
    return std::array<std::int64_t, 11>{
        t.pts,     t.duration, t.media_time, t.capture_utc, static_cast<int>(t.capture_clock), t.arrival, t.decode_cost,
        t.decoded, t.leased,   t.filtered,   t.encoded};
  };
  EXPECT_EQ(fields(lease.times), fields(sent.times));
  EXPECT_EQ(lease.frame.metadata.get<MotionScore>(), (MotionScore{0.5F, 0.25F, 0.125F}));
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
