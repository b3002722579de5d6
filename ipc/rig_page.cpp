#include "ipc/rig_page.h"

#include <new>
#include <utility>

#include "core/error.h"

namespace campipe {

struct RigPage::Header {
  std::uint32_t magic;
  std::uint32_t cameras;
  alignas(64) Barrier::Word barrier;
  std::array<ProcessBlock, max_processes> processes;
};

namespace {
constexpr std::uint32_t page_magic = 0x33676972;  // "rig3": grows with the layout
constexpr std::size_t first_camera = 4096;
}  // namespace

const char* name_of(DropCause cause) {
  constexpr std::array<const char*, drop_causes> names{
      "queue_full", "worker_lost",   "master_lost", "filter_failed", "encoder_failed", "publisher_slow",
      "stopped",    "no_gpu_memory", "corrupt",     "rate",          "unwatched"};
  return names[static_cast<std::size_t>(cause)];
}

RigPage::RigPage(UniqueFd fd) : fd_(std::move(fd)), mapping_(fd_.get(), Mapping::Access::read_write) {
  static_assert(sizeof(Header) <= first_camera);
  // The zero bytes of a new memfd are valid values of all that lies here.
  header_ = std::launder(reinterpret_cast<Header*>(mapping_.bytes().data()));
  auto* cameras = std::launder(reinterpret_cast<CameraBlock*>(mapping_.bytes().data() + first_camera));
  cameras_ = {cameras, (mapping_.bytes().size() - first_camera) / sizeof(CameraBlock)};
}

RigPage RigPage::create(unsigned cameras) {
  RigPage page(create_shared_memory("rig", first_camera + cameras * sizeof(CameraBlock)));
  page.header_->magic = page_magic;
  page.header_->cameras = cameras;
  return page;
}

RigPage RigPage::open(UniqueFd fd) {
  checked_size(fd.get(), first_camera);
  RigPage page(std::move(fd));
  if (page.header_->magic != page_magic || page.header_->cameras > page.cameras_.size()) {
    throw Error("a rig page of another version");
  }
  return page;
}

ProcessBlock& RigPage::process(unsigned index) const { return header_->processes.at(index); }

CameraBlock& RigPage::camera(unsigned index) const {
  if (index >= header_->cameras) throw Error("no such camera: " + std::to_string(index));
  return cameras_[index];
}

void RigPage::clear_camera(unsigned index) const { new (&camera(index)) CameraBlock(); }

Barrier RigPage::barrier() const { return Barrier(header_->barrier); }

}  // namespace campipe
