#include "tests/sim/node_input.h"

#include <algorithm>
#include <utility>

#include "ipc/accusation.h"
#include "tests/sim/mosaic_input.h"
#include "tests/sim/rates.h"

namespace campipe::sim {
namespace {

class RingInput final : public NodeInput {
 public:
  RingInput(Child& child, const messages::RunNode& asked)
      : block_(child.page().edge_reader(asked.inputs.at(0), child.id())),
        blocks_(asked.drop_policy == DropPolicy::block),
        queue_(asked.queue_size) {}

  void add(EdgeId, std::shared_ptr<FrameRingMemory> memory, unsigned seat) override {
    rings_.push_back({std::move(memory), seat});
  }

  void finish(EdgeId) override { finishes_ = true; }

  void set_heed(FrameRingReader::Heed heed) override {
    heed_ = heed;
    if (reader_) reader_->set_heed(heed);
  }

  std::optional<Frame> next() override {
    if (!lease_ && !take()) return std::nullopt;
    return Frame{lease_->number, lease_->source_number, size_of(lease_->frame.view.format),
                 lease_->times,  reader_->taken(),      FrameRingObserver(rings_.front().memory).published()};
  }

  void done() override { lease_.reset(); }
  [[nodiscard]] bool is_over() const override { return !reader_ && rings_.empty() && finishes_; }

  void leave() override {
    lease_.reset();
    if (reader_) reader_->leave();
    reader_.reset();
    rings_.clear();
  }

 private:
  struct Ring {
    std::shared_ptr<FrameRingMemory> memory;
    unsigned seat = 0;
  };

  bool take() {
    if (!reader_ && !attach()) return false;
    FrameRingReader::Lease lease;
    switch (reader_->next(lease, Clock::now())) {
      case FrameRingReader::Next::frame:
        block_.queue.record(now_ns() - lease.times.published);
        lease_ = std::move(lease);
        return true;
      case FrameRingReader::Next::timeout:
        return false;
      case FrameRingReader::Next::broken:
        accuse(block_.accusation, Accused::other_end);
        break;
      default:
        break;
    }
    reader_.reset();
    rings_.pop_front();
    return false;
  }

  bool attach() {
    if (rings_.empty()) return false;
    reader_.emplace(rings_.front().memory, rings_.front().seat, nanoseconds(0));
    reader_->set_heed(heed_);
    reader_->attach(blocks_, queue_);
    return true;
  }

  EdgeReaderBlock& block_;
  bool blocks_;
  unsigned queue_;
  std::deque<Ring> rings_;
  std::optional<FrameRingReader> reader_;  // of the first of them
  std::optional<FrameRingReader::Lease> lease_;
  FrameRingReader::Heed heed_ = FrameRingReader::Heed::usual;
  bool finishes_ = false;
};

// As app/worker/join_input, in steps.
class JoinInput final : public NodeInput {
 public:
  JoinInput(Child& child, const messages::RunNode& asked) : queue_(asked.queue_size) {
    const ReaderQueue queue{asked.drop_policy, asked.queue_size};
    const TilePart::Events events{[](const InputRing&) {}, [](const std::shared_ptr<FrameRingMemory>&) {}};
    for (const EdgeId edge : asked.inputs)
      parts_.push_back(
          std::make_unique<TilePart>(asked.name, edge, asked.join->frames, queue, child.page(), events, false));
  }

  void add(EdgeId edge, std::shared_ptr<FrameRingMemory> memory, unsigned seat) override {
    part(edge).rings().add({std::move(memory), seat, frame_rate, 0});
  }

  void finish(EdgeId edge) override { part(edge).rings().finish(); }

  void set_heed(FrameRingReader::Heed heed) override {
    for (const auto& part : parts_) part->set_heed(heed);
  }

  std::optional<Frame> next() override {
    if (!frame_) frame_ = settle();
    return frame_;
  }

  void done() override {
    for (const auto& part : parts_) part->pass(frame_->number);
    frame_.reset();
  }

  [[nodiscard]] bool is_over() const override {
    return !frame_ && std::ranges::all_of(parts_, [](const auto& part) { return !part->next() && part->is_over(); });
  }

  void leave() override {
    frame_.reset();
    for (const auto& part : parts_) part->leave();
  }

 private:
  TilePart& part(EdgeId edge) {
    return **std::ranges::find_if(parts_, [edge](const auto& part) { return part->edge() == edge; });
  }

  // That has the oldest of the frames that have come; null: none has.
  TilePart* first() {
    TilePart* first = nullptr;
    for (const auto& part : parts_) {
      if (part->next() && (first == nullptr || *part->next() < *first->next())) first = part.get();
    }
    return first;
  }

  std::optional<Frame> settle() {
    for (const auto& part : parts_) part->receive(Clock::now());
    TilePart* const oldest = first();
    if (oldest == nullptr) return std::nullopt;
    const std::uint64_t number = *oldest->next();
    if (std::exchange(awaited_, number) != number) awaited_since_ = Clock::now();
    Frame frame{number, number, size_of(oldest->lease().frame.view.format), oldest->lease().times, 0, number + queue_};
    for (const auto& part : parts_) {
      if (part->next() == number) continue;
      frame.is_whole = !part->is_missing(number) && !part->give_up(number, awaited_since_);
      if (frame.is_whole) return std::nullopt;  // it waits for this part
      break;
    }
    return frame;
  }

  unsigned queue_;
  std::vector<std::unique_ptr<TilePart>> parts_;  // by tile
  std::optional<Frame> frame_;
  std::uint64_t awaited_ = 0;  // the frame that waits for parts,
  Clock::time_point awaited_since_;
};

}  // namespace

std::unique_ptr<NodeInput> make_node_input(Child& child, const messages::RunNode& asked) {
  if (asked.compose) return std::make_unique<MosaicInput>(child, asked);
  if (asked.join) return std::make_unique<JoinInput>(child, asked);
  return std::make_unique<RingInput>(child, asked);
}

}  // namespace campipe::sim
