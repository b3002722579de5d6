// The publisher, as app/publisher: records the packets of each output's rings, a fragment at a time. A packet is given
// back once it is in the file, so that a successor goes on where the file ends.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "app/control/messages/answer.h"
#include "app/control/messages/from_publisher.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/messages/run.h"
#include "app/control/messages/to_publisher.h"
#include "app/control/record_state.h"
#include "ipc/packet_ring.h"
#include "ipc/publish_block.h"
#include "tests/sim/child.h"
#include "tests/sim/machine.h"

namespace campipe::sim {
namespace {

constexpr std::uint64_t packets_a_fragment = 25;

class Publishing {
 public:
  Publishing(Child& child, const messages::PublishOutput& asked)
      : child_(child),
        output_(asked.output),
        block_(child.page().publish(asked.output)),
        name_(asked.config.name),
        records_(asked.config.record.has_value() && asked.recording && block_.record.failed.load() == 0) {
    progress_ = load_record_progress(block_.record).value_or(RecordProgress{});
    expected_ = progress_.number + 1;
    if (const auto file = load_record_file(block_.record); file && progress_.open)
      child_.machine().on_file(child_, file->path);
  }

  [[nodiscard]] bool is_done() const { return done_; }
  [[nodiscard]] OutputId id() const { return output_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  void add(std::uint64_t epoch, std::shared_ptr<PacketRingMemory> memory, StreamParameters stream) {
    rings_.push_back({epoch, std::move(memory), std::move(stream)});
  }
  void finish() { finishes_ = true; }
  void abandon() { abandoned_ = true; }

  void step() {
    if (done_) return;
    block_.thread.beat.store(now_ns());
    if (abandoned_) return end();
    for (unsigned i = 0; i < packets_a_step; ++i) {
      if (!next_packet()) break;
    }
    if (!reader_ && rings_.empty() && finishes_) end();
  }

 private:
  static constexpr unsigned packets_a_step = 64;

  struct Ring {
    std::uint64_t epoch = 0;
    std::shared_ptr<PacketRingMemory> memory;
    StreamParameters stream;
  };

  bool next_packet() {
    if (!reader_) {
      if (rings_.empty()) return false;
      reader_.emplace(rings_.front().memory);
    }
    PacketView packet;
    std::uint64_t number = 0;
    const auto next = reader_->next(packet, number, Clock::now());
    if (next == PacketRingReader::Next::packet) {
      take(packet, number);
      return true;
    }
    if (next == PacketRingReader::Next::timeout) {
      if (reader_->writer_waits()) commit();
      return false;
    }
    if (next == PacketRingReader::Next::broken) accuse(block_.accusation, Accused::worker);
    commit();
    child_.send(messages::PacketRingDone{{output_, rings_.front().epoch}});
    reader_.reset();
    rings_.pop_front();
    return false;
  }

  void take(const PacketView& packet, std::uint64_t number) {
    if (number < expected_) return reader_->release_through(std::min(number, safe()));  // its predecessor had it
    if (number > expected_)
      child_.machine().world().fail(fmt::format("{}: packet {} comes where {} was expected", name_, number, expected_));
    expected_ = number + 1;
    if (!records_) {
      store_unrecorded(block_.record, number, 1);
      return reader_->release_through(number);
    }
    if (!progress_.open) begin_file();
    ++waiting_;
    newest_ = number;
    newest_dts_ = packet.dts;
    if (waiting_ >= packets_a_fragment || reader_->fill() > 0.5) commit();
  }

  [[nodiscard]] std::uint64_t safe() const { return records_ ? progress_.number : expected_ - 1; }

  void begin_file() {
    progress_.open = true;
    progress_.ended = FileEnd::none;
    RecordFile file;
    file.path = fmt::format("{}-{}.mp4", name_, now_ns());
    file.stream = rings_.front().stream;
    file.start_utc = utc_now_ns();
    store_record_file(block_.record, file, progress_);
    child_.machine().on_file(child_, file.path);
    child_.send(messages::FileBegun{output_, file.path});
  }

  void commit() {
    if (waiting_ == 0) return;
    progress_.number = newest_;
    progress_.recorded += waiting_;
    progress_.position.packets += waiting_;
    progress_.position.last_dts = newest_dts_;
    waiting_ = 0;
    store_record_progress(block_.record, progress_);
    if (reader_) reader_->release_through(progress_.number);
  }

  void end() {
    commit();
    if (progress_.open) {
      progress_.open = false;
      progress_.ended = FileEnd::stopped;
      store_record_progress(block_.record, progress_);
    }
    done_ = true;
    block_.thread.beat.store(0);
    child_.send(messages::OutputDone{{output_}});
  }

  Child& child_;
  OutputId output_;
  PublishBlock& block_;
  std::string name_;
  bool records_;
  std::deque<Ring> rings_;
  std::optional<PacketRingReader> reader_;  // of the first of them
  RecordProgress progress_;
  std::uint64_t expected_ = 1;  // number of the next packet
  std::uint64_t newest_ = 0;
  std::int64_t newest_dts_ = 0;
  std::uint64_t waiting_ = 0;  // packets of the fragment that is not in the file yet
  bool finishes_ = false;
  bool abandoned_ = false;
  bool done_ = false;
};

class PublisherRole final : public Role {
 public:
  explicit PublisherRole(Child& child) : child_(child) {}

