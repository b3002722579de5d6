#include "ipc/rig_page.h"

#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "core/error.h"
#include "core/failpoint.h"
#include "ipc/decode_blocks.h"
#include "ipc/drop_counters.h"
#include "ipc/edge_blocks.h"
#include "ipc/encode_block.h"
#include "ipc/node_block.h"
#include "ipc/publish_block.h"
#include "ipc/shared_block.h"
#include "ipc/source_blocks.h"

namespace campipe {
namespace {

constexpr std::uint32_t page_magic = 0x3e676972;  // "rig>": grows with the layout
constexpr std::size_t first_block = 4096;

// At the beginning of each page. The zero bytes of a new memfd are valid values of all that lies there.
struct Header {
  std::uint32_t magic;  // in the shared page, as the next one: the others' writers may have changed it
  RigSize size;
  alignas(64) Barrier::Word barrier;  // likewise
  ProcessBlock process;               // in the others: of the process that writes it
};
static_assert(sizeof(Header) <= first_block);

// What follows it: for each of these as many blocks as there are parts of its kind.
template <typename... Block>
struct Layout {};
constexpr Layout<SourceBlock, CopyBlock> of_source;
constexpr Layout<DecodeBlock, EdgeWriterBlock, LookBlock> of_master;
constexpr Layout<NodeBlock, EdgeReaderBlock, EdgeWriterBlock, EncodeBlock> of_worker;
constexpr Layout<PublishBlock> of_publisher;
constexpr Layout<SharedBlock> of_shared;
constexpr Layout<> of_cluster;
// What a worker's begins with: it has nodes, too.
constexpr Layout<NodeBlock, EdgeReaderBlock, EdgeWriterBlock, EncodeBlock, LinkBlock> of_link;

unsigned number_of(const RigSize& size, CameraId) { return size.cameras; }
unsigned number_of(const RigSize& size, NodeId) { return size.nodes; }
unsigned number_of(const RigSize& size, EdgeId) { return size.edges; }
unsigned number_of(const RigSize& size, OutputId) { return size.outputs; }

template <typename Block>
std::size_t bytes_of_all(const RigSize& size) {
  return sizeof(Block) * number_of(size, typename Block::Id());
}

template <typename... Block>
std::size_t page_bytes(const RigSize& size, Layout<Block...>) {
  return (first_block + ... + bytes_of_all<Block>(size));
}

template <typename Wanted, typename... Block>
std::size_t offset_of(const RigSize& size, Layout<Block...>) {
  std::size_t offset = first_block;
  const auto passes = [&]<typename One>(std::type_identity<One>) {
    if constexpr (std::is_same_v<One, Wanted>) return false;
    offset += bytes_of_all<One>(size);
    return true;
  };
  static_cast<void>((passes(std::type_identity<Block>()) && ...));
  return offset;
}

std::size_t page_bytes(const RigSize& size, ProcessId process) {
  if (process == source_process) return page_bytes(size, of_source);
  if (is_master(process)) return page_bytes(size, of_master);
  if (process == cluster_process) return page_bytes(size, of_cluster);
  if (process == link_process) return page_bytes(size, of_link);
  return process == publisher_process ? page_bytes(size, of_publisher) : page_bytes(size, of_worker);
}

Header& header_of(const Mapping& mapping) { return *std::launder(reinterpret_cast<Header*>(mapping.bytes().data())); }

// The size of the rig whose shared page this is. Throws Error.
RigSize size_in(const Mapping& shared) {
  if (shared.bytes().size() < first_block) throw Error("a rig page that is too small");
  const Header& header = header_of(shared);
  const bool is_page = header.magic == page_magic && shared.bytes().size() == page_bytes(header.size, of_shared);
  if (!is_page) throw Error("a rig page of another version");
  return header.size;
}

}  // namespace

RigPage RigPage::create(const RigSize& size, unsigned workers) {
  if (workers > max_workers) throw Error("a rig page for too many workers");
  RigPage page;
  page.size_ = size;
  page.shared_.fd = create_shared_memory("rig", page_bytes(size, of_shared));
  page.shared_.mapping = Mapping(page.shared_.fd.get(), Mapping::Access::read_write);
  header_of(page.shared_.mapping).magic = page_magic;
  header_of(page.shared_.mapping).size = size;
  seal_future_writes(page.shared_.fd.get());
  for (unsigned index = 0; index < worker_process(workers).index(); ++index) page.add(ProcessId(index));
  return page;
}

void RigPage::add(ProcessId process) {
  if (process.index() >= max_processes) throw Error("a rig page for too many processes");
  std::optional<Part>& part = parts_[process.index()];
  if (part) return;
  Part made{create_shared_memory("rig process", page_bytes(size_, process)), {}};
  made.mapping = Mapping(made.fd.get(), Mapping::Access::read_write);
  part = std::move(made);
}

RigPage RigPage::open(UniqueFd shared, UniqueFd own, ProcessId process) {
  RigPage page;
  page.shared_ = {std::move(shared), {}};
  page.shared_.mapping = Mapping(page.shared_.fd.get(), Mapping::Access::read);
  page.size_ = size_in(page.shared_.mapping);
  if (process.index() >= max_processes) throw Error("no page of process " + std::to_string(process.index()));
  Part& part = page.parts_[process.index()].emplace();
  part.fd = std::move(own);
  part.mapping = Mapping(part.fd.get(), Mapping::Access::read_write);
  if (part.mapping.bytes().size() != page_bytes(page.size_, process)) throw Error("rig pages that are not of one rig");
  page.own_ = process;
  return page;
}

const RigPage::Part& RigPage::part(ProcessId process) const {
  const unsigned index = process.index();
  if (index >= max_processes || !parts_[index]) throw Error("no page of process " + std::to_string(index));
  return *parts_[index];
}

const RigPage::Part& RigPage::worker_part(ProcessId worker) const {
  if (worker < worker_process(0) || is_master(worker) || worker == cluster_process)
    throw Error("process " + std::to_string(worker.index()) + " is no worker");
  return part(worker);
}

const RigPage::Part& RigPage::master_part(ProcessId master) const {
  if (!is_master(master)) throw Error("process " + std::to_string(master.index()) + " is no master");
  return part(master);
}

template <typename Block, typename Layout>
Block& RigPage::block(const Part& part, Layout layout, typename Block::Id id) const {
  if (id.index() >= number_of(size_, id))
    throw Error("nothing in the rig page has number " + std::to_string(id.index()));
  std::uint8_t* const first = part.mapping.bytes().data() + offset_of<Block>(size_, layout);
  return std::launder(reinterpret_cast<Block*>(first))[id.index()];
}

ProcessBlock& RigPage::process(ProcessId process) const { return header_of(part(process).mapping).process; }

SourceBlock& RigPage::source(CameraId camera) const {
  return block<SourceBlock>(part(source_process), of_source, camera);
}

DecodeBlock& RigPage::decode(CameraId camera, ProcessId master) const {
  return block<DecodeBlock>(master_part(master), of_master, camera);
}

EdgeWriterBlock& RigPage::edge_writer(EdgeId edge, ProcessId writer) const {
  if (is_master(writer)) return block<EdgeWriterBlock>(part(writer), of_master, edge);
  return block<EdgeWriterBlock>(worker_part(writer), of_worker, edge);
}

CopyBlock& RigPage::copy(OutputId output) const { return block<CopyBlock>(part(source_process), of_source, output); }

LookBlock& RigPage::look(OutputId output, ProcessId master) const {
  return block<LookBlock>(master_part(master), of_master, output);
}

NodeBlock& RigPage::node(NodeId node, ProcessId worker) const {
  return block<NodeBlock>(worker_part(worker), of_worker, node);
}

EdgeReaderBlock& RigPage::edge_reader(EdgeId edge, ProcessId worker) const {
  return block<EdgeReaderBlock>(worker_part(worker), of_worker, edge);
}

LinkBlock& RigPage::link(EdgeId edge, ProcessId process) const {
  if (process != link_process) throw Error("process " + std::to_string(process.index()) + " has no links");
  return block<LinkBlock>(part(process), of_link, edge);
}

EncodeBlock& RigPage::encode(OutputId output, ProcessId worker) const {
  return block<EncodeBlock>(worker_part(worker), of_worker, output);
}

PublishBlock& RigPage::publish(OutputId output) const {
  return block<PublishBlock>(part(publisher_process), of_publisher, output);
}

SharedBlock& RigPage::shared(OutputId output) const { return block<SharedBlock>(shared_, of_shared, output); }

Barrier RigPage::barrier() const { return Barrier(header_of(shared_.mapping).barrier); }

void RigPage::enter_arrival(ProcessId of_process) const {
  const std::uint32_t arrived = process(of_process).arrived.load();
  if (arrived != 0) barrier().arrive(participant_of(of_process), arrived - 1);
}

void ProcessBlock::arrive(std::uint32_t phase) {
  failpoint("barrier.arriving");
  arrived.store(phase + 1);
  failpoint("barrier.arrived");
}

void RigPage::clear(CameraId camera, ProcessId master) const {
  new (&source(camera)) SourceBlock();
  new (&decode(camera, master)) DecodeBlock();
}

void RigPage::clear(NodeId of, ProcessId worker) const { new (&node(of, worker)) NodeBlock(); }

void RigPage::clear(EdgeId edge, ProcessId writer, ProcessId reader) const {
  new (&edge_writer(edge, writer)) EdgeWriterBlock();
  new (&edge_reader(edge, reader)) EdgeReaderBlock();
  if (writer == link_process || reader == link_process) new (&link(edge, link_process)) LinkBlock();
}

void RigPage::move(NodeId from_node, ProcessId from, NodeId to_node, ProcessId to) const {
  NodeBlock& before = node(from_node, from);
  NodeBlock& after = node(to_node, to);
  after.counters.add(before.counters);
  if (before.clock.first != 0) {
    after.clock.media_offset = before.clock.media_offset.load();
    after.clock.first = before.clock.first.load();
  }
  std::uint64_t ticks = after.clock.ticks;
  while (ticks < before.clock.ticks && !after.clock.ticks.compare_exchange_weak(ticks, before.clock.ticks)) {
  }
  for (std::size_t cause = 0; cause < max_drop_causes; ++cause)
    after.clock.skipped[cause].fetch_add(before.clock.skipped[cause]);
  new (&before) NodeBlock();
}

void RigPage::move(EdgeId read, ProcessId from, ProcessId to) const {
  EdgeReaderBlock& before = edge_reader(read, from);
  EdgeReaderBlock& after = edge_reader(read, to);
  after.counters.add(before.counters);
  after.queue.add(before.queue.counts());
  new (&before) EdgeReaderBlock();
}

void RigPage::move(OutputId encoded, ProcessId from, ProcessId to) const {
  EncodeBlock& before = encode(encoded, from);
  EncodeBlock& after = encode(encoded, to);
  after.counters.add(before.counters);
  for (std::size_t cause = 0; cause < max_drop_causes; ++cause) after.dropped[cause].fetch_add(before.dropped[cause]);
  after.latency.add(before.latency.counts());
  after.transit.add(before.transit.counts());
  after.filter.add(before.filter.counts());
  after.encode.add(before.encode.counts());
  after.overhead.add(before.overhead.counts());
  after.sets.encoded.fetch_add(before.sets.encoded);
  after.sets.dropped.fetch_add(before.sets.dropped);
  after.sets.out_of_tolerance.fetch_add(before.sets.out_of_tolerance);
  after.sets.skew.add(before.sets.skew.counts());
  float largest = after.motion.largest;
  while (largest < before.motion.largest &&
         !after.motion.largest.compare_exchange_weak(largest, before.motion.largest)) {
  }
  new (&before) EncodeBlock();
}

void RigPage::move(CameraId decoded, ProcessId from, ProcessId to) const {
  DecodeBlock& before = decode(decoded, from);
  DecodeBlock& after = decode(decoded, to);
  new (&after) DecodeBlock();
  after.accusation = before.accusation.load();
  after.sets.move = before.sets.move.load();
  after.sets.phase = before.sets.phase.load();
  after.sets.drift = before.sets.drift.load();
  after.counters.add(before.counters);
  after.decode.add(before.decode.counts());
  new (&before) DecodeBlock();
}

void RigPage::move_written(EdgeId edge, ProcessId from, ProcessId to) const {
  EdgeWriterBlock& before = edge_writer(edge, from);
  EdgeWriterBlock& after = edge_writer(edge, to);
  new (&after) EdgeWriterBlock();
  after.accusation = before.accusation.load();
  after.counters.add(before.counters);
  for (std::size_t cause = 0; cause < max_drop_causes; ++cause)
    after.unpublished[cause] = before.unpublished[cause].load();
  after.newest_drop = before.newest_drop.load();
  new (&before) EdgeWriterBlock();
}

void RigPage::move_look(OutputId copy, ProcessId from, ProcessId to) const {
  MotionBlock& before = look(copy, from).motion;
  MotionBlock& after = look(copy, to).motion;
  after.score = before.score.load();
  after.threshold = before.threshold.load();
  after.largest = before.largest.load();
  new (&look(copy, from)) LookBlock();
}

void RigPage::clear(OutputId output, ProcessId master, ProcessId worker) const {
  new (&copy(output)) CopyBlock();
  new (&look(output, master)) LookBlock();
  new (&encode(output, worker)) EncodeBlock();
  new (&publish(output)) PublishBlock();
  new (&shared(output)) SharedBlock();
}

}  // namespace campipe
