// The rig's page and its histograms: what one process counts another reads, and quantiles are right within 5 %.
#include "ipc/rig_page.h"
#include "ipc/counter_table.h"
#include "ipc/decode_blocks.h"
#include "ipc/drop_causes.h"
#include "ipc/edge_blocks.h"
#include "ipc/encode_block.h"
#include "ipc/node_block.h"
#include "ipc/publish_block.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "ipc/shared_block.h"
#include "ipc/source_blocks.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {
namespace CAMPIPE_FILE {

TEST(Histogram, BucketsGrowWithTheValue) {
  unsigned last = 0;
  for (std::int64_t us = 0; us < 10'000'000; us += 1 + us / 64) {
    const unsigned bucket = histogram::bucket_of(us * 1000);
    ASSERT_LT(bucket, histogram::buckets);
    ASSERT_TRUE(bucket == last || bucket == last + 1) << us;
    last = bucket;
  }
}

TEST(Histogram, ABucketsMiddleLiesInIt) {
  for (unsigned bucket = 0; bucket < histogram::buckets; ++bucket) {
    ASSERT_EQ(histogram::bucket_of(static_cast<std::int64_t>(histogram::value_of(bucket))), bucket);
  }
}

TEST(Histogram, AnyValueIsRightWithinFivePercent) {
  const std::int64_t hour = 3'600'000'000'000;
  for (std::int64_t ns = 10'000; ns < hour; ns += 1 + ns / 997) {
    const double value = histogram::value_of(histogram::bucket_of(ns));
    ASSERT_NEAR(value, static_cast<double>(ns), 0.05 * static_cast<double>(ns));
  }
  // Below 10 µs a bucket is one microsecond wide, and that is all there is to know.
  for (std::int64_t ns = 0; ns < 10'000; ns += 100) {
    ASSERT_NEAR(histogram::value_of(histogram::bucket_of(ns)), static_cast<double>(ns), 500);
  }
}

TEST(Histogram, WhatIsOutOfRangeGoesIntoTheOuterBuckets) {
  EXPECT_EQ(histogram::bucket_of(-5), 0U);
  EXPECT_EQ(histogram::bucket_of(0), 0U);
  EXPECT_EQ(histogram::bucket_of(std::numeric_limits<std::int64_t>::max()), histogram::buckets - 1);
}

TEST(Histogram, QuantilesAgreeWithAnExactComputation) {
  std::mt19937 random(7);  // NOLINT: the same sequence every time
  std::lognormal_distribution<double> durations(std::log(20e6), 1.5);
  SharedHistogram shared;
  std::vector<std::int64_t> all;
  for (int i = 0; i < 20'001; ++i) {
    const auto ns = std::max<std::int64_t>(10'000, static_cast<std::int64_t>(durations(random)));
    all.push_back(ns);
    shared.record(ns);
  }
  std::ranges::sort(all);
  const HistogramCounts counts = shared.counts();
  EXPECT_EQ(counts.total(), all.size());
  for (const double q : {0.0, 0.01, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999, 1.0}) {
    const auto rank = std::min(all.size() - 1, static_cast<std::size_t>(q * static_cast<double>(all.size())));
    const auto exact = static_cast<double>(all[rank]);
    EXPECT_NEAR(counts.quantile(q), exact, 0.05 * exact) << "quantile " << q;
  }
}

TEST(Histogram, QuantilesOfFewValues) {
  HistogramCounts none;
  EXPECT_EQ(none.quantile(0.5), 0);
  EXPECT_EQ(none.quantile(1.0), 0);
  SharedHistogram shared;
  shared.record(100'000'000);
  for (const double q : {0.0, 0.5, 1.0}) EXPECT_NEAR(shared.counts().quantile(q), 1e8, 5e6);
  shared.record(300'000'000);
  EXPECT_NEAR(shared.counts().quantile(0.0), 1e8, 5e6);
  EXPECT_NEAR(shared.counts().quantile(0.49), 1e8, 5e6);
  EXPECT_NEAR(shared.counts().quantile(0.99), 3e8, 15e6);
}

TEST(Histogram, TellsWhatCameSince) {
  SharedHistogram shared;
  for (int i = 0; i < 100; ++i) shared.record(1'000'000);
  const HistogramCounts earlier = shared.counts();
  shared.record(50'000'000);
  const HistogramCounts since = shared.counts().since(earlier);
  EXPECT_EQ(since.total(), 1U);
  EXPECT_NEAR(since.quantile(0.5), 50e6, 2.5e6);
}

const ProcessId first_worker = worker_process(0);
const ProcessId second_worker = worker_process(1);

RigPage opened(const RigPage& page, ProcessId process) {
  return RigPage::open(duplicate(page.shared_fd()), duplicate(page.fd_of(process)), process);
}

TEST(RigPage, WhatOneProcessCountsAnotherReads) {
  const RigPage page = RigPage::create(3, 2);
  const RigPage worker = opened(page, second_worker);
  ASSERT_EQ(worker.own(), second_worker);
  for (unsigned i = 0; i < 3; ++i) {
    const OutputId output(i);
    counter(worker.encode(output, second_worker).dropped, DropCause::worker_lost) += i + 1;
    worker.encode(output, second_worker).latency.record(1'000'000);
    worker.node(NodeId(i), second_worker).thread.beat = 10 + i;
    worker.edge_reader(EdgeId(i), second_worker).queue.record(1'000'000);
    page.shared(output).audience.watches = i;
  }
  worker.process(second_worker).beat = 99;
  for (unsigned i = 0; i < 3; ++i) {
    const EncodeBlock& block = page.encode(OutputId(i), second_worker);
    EXPECT_EQ(counter(page.encode(OutputId(i), second_worker).dropped, DropCause::worker_lost).load(), i + 1);
    EXPECT_EQ(counter(page.encode(OutputId(i), second_worker).dropped, DropCause::queue_full).load(), 0U);
    EXPECT_EQ(counter(page.encode(OutputId(i), first_worker).dropped, DropCause::worker_lost).load(), 0U);
    EXPECT_EQ(block.latency.counts().total(), 1U);
    EXPECT_EQ(page.node(NodeId(i), second_worker).thread.beat.load(), 10 + i);
    EXPECT_EQ(page.edge_reader(EdgeId(i), second_worker).queue.counts().total(), 1U);
    EXPECT_EQ(worker.shared(OutputId(i)).audience.watches.load(), i);
  }
  EXPECT_EQ(page.process(second_worker).beat.load(), 99);
  page.barrier().add(participant_of(second_worker));
  EXPECT_EQ(worker.barrier().wait(0, Clock::now()), 0x0004U) << "waits where it cannot write";
  EXPECT_EQ(worker.barrier().wait(0, after(milliseconds(5))), 0x0004U);
  worker.process(second_worker).arrive(0);
  page.enter_arrival(second_worker);
  EXPECT_EQ(worker.barrier().wait(0, Clock::now()), 0U);
}

// With numbers of their own for each kind of part: the first and the last block of each.
TEST(RigPage, BlocksLieSideBySide) {
  RigSize size;
  size.cameras = 2;
  size.nodes = 5;
  size.edges = 4;
  size.outputs = 3;
  const RigPage page = RigPage::create(size);
  std::vector<std::span<std::byte>> blocks;
  const auto add = [&](auto& block) { blocks.push_back(std::as_writable_bytes(std::span(&block, 1))); };
  for (const unsigned i : {0U, 1U}) add(page.source(CameraId(i)));
  for (const unsigned i : {0U, 1U}) add(page.decode(CameraId(i), master_process));
  for (const unsigned i : {0U, 3U}) add(page.edge_writer(EdgeId(i), master_process));
  for (const unsigned i : {0U, 3U}) add(page.edge_reader(EdgeId(i), first_worker));
  for (const unsigned i : {0U, 4U}) add(page.node(NodeId(i), first_worker));
  for (const unsigned i : {0U, 2U}) add(page.copy(OutputId(i)));
  for (const unsigned i : {0U, 2U}) add(page.look(OutputId(i), master_process));
  for (const unsigned i : {0U, 2U}) add(page.encode(OutputId(i), first_worker));
  for (const unsigned i : {0U, 2U}) add(page.publish(OutputId(i)));
  for (const unsigned i : {0U, 2U}) add(page.shared(OutputId(i)));
  for (std::size_t i = 0; i < blocks.size(); ++i) std::ranges::fill(blocks[i], std::byte(i + 1));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_TRUE(std::ranges::all_of(blocks[i], [&](std::byte byte) { return byte == std::byte(i + 1); })) << i;
  }
  const RigPage worker = opened(page, first_worker);  // the pages' beginnings are whole
  EXPECT_EQ(worker.process(first_worker).beat, 0);
}

TEST(RigPage, AProcessHasItsOwnPageOnlyAndCannotWriteTheSharedOne) {
  const RigPage page = RigPage::create(2, 2);
  const RigPage worker = opened(page, first_worker);
  EXPECT_THROW(std::ignore = &worker.node(NodeId(0), second_worker), Error);
  EXPECT_THROW(std::ignore = &worker.source(CameraId(0)), Error);
  EXPECT_THROW(std::ignore = &worker.decode(CameraId(0), master_process), Error);
  EXPECT_THROW(std::ignore = &worker.publish(OutputId(0)), Error);
  EXPECT_THROW(std::ignore = &worker.process(master_process), Error);
  // Neither through its descriptor nor through another open file of the same memory, nor by a mapping made writable.
  const UniqueFd again(::open(("/proc/self/fd/" + std::to_string(worker.shared_fd())).c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(again);
  for (const int fd : {worker.shared_fd(), again.get()}) {
    EXPECT_THROW(Mapping(fd, Mapping::Access::read_write), Error);
    EXPECT_EQ(::pwrite(fd, "x", 1, 0), -1);
  }
  auto address = reinterpret_cast<std::uintptr_t>(&worker.shared(OutputId(0)));
  address -= address % 4096;
  EXPECT_NE(::mprotect(reinterpret_cast<void*>(address), 4096, PROT_READ | PROT_WRITE), 0);
}

TEST(RigPage, BeginsWithZeros) {
  const RigPage page = RigPage::create(1, max_workers);
  for (unsigned process = 0; process < worker_process(max_workers).index(); ++process)
    EXPECT_EQ(page.process(ProcessId(process)).beat.load(), 0);
  EXPECT_EQ(page.encode(OutputId(0), worker_process(max_workers - 1)).latency.counts().total(), 0U);
  EXPECT_EQ(page.publish(OutputId(0)).record.current.load(), 0U);
  EXPECT_EQ(page.source(CameraId(0)).thread.fault.load(), 0U);
}

TEST(RigPage, WhatIsClearedIsAsAtFirst) {
  const RigPage page = RigPage::create(2, 2);
  const auto sum = [&](unsigned i) {
    const OutputId output(i);
    return page.source(CameraId(i)).counters.of(Counter::converted) +
           page.decode(CameraId(i), master_process).counters.of(Counter::converted) +
           page.publish(output).counters.of(Counter::bytes) + page.shared(output).audience.arrivals +
           page.edge_writer(EdgeId(i), master_process).accusation +
           page.edge_reader(EdgeId(i), second_worker).accusation + page.encode(output, second_worker).accusation +
           page.copy(output).accusation + static_cast<std::uint64_t>(page.node(NodeId(i), second_worker).thread.beat);
  };
  for (unsigned i = 0; i < 2; ++i) {
    const OutputId output(i);
    page.source(CameraId(i)).counters.add(Counter::converted);
    page.decode(CameraId(i), master_process).counters.add(Counter::converted);
    page.node(NodeId(i), second_worker).thread.beat = 1;
    page.edge_writer(EdgeId(i), master_process).accusation = 1;
    page.edge_reader(EdgeId(i), second_worker).accusation = 1;
    page.encode(output, second_worker).accusation = 1;
    page.copy(output).accusation = 1;
    page.publish(output).counters.add(Counter::bytes);
    page.shared(output).audience.arrivals = 1;
  }
  ASSERT_EQ(sum(1), 9U);
  page.clear(CameraId(1), master_process);
  EXPECT_EQ(sum(1), 7U);
  page.clear(NodeId(1), second_worker);
  EXPECT_EQ(sum(1), 6U);
  page.clear(EdgeId(1), master_process, second_worker);
  EXPECT_EQ(sum(1), 4U);
  page.clear(OutputId(1), master_process, second_worker);
  EXPECT_EQ(sum(1), 0U);
  EXPECT_EQ(sum(0), 9U);
}

TEST(RigPage, RefusesAWrongPartOrProcess) {
  RigSize size(2);
  size.nodes = 3;
  const RigPage page = RigPage::create(size);
  EXPECT_NO_THROW(std::ignore = &page.source(CameraId(1)));
  EXPECT_THROW(std::ignore = &page.source(CameraId(2)), Error);
  EXPECT_THROW(std::ignore = &page.shared(OutputId(2)), Error);
  EXPECT_NO_THROW(std::ignore = &page.node(NodeId(2), first_worker));
  EXPECT_THROW(std::ignore = &page.node(NodeId(3), first_worker), Error);
  EXPECT_THROW(std::ignore = &page.edge_reader(EdgeId(2), first_worker), Error);
  EXPECT_THROW(std::ignore = &page.node(NodeId(0), second_worker), Error) << "it was made for one worker";
  EXPECT_THROW(std::ignore = &page.node(NodeId(0), worker_process(max_workers)), Error);
  EXPECT_THROW(std::ignore = &page.node(NodeId(0), publisher_process), Error) << "no worker";
  EXPECT_THROW(std::ignore = &page.decode(CameraId(0), master_process_of(1)), Error) << "it was made for one master";
  EXPECT_THROW(std::ignore = &page.decode(CameraId(0), first_worker), Error) << "no master";
  EXPECT_THROW(std::ignore = &page.node(NodeId(0), cluster_process), Error) << "no worker";
  EXPECT_THROW(std::ignore = &page.process(ProcessId(max_processes)), Error);
  EXPECT_THROW(std::ignore = &RigPage::create(0).publish(OutputId(0)), Error);
}

// What another machine does is accounted for as if a worker did it.
TEST(RigPage, OfTheProcessOfLinksIsAWorkers) {
  RigPage page = RigPage::create(2);
  EXPECT_THROW(std::ignore = &page.node(NodeId(1), link_process), Error) << "it is in clusters alone";
  page.add(link_process);
  const RigPage links = opened(page, link_process);
  links.link(EdgeId(1), link_process).counts.taken = 3;
  links.link(EdgeId(1), link_process).there.taken = 4;
  links.node(NodeId(1), link_process).counters.add(Counter::converted, 5);
  EXPECT_EQ(page.link(EdgeId(1), link_process).counts.taken, 3U);
  EXPECT_EQ(page.link(EdgeId(1), link_process).there.taken, 4U);
  EXPECT_EQ(page.node(NodeId(1), link_process).counters.of(Counter::converted), 5U);
  EXPECT_THROW(std::ignore = &page.link(EdgeId(1), first_worker), Error);
  page.clear(EdgeId(1), first_worker, link_process);
  EXPECT_EQ(page.link(EdgeId(1), link_process).counts.taken, 0U);
  EXPECT_EQ(page.link(EdgeId(1), link_process).there.taken, 0U);
}

TEST(RigPage, HasAPageForEachMaster) {
  std::set<ProcessId> ids{source_process, publisher_process};
  for (unsigned worker = 0; worker < max_workers; ++worker) ids.insert(worker_process(worker));
  for (unsigned master = 0; master < max_masters; ++master) {
    EXPECT_TRUE(is_master(master_process_of(master)));
    ids.insert(master_process_of(master));
  }
  EXPECT_FALSE(is_master(cluster_process));
  EXPECT_FALSE(is_master(link_process));
  ids.insert({cluster_process, link_process});
  EXPECT_EQ(ids.size(), max_processes) << "each has an id of its own";
  EXPECT_FALSE(is_master(worker_process(max_workers - 1)));
  RigPage page = RigPage::create(2, max_workers);
  const ProcessId further = master_process_of(1);
  page.add(further);
  const RigPage master = opened(page, further);
  EXPECT_EQ(master.own(), further);
  master.decode(CameraId(1), further).counters.add(Counter::converted, 3);
  page.add(further);
  EXPECT_EQ(page.decode(CameraId(1), further).counters.of(Counter::converted), 3U) << "it was there already";
  EXPECT_EQ(page.decode(CameraId(1), master_process).counters.of(Counter::converted), 0U);
  EXPECT_THROW(std::ignore = &master.node(NodeId(0), further), Error) << "no worker";
  EXPECT_THROW(page.add(ProcessId(max_processes)), Error);
}

// The second one goes on as a successor of the first would.
TEST(RigPage, MovesWhatAMasterHasCounted) {
  RigPage page = RigPage::create(4);
  const ProcessId to = master_process_of(1);
  page.add(to);
  const CameraId camera(1);
  const EdgeId edge(2);
  const OutputId copy(3);
  page.decode(camera, master_process).counters.add(Counter::converted, 7);
  page.decode(camera, master_process).sets.move = -5;
  page.decode(camera, master_process).decode.record(2'000'000);
  page.decode(camera, master_process).thread.beat = 1;
  page.edge_writer(edge, master_process).newest_drop = 11;
  page.look(copy, master_process).motion.largest = 0.5F;
  counter(page.edge_writer(edge, master_process).unpublished, DropCause::master_lost) = 2;
  page.edge_writer(edge, to).newest_drop = 99;  // of another camera that was there before
  page.move(camera, master_process, to);
  page.move_written(edge, master_process, to);
  page.move_look(copy, master_process, to);
  EXPECT_EQ(page.decode(camera, to).counters.of(Counter::converted), 7U);
  EXPECT_EQ(page.decode(camera, to).sets.move, -5);
  EXPECT_EQ(page.decode(camera, to).decode.counts().total(), 1U);
  EXPECT_EQ(page.decode(camera, to).thread.beat, 0) << "it has no thread yet";
  EXPECT_EQ(page.edge_writer(edge, to).newest_drop, 11U);
  EXPECT_EQ(counter(page.edge_writer(edge, to).unpublished, DropCause::master_lost), 2U);
  EXPECT_EQ(page.look(copy, to).motion.largest, 0.5F);
  EXPECT_EQ(page.decode(camera, master_process).counters.of(Counter::converted), 0U);
  EXPECT_EQ(page.decode(camera, master_process).decode.counts().total(), 0U);
  EXPECT_EQ(counter(page.edge_writer(edge, master_process).unpublished, DropCause::master_lost), 0U);
  EXPECT_EQ(page.look(copy, master_process).motion.largest, 0);
}

TEST(RigPage, RefusesWhatIsNotAPage) {
  const RigPage page = RigPage::create(2, 1);
  const auto open = [](UniqueFd shared, UniqueFd own) {
    RigPage::open(std::move(shared), std::move(own), master_process);
  };
  const auto shared = [&] { return duplicate(page.shared_fd()); };
  const auto own = [&] { return duplicate(page.fd_of(master_process)); };
  EXPECT_NO_THROW(open(shared(), own()));
  EXPECT_THROW(open(UniqueFd(), own()), Error);
  EXPECT_THROW(open(shared(), UniqueFd()), Error);
  EXPECT_THROW(open(create_shared_memory("small", 64), own()), Error);
  EXPECT_THROW(open(create_shared_memory("zero", 1 << 20), own()), Error);
  EXPECT_THROW(open(shared(), duplicate(page.fd_of(publisher_process))), Error) << "another process's page";
  EXPECT_THROW(open(shared(), duplicate(RigPage::create(3).fd_of(master_process))), Error) << "another rig's";
  EXPECT_THROW(RigPage::open(shared(), own(), ProcessId(max_processes)), Error);
}

TEST(RigPage, EveryCauseHasANameOfItsOwn) {
  std::set<std::string> names;
  for (std::size_t cause = 0; cause < drop_causes; ++cause) names.insert(name_of(static_cast<DropCause>(cause)));
  EXPECT_EQ(names.size(), drop_causes);
  EXPECT_FALSE(names.contains(""));
  EXPECT_STREQ(name_of(DropCause::queue_full), "queue_full");
  EXPECT_STREQ(name_of(DropCause::encoder_failed), "encoder_failed");
  EXPECT_STREQ(name_of(DropCause::stopped), "stopped");
  EXPECT_STREQ(name_of(DropCause::no_gpu_memory), "no_gpu_memory");
}

// What one worker has counted goes to another one's block, beside what that has counted already.
TEST(RigPage, MovesWhatAWorkerHasCounted) {
  const RigPage page = RigPage::create(4, 2);
  const ProcessId from = worker_process(0);
  const ProcessId to = worker_process(1);
  const OutputId output(2);
  EncodeBlock& before = page.encode(output, from);
  EncodeBlock& after = page.encode(output, to);
  before.counters.add(Counter::bytes, 70);
  after.counters.add(Counter::bytes, 5);
  counter(before.dropped, DropCause::rate) = 3;
  counter(after.dropped, DropCause::rate) = 1;
  before.latency.record(2'000'000);
  before.transit.record(1'000'000);
  after.latency.record(9'000'000);
  before.motion.largest = 0.5F;
  after.motion.largest = 0.25F;
  before.sets.encoded = 8;
  after.sets.encoded = 1;
  before.sets.skew.record(1'000'000);
  page.move(output, from, to);
  EXPECT_EQ(after.counters.of(Counter::bytes), 75U);
  EXPECT_EQ(before.counters.of(Counter::bytes), 0U);
  EXPECT_EQ(counter(after.dropped, DropCause::rate), 4U);
  EXPECT_EQ(counter(before.dropped, DropCause::rate), 0U);
  EXPECT_EQ(after.latency.counts().total(), 2U);
  EXPECT_EQ(after.transit.counts().total(), 1U);
  EXPECT_EQ(before.latency.counts().total(), 0U);
  EXPECT_EQ(after.motion.largest, 0.5F);
  EXPECT_EQ(after.sets.encoded, 9U);
  EXPECT_EQ(before.sets.encoded, 0U);
  EXPECT_EQ(after.sets.skew.counts().total(), 1U);

  page.edge_reader(EdgeId(1), from).queue.record(1'000'000);
  page.edge_reader(EdgeId(1), to).queue.record(1'000'000);
  page.move(EdgeId(1), from, to);
  EXPECT_EQ(page.edge_reader(EdgeId(1), to).queue.counts().total(), 2U);
  EXPECT_EQ(page.edge_reader(EdgeId(1), from).queue.counts().total(), 0U);

  page.node(NodeId(0), from).counters.add(Counter::worker_restarts, 2);
  page.move(NodeId(0), from, NodeId(3), to);
  EXPECT_EQ(page.node(NodeId(3), to).counters.of(Counter::worker_restarts), 2U);
  EXPECT_EQ(page.node(NodeId(0), from).counters.of(Counter::worker_restarts), 0U);
}

// Of a mosaic: the clock is the same one, and whoever is further tells how far it is.
TEST(RigPage, MovesTheClockOfAMosaic) {
  const RigPage page = RigPage::create(4, 2);
  const ProcessId from = worker_process(0);
  const ProcessId to = worker_process(1);
  const auto begin = [&](const NodeId node, const ProcessId process, std::int64_t first, std::uint64_t ticks) {
    TickClock& clock = page.node(node, process).clock;
    clock.first = first;
    clock.media_offset = first / 2;
    clock.ticks = ticks;
    counter(clock.skipped, DropCause::queue_full) = 2;
  };
  begin(NodeId(0), from, 1000, 40);
  page.move(NodeId(0), from, NodeId(1), to);
  const TickClock& clock = page.node(NodeId(1), to).clock;
  EXPECT_EQ(clock.first, 1000);
  EXPECT_EQ(clock.media_offset, 500);
  EXPECT_EQ(clock.ticks, 40U);
  EXPECT_EQ(page.node(NodeId(0), from).clock.first, 0);
  begin(NodeId(0), from, 1000, 40);
  begin(NodeId(1), to, 1000, 43);  // it has gone on already
  page.move(NodeId(0), from, NodeId(1), to);
  EXPECT_EQ(clock.ticks, 43U);
  EXPECT_EQ(clock.skipped[static_cast<std::size_t>(DropCause::queue_full)], 4U);
}

}  // namespace CAMPIPE_FILE
}  // namespace campipe::test
