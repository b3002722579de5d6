// The rig's page and its histograms: what one process counts another reads, and quantiles are right within 5 %.
#include "ipc/rig_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "tests/unit/ring_test_support.h"

namespace campipe::test {
namespace {

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

TEST(RigPage, WhatOneProcessCountsAnotherReads) {
  const RigPage page = RigPage::create(3);
  const RigPage other = RigPage::open(duplicate(page.fd()));
  ASSERT_NE(&page.camera(0), &other.camera(0));
  for (unsigned camera = 0; camera < 3; ++camera) {
    counter(page.camera(camera).dropped, DropCause::worker_lost) += camera + 1;
    page.camera(camera).latency.record(1'000'000);
    page.camera(camera).stage.beat = 10 + camera;
  }
  page.process(max_processes - 1).beat = 99;
  for (unsigned camera = 0; camera < 3; ++camera) {
    EXPECT_EQ(counter(other.camera(camera).dropped, DropCause::worker_lost).load(), camera + 1);
    EXPECT_EQ(counter(other.camera(camera).dropped, DropCause::queue_full).load(), 0U);
    EXPECT_EQ(counter(other.camera(camera).unpublished, DropCause::worker_lost).load(), 0U);
    EXPECT_EQ(other.camera(camera).latency.counts().total(), 1U);
    EXPECT_EQ(other.camera(camera).stage.beat.load(), 10 + camera);
  }
  EXPECT_EQ(other.process(max_processes - 1).beat.load(), 99);
  page.barrier().add(2);
  EXPECT_EQ(other.barrier().wait(0, Clock::now()), 0x0004U);
}

TEST(RigPage, BeginsWithZeros) {
  const RigPage page = RigPage::create(1);
  for (unsigned process = 0; process < max_processes; ++process) EXPECT_EQ(page.process(process).beat.load(), 0);
  const CameraBlock& camera = page.camera(0);
  EXPECT_EQ(camera.latency.counts().total(), 0U);
  EXPECT_EQ(camera.record.current.load(), 0U);
  EXPECT_EQ(camera.ingest.fault.load(), 0U);
}

TEST(RigPage, RefusesAWrongCameraOrProcess) {
  const RigPage page = RigPage::create(2);
  EXPECT_NO_THROW(std::ignore = &page.camera(1));
  EXPECT_THROW(std::ignore = &page.camera(2), Error);
  EXPECT_THROW(std::ignore = &page.process(max_processes), std::out_of_range);
  EXPECT_THROW(std::ignore = &RigPage::create(0).camera(0), Error);
}

TEST(RigPage, RefusesWhatIsNotAPage) {
  EXPECT_THROW(RigPage::open(UniqueFd()), Error);
  EXPECT_THROW(RigPage::open(create_shared_memory("small", 64)), Error);
  EXPECT_THROW(RigPage::open(create_shared_memory("zero", 1 << 20)), Error);
}

TEST(RigPage, EveryCauseHasANameOfItsOwn) {
  std::set<std::string> names;
  for (std::size_t cause = 0; cause < drop_causes; ++cause) names.insert(name_of(static_cast<DropCause>(cause)));
  EXPECT_EQ(names,
            (std::set<std::string>{"queue_full", "worker_lost", "master_lost", "filter_failed", "encoder_failed",
                                   "publisher_slow", "stopped", "no_gpu_memory", "corrupt", "rate", "unwatched"}));
  EXPECT_STREQ(name_of(DropCause::queue_full), "queue_full");
  EXPECT_STREQ(name_of(DropCause::encoder_failed), "encoder_failed");
  EXPECT_STREQ(name_of(DropCause::stopped), "stopped");
  EXPECT_STREQ(name_of(DropCause::no_gpu_memory), "no_gpu_memory");
}

}  // namespace
}  // namespace campipe::test
