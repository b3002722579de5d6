#include "stages/sinks/sample_table.h"

#include <algorithm>
#include <numeric>

#include "stages/sinks/mp4_boxes.h"

namespace campipe {
namespace {

using ByteVector = std::vector<std::uint8_t>;

constexpr std::int64_t longest_sample_step = INT32_MAX;  // readers differ beyond

// Version and flags, and how many entries follow.
ByteVector table_of(std::size_t entries, std::uint8_t box_version = 0) {
  ByteVector contents;
  put(contents, std::uint64_t{box_version} << 24U, 4);
  put(contents, entries, 4);
  return contents;
}

}  // namespace

void SampleTable::begin_chunk(std::uint64_t offset) { chunks_.push_back({offset, 0}); }

bool SampleTable::add(const Sample& sample) {
  const std::int64_t step = sample.dts - last_dts_;
  if (chunks_.empty() || sample.dts < 0 || sample.duration > longest_sample_step) return false;
  if (sizes_.empty()) {
    first_dts_ = sample.dts;
  } else {
    if (step < 0 || step > longest_sample_step) return false;
    add_to(steps_, static_cast<std::uint32_t>(step));
  }
  last_dts_ = sample.dts;
  last_duration_ = sample.duration;
  sizes_.push_back(sample.size);
  add_to(offsets_, static_cast<std::uint32_t>(sample.offset));
  has_offsets_ = has_offsets_ || sample.offset != 0;
  has_negative_offsets_ = has_negative_offsets_ || sample.offset < 0;
  add_sync(sample.sync);
  ++chunks_.back().samples;
  return true;
}

void SampleTable::add_sync(bool sync) {
  if (!sync && !sync_) {
    sync_.emplace(sizes_.size() - 1);
    std::iota(sync_->begin(), sync_->end(), 1U);
  }
  if (sync && sync_) sync_->push_back(static_cast<std::uint32_t>(sizes_.size()));
}

void SampleTable::add_to(std::vector<Run>& runs, std::uint32_t value) {
  if (runs.empty() || runs.back().value != value) runs.push_back({0, value});
  ++runs.back().count;
}

void SampleTable::stretch_to(std::int64_t end) {
  last_duration_ = std::clamp(end - last_dts_, last_duration_, longest_sample_step);
}

void SampleTable::put_runs(ByteVector& out, const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    put(out, run.count, 4);
    put(out, run.value, 4);
  }
}

// For the first chunk of those that have as many samples.
ByteVector SampleTable::chunk_lengths() const {
  ByteVector entries;
  std::size_t count = 0;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    if (i > 0 && chunks_[i].samples == chunks_[i - 1].samples) continue;
    put(entries, i + 1, 4);
    put(entries, chunks_[i].samples, 4);
    put(entries, 1, 4);  // the description
    ++count;
  }
  ByteVector contents = table_of(count);
  put(contents, entries);
  return contents;
}

ByteVector SampleTable::chunk_offsets(int size) const {
  ByteVector contents = table_of(chunks_.size());
  for (const Chunk& chunk : chunks_) put(contents, chunk.offset, size);
  return contents;
}

ByteVector SampleTable::boxes() const {
  std::vector<Run> steps = steps_;
  if (!empty()) add_to(steps, static_cast<std::uint32_t>(last_duration_));
  ByteVector out;
  ByteVector contents = table_of(steps.size());
  put_runs(contents, steps);
  put_box(out, "stts", contents);
  if (sync_) {
    contents = table_of(sync_->size());
    for (const std::uint32_t number : *sync_) put(contents, number, 4);
    put_box(out, "stss", contents);
  }
  if (has_offsets_) {
    contents = table_of(offsets_.size(), has_negative_offsets_ ? 1 : 0);
    put_runs(contents, offsets_);
    put_box(out, "ctts", contents);
  }
  put_box(out, "stsc", chunk_lengths());
  contents = table_of(0);  // no size that all have
  put(contents, sizes_.size(), 4);
  for (const std::uint32_t size : sizes_) put(contents, size, 4);
  put_box(out, "stsz", contents);
  const bool is_far = !chunks_.empty() && chunks_.back().offset > UINT32_MAX;
  put_box(out, is_far ? "co64" : "stco", chunk_offsets(is_far ? 8 : 4));
  return out;
}

}  // namespace campipe