  void on_message(Message& message) override {
    dispatch(messages::ToPublisher(), message, [this](auto&... read) { on(read...); });
  }

  bool tick() override {
    const bool all_done = std::ranges::all_of(outputs_, [](const auto& output) { return output.second.is_done(); });
    return started_ && over_ && all_done && child_.arrive_at_end();
  }

  void work() override {
    for (auto& [id, output] : outputs_) output.step();
  }

  std::string note_fault(std::uint32_t signal, std::uint64_t which) override {
    if (outputs_.empty()) return "";
    const auto& [id, output] = pick(outputs_, which);
    child_.page().publish(id).thread.fault.store(signal);
    return output.name();
  }

  void lie(std::uint64_t which) override {
    if (outputs_.empty() || outputs_.begin()->second.is_done()) return;
    const OutputId output = outputs_.begin()->first;
    child_.machine().checks().on_lie();
    if (which == 0) return child_.send(messages::OutputDone{{OutputId(3'999'999)}});
    if (which == 1) return child_.send(messages::PushChanged{output, "rtmp://192.0.2.9/live", "runs", "", ""});
    if (which == 2) return child_.send(messages::FileBegun::type, {{"output", "gate"}, {"path", 4}}, {});
    if (which == 3) return child_.send("packet_ring", nlohmann::json::object(), {});
    if (which == 4) return child_.send("node_done", {{"node", 0}}, {});
    child_.send(messages::RecordPaused{{OutputId(3'999'999), "the disk is full"}});
  }

 private:
  Publishing* find(OutputId id) {
    const auto found = outputs_.find(id);
    return found == outputs_.end() ? nullptr : &found->second;
  }

  void on(const messages::Start& start) {
    if (start.phase == 0) child_.page().process(child_.id()).arrive(0);
    started_ = true;
  }
  void on(const messages::PublishOutput& asked) {
    child_.machine().checks().uses().begin(asked.config.name, Part::publisher, child_.name());
    outputs_.erase(asked.output);
    outputs_.try_emplace(asked.output, child_, asked);
  }
  void on(const messages::PacketRing& ring, std::vector<UniqueFd>& fds) {
    if (Publishing* const output = find(ring.output))
      output->add(ring.epoch, PacketRingMemory::open(std::move(fds.at(0))), ring.stream);
  }
  void on(const messages::OutputOver& over) {
    if (Publishing* const output = find(over.output)) output->finish();
  }
  void on(const messages::ForgetOutput& of) { outputs_.erase(of.output); }
  void on(const messages::CloseFiles&) {
    for (auto& [id, output] : outputs_) output.abandon();
  }
  void on(const messages::Status& newest) { child_.machine().checks().on_status(newest.status); }
  void on(const messages::RigOver&) { over_ = true; }
  void on(const messages::Answer& answer) { child_.machine().mover().on_answer(child_.pid(), answer); }
  // Not of this rig.
  void on(const messages::DisabledCamera&) {}
  void on(const messages::AudioRing&, std::vector<UniqueFd>&) {}
  void on(const messages::Record&) {}
  void on(const messages::RecordUnder&) {}
  void on(const messages::ChangeServer&) {}
  void on(const messages::ShareLinks&) {}

  Child& child_;
  std::map<OutputId, Publishing> outputs_;
  bool started_ = false;
  bool over_ = false;
};

}  // namespace

std::unique_ptr<Role> make_publisher(Child& child) { return std::make_unique<PublisherRole>(child); }

}  // namespace campipe::sim
