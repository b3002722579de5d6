#include "app/worker/rendition.h"

#include <algorithm>
#include <utility>

#include "app/config/limited_rate.h"
#include "app/config/paths.h"
#include "app/config/stream_config.h"
#include "app/control/thread_scope.h"
#include "core/error.h"
#include "core/failpoint.h"
#include "core/log.h"
#include "ipc/counter_table.h"
#include "ipc/drop_causes.h"
#include "ipc/encode_block.h"
#include "ipc/rig_page.h"

namespace campipe {
namespace {

constexpr int least_size = 64;  // samples; what would be smaller keeps its size

std::unique_ptr<SnapshotWriter> make_snapshot(const ResolvedOutput& config) {
  if (!config.snapshot) return nullptr;
  const std::string path =
      with_node(expand_record_path(config.snapshot->path, config.camera, config.output, utc_now_ns() / 1'000'000'000),
                config.node);
  return std::make_unique<SnapshotWriter>(path, config.snapshot->every, [name = config.name](const std::string& why) {
    spdlog::warn("{}: {}", name, why);
  });
}

// Packets of frames that came: not of those that were encoded again.
std::uint64_t frames_made(std::uint64_t packets, const EncodeBlock& block) {
  return packets - std::min(packets, block.counters.of(Counter::repeated));
}

}  // namespace

Rendition::Rendition(const messages::EncodedOutput& output, const RigPage& page, const OutputEvents& events,
                     NodePlace& place)
    : NodeOutput({.name = output.config.name,
                  .filters = output.config.filters,
                  .rate = output.config.rate,
                  .dropped = page.encode(output.output, page.own()).dropped,
                  .after_failure = DropCause::encoder_failed,
                  .failed = output.failed,
                  .made = frames_made(output.base, page.encode(output.output, page.own())),
                  .is_joined = output.joined,
                  .rehearses = output.waits},
                 events, place),
      output_(output),
      block_(page.encode(output.output, page.own())),
      motion_(block_.motion),
      snapshot_(make_snapshot(output.config)),
      stream_(output_, page, NodeOutput::events()),
      demand_({output.output}, page) {
  if (!output_.seat || output_.failed) return;
  auto group_page = NodeOutput::events().group_page(output_.output);
  if (group_page != nullptr) {
    GroupGate::Stream& behind = *this;
    gate_ = std::make_unique<GroupGate>(output_, std::move(group_page), block_, NodeOutput::events(), behind);
  } else {
    fail(Error("the page of its group could not be opened"));
  }
}

void Rendition::deliver(const FrameRef& frame, const FrameTimes& times, std::uint64_t number) {
  motion_.take(frame.metadata, times.pts);
  block_.filter.record(times.filter_cost);
  if (snapshot_) snapshot_->offer(frame.view);
  if (gate_) {
    gate_->take(frame, times, number);
  } else {
    stream_.encode(frame, times, number);
  }
}

void Rendition::encode(const FrameRef& frame, const FrameTimes& times, std::uint64_t number) {
  stream_.encode(frame, times, number);
}

std::optional<DropCause> Rendition::leaves_out(const FrameTimes& times) {
  return gate_ ? GroupGate::leaves_out(times) : NodeOutput::leaves_out(times);
}

void Rendition::rest() {
  is_wanted();
  if (!gate_) return;
  try {
    gate_->follow();
  } catch (const std::exception& error) {
    fail(error);
  }
}

// Where it is not, what it takes to encode is given up.
bool Rendition::is_wanted() {
  if (!output_.config.on_demand) return true;
  if (demand_.is_there()) return true;
  finish();
  drop_filters();
  return false;
}

void Rendition::finish() {
  try {
    if (gate_) gate_->finish();
    stream_.flush();
  } catch (const std::exception& error) {
    fail(error);
  }
}

void Rendition::on_rehearsed(const FrameRef& frame, const FrameTimes& times) {
  motion_.take(frame.metadata, times.pts);
}

void Rendition::go_live(const HandOver::Due& due) {
  NodeOutput::go_live(due);
  if (snapshot_ && due.snapshot) snapshot_->go_on(Deadline(std::chrono::nanoseconds(*due.snapshot)));
}

HandOver::Due Rendition::due() const {
  HandOver::Due due = NodeOutput::due();
  if (snapshot_) due.snapshot = to_ns(snapshot_->due());
  return due;
}

void Rendition::go_on(const messages::GoOn::Output& from, bool died) {
  account_from(frames_made(from.base, block_), died);
  if (from.failed) {
    set_failed();
    stream_.fail();
  }
  if (gate_) gate_->go_on(from.after);
  try {
    stream_.go_on_from(from.epoch, from.base);
  } catch (const std::exception& error) {
    fail(error);
  }
}

void Rendition::hand_over() {
  if (gate_) gate_->hand_over();
}

void Rendition::shrink(bool half) {
  if (std::exchange(output_.half_size, half) != half) drop_filters();
}

// At half the size there is one more filter, which needs the size of what the others make.
FrameFormat Rendition::configure(const Ready& wanted, bool on_gpu) {
  std::vector<FilterConfig> all = filters_for(wanted.source);
  const FrameFormat full = filters().configure(all, wanted.input, on_gpu);
  const int width = full.width / 4 * 2;
  const int height = full.height / 4 * 2;
  if (!output_.half_size || std::min(width, height) < least_size) return full;
  all.push_back({"resize", {{"width", width}, {"height", height}}});
  return filters().configure(all, wanted.input, on_gpu);
}

// Filters, encoder and packet ring for frames of this format.
void Rendition::make_ready(const Ready& wanted) {
  const Encoder* encoder = stream_.encoder();
  const bool on_gpu =
      encoder != nullptr ? encoder->wants_gpu_frames() : tries_gpu_encoder(output_.placement, output_.config);
  const FrameFormat output = configure(wanted, on_gpu);
  const double rate = rate_of(wanted.source);
  if (!stream_.goes_on(output, rate)) make_encoder(wanted, on_gpu, output, rate);
}

// The encoder is opened for what the filters make of the frames; and only when it is open, it is known whether it
// takes them in the GPU's memory.
void Rendition::make_encoder(const Ready& wanted, bool on_gpu, const FrameFormat& output, double frame_rate) {
  EncoderPlace place = filters().place();
  place.hardware = tries_gpu_encoder(output_.placement, output_.config);
  place.cores = output_.placement.encode_cores;
  stream_.flush();
  const ThreadWait wait(WaitsFor::encoder);
  failpoint("encoder.opening", output_.config.name);
  auto encoder = open_encoder(output_.config.encode, output, frame_rate, place);
  if (!encoder->remark().empty()) spdlog::warn("{}: {}", output_.config.name, encoder->remark());
  if (encoder->wants_gpu_frames() != on_gpu) configure(wanted, encoder->wants_gpu_frames());
  stream_.begin(std::move(encoder), output, frame_rate);
}

double Rendition::rate_of(const Source& source) const {
  return gate_ ? output_.config.group->rate : limited_rate(source.frame_rate, output_.config.rate);
}

void Rendition::on_failure(const std::string& reason) {
  if (gate_) gate_->leave();
  stream_.fail();
  events().on_failed(output_.output, reason);
}

}  // namespace campipe
