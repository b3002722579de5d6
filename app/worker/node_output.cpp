#include "app/worker/node_output.h"

#include <algorithm>
#include <utility>

#include "app/worker/room_interval.h"
#include "core/error.h"
#include "core/log.h"
#include "ipc/drop_sum.h"
#include "stages/filters/filter_sequence.h"

namespace campipe {
namespace {}  // namespace

NodeOutput::NodeOutput(About about, const OutputEvents& events, NodePlace& place)
    : about_(std::move(about)),
      events_(events),
      filter_range_(about_.name, "filter"),
      rate_(about_.rate),
      filters_(place),
      resolved_(about_.made + sum(about_.dropped)),
      resumes_(resolved_ > 0) {}

// Kernels, pools and encoders take tenths of a second to make, more where many cameras start at once: too long for the
// first frames to wait in the queue.
void NodeOutput::get_ready(const FrameFormat& expected, const Source& source) {
  if (about_.failed || expected.width == 0 || !is_wanted()) return;
  try {
    prepare(expected, source);
  } catch (const GpuError& error) {
    if (error.kind == GpuError::Kind::broken) return fail(error);
    wait_for_room(error.what());
  } catch (const std::exception& error) {
    // Tried again for the first frame, which may be another than was expected; then it counts.
    spdlog::debug("{}: not ready for what is expected: {}", name(), error.what());
  }
}

// The first ones that are missing were lost with the worker before.
void NodeOutput::give_up(std::uint64_t source_number, DropCause cause) {
  if (!about_.is_joined || source_number <= resolved_) return;
  count(resumes_ ? DropCause::worker_lost : cause, source_number - resolved_);
  resumes_ = false;
  resolved_ = source_number;
}

void NodeOutput::process(RingInUse* ring, FrameRingReader::Lease lease, const Source& source) {
  const std::uint64_t number = lease.source_number;
  if (number > 0) give_up(number - 1, DropCause::part_missing);
  resolved_ = number;
  resumes_ = false;
  process_counted(ring, lease, source);
  on_resolved(number);
}

void NodeOutput::rehearse(RingInUse* ring, FrameRingReader::Lease lease, const Source& source) {
  if (about_.failed || !is_wanted() || leaves_out(lease.times)) return;
  if (const auto frame = filter(ring, lease, source)) on_rehearsed(*frame, lease.times);
}

void NodeOutput::go_live(const HandOver::Due& due) {
  about_.rehearses = false;
  rate_.go_on(due.rate);
}

void NodeOutput::account_from(std::uint64_t made, bool died) {
  resolved_ = made + sum(about_.dropped);
  resumes_ = died;
}

void NodeOutput::process_counted(RingInUse* ring, FrameRingReader::Lease& lease, const Source& source) {
  if (about_.failed) return count(about_.after_failure);
  if (!is_wanted()) return count(DropCause::unwatched);
  if (const auto cause = leaves_out(lease.times)) return count(*cause);
  FrameTimes times = lease.times;
  times.leased = now_ns();
  const auto frame = filter(ring, lease, source);
  if (!frame) return;
  times.filtered = now_ns();
  times.filter_cost += filters_.cost();
  try {
    deliver(*frame, times, lease.source_number);
  } catch (const std::exception& error) {
    fail(error);
  }
}

std::optional<DropCause> NodeOutput::leaves_out(const FrameTimes& times) {
  return rate_.takes(times.pts) ? std::nullopt : std::optional(DropCause::rate);
}

// Nothing: the frame has been counted as dropped.
std::optional<FrameRef> NodeOutput::filter(RingInUse* ring, FrameRingReader::Lease& lease, const Source& source) {
  const ProfileRange range(filter_range_, lease.number);
  try {
    if (try_again_ && Clock::now() < *try_again_) {
      count(DropCause::no_gpu_memory);
      return std::nullopt;
    }
    prepare(lease.frame.view.format, source);
    auto frame = run_filters(ring, lease);
    lease.frame = {};
    return frame;
  } catch (const GpuError& error) {
    const bool no_room =
        error.kind == GpuError::Kind::out_of_memory || (!ready_ && error.kind == GpuError::Kind::other);
    count(no_room ? DropCause::no_gpu_memory : DropCause::filter_failed);
    if (no_room) {
      wait_for_room(error.what());
    } else {
      fail(error);
    }
  } catch (const std::exception& error) {
    count(DropCause::filter_failed);
    fail(error);
  }
  return std::nullopt;
}

std::optional<FrameRef> NodeOutput::run_filters(RingInUse* ring, FrameRingReader::Lease& lease) {
  auto frame = filters_.process(ring, lease, events_.beat, nullptr);
  if (!frame) count(DropCause::master_lost);
  return frame;
}

std::vector<FilterConfig> NodeOutput::filters_for(const Source& source) const {
  const auto first = static_cast<std::ptrdiff_t>(std::min(source.filtered, about_.filters.size()));
  return with_rotation({about_.filters.begin() + first, about_.filters.end()}, source.rotation);
}

void NodeOutput::prepare(const FrameFormat& format, const Source& source) {
  const Ready wanted{format, source};
  if (ready_ == wanted) return;
  ready_.reset();
  make_ready(wanted);
  ready_ = wanted;
  if (!try_again_) return;
  try_again_.reset();
  spdlog::info("{}: {} has room for its frames again", name(), to_string(filters_.gpu()));
}

// Its frames are dropped until prepare() works again.
void NodeOutput::wait_for_room(const std::string& reason) {
  if (!try_again_) spdlog::warn("{}: its frames are dropped until the GPU has room: {}", name(), reason);
  try_again_ = Clock::now() + room_interval;
  ready_.reset();
}

void NodeOutput::drop_filters() {
  filters_.drop();
  ready_.reset();
}

// From here on its frames are only counted.
void NodeOutput::fail(const std::exception& error) {
  const auto* of_gpu = dynamic_cast<const GpuError*>(&error);
  if (of_gpu != nullptr && of_gpu->kind == GpuError::Kind::broken) events_.on_gpu_lost(error.what());
  if (std::exchange(about_.failed, true)) return;
  filters_.drop();
  on_failure(error.what());
}

}  // namespace campipe
