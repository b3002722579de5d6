#include "ipc/rig_page.h"

#include <new>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/failpoint.h"

namespace campipe {
namespace {

constexpr std::uint32_t page_magic = 0x35676972;  // "rig5": grows with the layout
constexpr std::size_t first_camera = 4096;

// At the beginning of each page. The zero bytes of a new memfd are valid values of all that lies there.
struct Header {
  std::uint32_t magic;
  std::uint32_t cameras;
  ProcessBlock process;               // of the process that writes the page
  alignas(64) Barrier::Word barrier;  // in the shared page
};
static_assert(sizeof(Header) <= first_camera);

Header& header_of(const Mapping& mapping) { return *std::launder(reinterpret_cast<Header*>(mapping.bytes().data())); }

std::size_t block_of(unsigned process) {
  if (process == master_process) return sizeof(MasterBlock);
  return process == publisher_process ? sizeof(PublisherBlock) : sizeof(WorkerBlock);
}

UniqueFd create_page(const char* name, unsigned cameras, std::size_t block) {
  UniqueFd fd = create_shared_memory(name, first_camera + std::size_t{cameras} * block);
  const Mapping mapping(fd.get(), Mapping::Access::read_write);
  header_of(mapping).magic = page_magic;
  header_of(mapping).cameras = cameras;
  return fd;
}

// The number of cameras in a page that the supervisor sent. Throws Error.
unsigned cameras_in(const Mapping& mapping, std::size_t block) {
  if (mapping.bytes().size() < first_camera) throw Error("a rig page that is too small");
  const Header& header = header_of(mapping);
  const unsigned cameras = header.cameras;
  if (header.magic != page_magic || mapping.bytes().size() != first_camera + std::size_t{cameras} * block) {
    throw Error("a rig page of another version");
  }
  return cameras;
}

}  // namespace

const char* name_of(WaitsFor what) {
  switch (what) {
    case WaitsFor::nothing:
      return "nothing";
    case WaitsFor::source:
      return "source";
    case WaitsFor::disk:
      return "disk";
    case WaitsFor::decoder:
      return "decoder";
    case WaitsFor::filter:
      return "filter";
    case WaitsFor::encoder:
      return "encoder";
  }
  return "unknown";
}

const char* name_of(Correction kind) {
  switch (kind) {
    case Correction::missing:
      return "missing";
    case Correction::repeated:
      return "repeated";
    case Correction::backwards:
      return "backwards";
    case Correction::jumped:
      return "jumped";
    case Correction::stopped:
      return "stopped";
  }
  return "";
}

RigPage RigPage::create(unsigned cameras, unsigned workers) {
  if (workers > max_workers) throw Error("a rig page for too many workers");
  RigPage page;
  page.cameras_ = cameras;
  page.shared_.fd = create_page("rig", cameras, sizeof(SharedBlock));
  page.shared_.mapping = Mapping(page.shared_.fd.get(), Mapping::Access::read_write);
  seal_future_writes(page.shared_.fd.get());
  for (unsigned process = 0; process < first_worker_process + workers; ++process) {
    Part& part = page.parts_[process].emplace();
    part.fd = create_page("rig process", cameras, block_of(process));
    part.mapping = Mapping(part.fd.get(), Mapping::Access::read_write);
  }
  return page;
}

RigPage RigPage::open(UniqueFd shared, UniqueFd own, unsigned process) {
  RigPage page;
  page.shared_ = {std::move(shared), {}};
  page.shared_.mapping = Mapping(page.shared_.fd.get(), Mapping::Access::read);
  page.cameras_ = cameras_in(page.shared_.mapping, sizeof(SharedBlock));
  if (process >= max_processes) throw Error("no page of process " + std::to_string(process));
  Part& part = page.parts_[process].emplace();
  part.fd = std::move(own);
  part.mapping = Mapping(part.fd.get(), Mapping::Access::read_write);
  if (cameras_in(part.mapping, block_of(process)) != page.cameras_) throw Error("rig pages of different rigs");
  if (process >= first_worker_process) page.own_worker_ = process - first_worker_process;
  return page;
}

const RigPage::Part& RigPage::part(unsigned process) const {
  if (process >= max_processes || !parts_[process]) throw Error("no page of process " + std::to_string(process));
  return *parts_[process];
}

template <typename Block>
Block& RigPage::block(const Part& part, unsigned camera) const {
  if (camera >= cameras_) throw Error("no such camera: " + std::to_string(camera));
  return std::launder(reinterpret_cast<Block*>(part.mapping.bytes().data() + first_camera))[camera];
}

ProcessBlock& RigPage::process(unsigned process) const { return header_of(part(process).mapping).process; }

MasterBlock& RigPage::master(unsigned camera) const { return block<MasterBlock>(part(master_process), camera); }

WorkerBlock& RigPage::worker(unsigned camera, unsigned worker) const {
  if (worker >= max_workers) throw Error("no such worker: " + std::to_string(worker));
  return block<WorkerBlock>(part(first_worker_process + worker), camera);
}

PublisherBlock& RigPage::publisher(unsigned camera) const {
  return block<PublisherBlock>(part(publisher_process), camera);
}

SharedBlock& RigPage::shared(unsigned camera) const { return block<SharedBlock>(shared_, camera); }

Barrier RigPage::barrier() const { return Barrier(header_of(shared_.mapping).barrier); }

void RigPage::enter_arrival(unsigned of_process) const {
  const std::uint32_t arrived = process(of_process).arrived.load();
  if (arrived != 0) barrier().arrive(participant_of(of_process), arrived - 1);
}

void ProcessBlock::arrive(std::uint32_t phase) {
  failpoint("barrier.arriving");
  arrived.store(phase + 1);
  failpoint("barrier.arrived");
}

void RigPage::clear_camera(unsigned camera, unsigned of_worker) const {
  new (&master(camera)) MasterBlock();
  new (&worker(camera, of_worker)) WorkerBlock();
  new (&publisher(camera)) PublisherBlock();
  new (&shared(camera)) SharedBlock();
}

}  // namespace campipe
