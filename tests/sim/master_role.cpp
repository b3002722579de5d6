// The master, as app/master: decodes packets of the source's rings into frame rings. Packets since the last key frame
// stay in their ring for a successor, which decodes them again, and publishes what was not.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "app/control/messages/cameras.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/from_master.h"
#include "app/control/messages/run.h"
#include "app/control/messages/to_master.h"
#include "app/control/ring_descriptors.h"
#include "app/rings/demand.h"
#include "ipc/decode_blocks.h"
#include "ipc/drop_causes.h"
#include "ipc/drop_note.h"
#include "ipc/edge_blocks.h"
#include "ipc/packet_ring.h"
#include "ipc/ring_slots.h"
#include "tests/sim/child.h"
#include "tests/sim/machine.h"
#include "tests/sim/page_rest.h"
#include "tests/sim/rates.h"

namespace campipe::sim {
namespace {

constexpr auto start_deadline = seconds(30);    // for the other processes
constexpr auto worker_deadline = seconds(30);   // policy block: for a worker that takes nothing
constexpr auto worker_away = seconds(5);        // policy drop: for a worker that is restarted
constexpr auto time_to_hand_over = seconds(2);  // once it was stopped
constexpr auto longest_burst = seconds(10);
constexpr auto calm = seconds(5);  // in which the worker always had room
constexpr unsigned kept_by_decoder = 2;

class Decoding {
 public:
  Decoding(Child& child, const messages::DecodeCamera& asked)
      : child_(child),
        name_(asked.config.name),
        camera_(asked.camera),
        edge_(asked.edge),
        block_(child.page().decode(asked.camera, child.id())),
        edge_block_(child.page().edge_writer(asked.edge, child.id())),
        policy_(asked.config.drop_policy),
        queue_(static_cast<unsigned>(asked.config.queue_size)),
        readers_(asked.readers),
        epoch_(asked.epoch),
        base_(asked.base),
        passed_(asked.resume_packet),
        shed_(asked.shed),
        decodes_(asked.decode),
        shown_(asked.shown),
        demand_(asked.on_demand, child.page()) {
    if (const auto note = settle_drop(edge_block_, base_)) dropped_last_ = note;
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] EdgeId edge() const { return edge_; }
  void add(std::uint64_t epoch, std::shared_ptr<PacketRingMemory> memory) {
    feeds_.push_back({epoch, std::move(memory)});
  }
  void finish() { finishes_ = true; }
  void stop() {
    if (!stopped_at_) stopped_at_ = Clock::now();
  }
  void renew() { renew_ = true; }
  void shed(ShedStep step) { shed_ = step; }
  void show(bool shown) { shown_ = shown; }

  void step() {
    if (ring_) ring_->service();
    if (over_) return;
    block_.thread.beat.store(now_ns());
    for (unsigned i = 0; i < packets_a_step; ++i) {
      if (has_given_up()) return end("");
      if (!pending_ && !next_packet()) {
        if (!reader_ && feeds_.empty() && finishes_) return end("");
        return;
      }
      if (!take()) return;
    }
  }

 private:
  static constexpr unsigned packets_a_step = 64;

  struct Feed {
    std::uint64_t epoch = 0;
    std::shared_ptr<PacketRingMemory> memory;
  };
  struct Pending {
    std::int64_t number = 0;  // of the camera's packets
    std::uint64_t in_ring = 0;
    bool key = false;
    FrameTimes times;
    Clock::time_point since = Clock::now();
  };

  [[nodiscard]] bool has_given_up() const { return stopped_at_ && Clock::now() > *stopped_at_ + time_to_hand_over; }

  // False: there is none now.
  bool next_packet() {
    if (!reader_) {
      if (feeds_.empty()) return false;
      reader_.emplace(feeds_.front().memory, PacketRingReader::WhenFull::reports);
      newest_key_ = 0;
    }
    PacketView packet;
    std::uint64_t number = 0;
    switch (reader_->next(packet, number, Clock::now())) {
      case PacketRingReader::Next::packet:
        pending_ = Pending{packet.dts, number, packet.key, packet.times};
        return true;
      case PacketRingReader::Next::timeout:
        return false;
      case PacketRingReader::Next::broken:
        accuse(block_.accusation, Accused::other_end);
        break;
      default:
        break;
    }
    child_.send(messages::SourceRingDone{camera_, feeds_.front().epoch});
    reader_.reset();
    feeds_.pop_front();
    return false;
  }

  // False: something has to come first.
  bool take() {
    if (pending_->key && newest_key_ > 0) reader_->release_through(newest_key_ - 1);
    if (pending_->key) newest_key_ = pending_->in_ring;
    if (!has_begun()) return false;
    if (!decodes_ && !is_wanted()) return leave_out();
    if (pending_->key && std::exchange(renew_, false)) close_ring();
    if (!ring_) open_ring();
    if (!was_passed(pending_->number)) {
      if (is_left_out()) {
        count_drop(edge_block_, DropCause::shed, static_cast<std::uint64_t>(pending_->number), base_ + published_);
      } else {
        if (!may_publish()) return false;
        publish();
      }
      ++frames_;
    }
    reader_->set_taken(pending_->in_ring);
    pending_.reset();
    return true;
  }

  // Only while somebody watches; from a key frame on that comes when the worker is there.
  bool is_wanted() {
    if (!shown_ && !demand_.is_there()) {
      close_ring();
      decoded_on_demand_ = false;
      return false;
    }
    if (!ring_) open_ring();
    decoded_on_demand_ = decoded_on_demand_ || (pending_->key && has_reader());
    return decoded_on_demand_;
  }

  // It is not decoded, and so not counted.
  bool leave_out() {
    reader_->set_taken(pending_->in_ring);
    pending_.reset();
    return true;
  }

  // To open a decoder takes time; then all wait for the others.
  bool has_begun() {
    if (begun_) return true;
    if (!opens_at_) opens_at_ = Clock::now() + child_.takes(milliseconds(5), milliseconds(200));
    if (Clock::now() < *opens_at_) return false;
    if (!decodes_) return begun_ = child_.page().barrier().over(0);
    if (!ring_) open_ring();
    const bool late = Clock::now() > *opens_at_ + start_deadline;
    begun_ = late || (child_.page().barrier().over(0) && has_reader());
    return begun_;
  }

  // For cameras of a higher priority. Where nothing was decoded, that begins with a key frame.
  bool is_left_out() {
    if (shed_ == ShedStep::off) {
      is_off_ = true;
    } else if (pending_->key) {
      is_off_ = false;
    }
    return is_off_ || frames_ % kept_one_of(shed_) != 0;
  }

  [[nodiscard]] bool was_passed(std::int64_t number) const {
    if (passed_ && number <= *passed_) return true;
    return dropped_last_ && !dropped_last_->is_before(static_cast<std::uint64_t>(number));
  }

  bool has_reader() {
    return ring_->wait_for_reader(Clock::now(), [] { return true; });
  }

  bool may_publish() {
    if (has_reader()) {
      had_reader_ = true;
      reader_away_since_.reset();
    } else if (policy_ == DropPolicy::drop) {
      if (!had_reader_) return true;
      if (!reader_away_since_) reader_away_since_ = Clock::now();
      return Clock::now() > *reader_away_since_ + worker_away;
    } else {
      return Clock::now() > pending_->since + worker_deadline;
    }
    if (policy_ == DropPolicy::drop) return !waits_out_burst();
    return has_room() || Clock::now() > pending_->since + worker_deadline;
  }

  bool has_room() {
    return ring_->wait_for_room(
        Clock::now(), [] { return true; }, FrameRingWriter::Readers::all);
  }

  // What was held up comes at once. For a time the worker may take that in, while newer packets wait in their ring; and
  // for as long again once it has kept up.
  bool waits_out_burst() {
    const auto now = Clock::now();
    if (!has_room()) {
      if (!waits_since_) waits_since_ = now;
      late_ = now;
      return now - *waits_since_ < burst_left_;
    }
    if (waits_since_) {
      burst_left_ = std::max<nanoseconds>(burst_left_ - (now - *waits_since_), nanoseconds(0));
      waits_since_.reset();
    } else if (now - late_ >= calm) {
      burst_left_ = longest_burst;
    }
    return false;
  }

  void publish() {
    const auto packet = static_cast<std::uint64_t>(pending_->number);
    const auto slot = ring_->claim();
    if (!slot) return count_drop(edge_block_, DropCause::queue_full, packet, base_ + published_);
    FrameRecord record;
    record.format = frame_format();
    record.stride = {width, width / 2, width / 2};
    record.offset = {0, width * height, width * height + width * height / 4};
    record.times = pending_->times;
    record.times.decoded = record.times.published = now_ns();
    record.source_number = base_ + published_ + 1;
    record.packet = pending_->number;
    if (ring_->publish(slot->index, record) == FrameRingWriter::Published::yes) {
      ++published_;
    } else {
      count_drop(edge_block_, DropCause::worker_lost, packet, base_ + published_);
    }
    ring_->unpin(slot->index);
  }

  void open_ring() {
    FrameRingSpec spec;
    spec.slots = ring_slots(kept_by_decoder, queue_, readers_);
    spec.slot_bytes = static_cast<std::size_t>(width) * height * 3 / 2;
    spec.epoch = epoch_;
    spec.base = base_ + published_;
    spec.expected = frame_format();
    ring_ = std::make_unique<FrameRingWriter>(FrameRingMemory::create(spec));
    ring_->on_faulty_reader([this] { accuse(edge_block_.accusation, Accused::other_end); });
    child_.machine().on_ring(child_, name_, "frames", epoch_);
    child_.send(messages::FrameRing{edge_, epoch_++, frame_rate, 0, "h264 (cpu)", MemoryKind::host},
                descriptors_of(ring_->memory()));
  }

  void close_ring() {
    if (!ring_) return;
    ring_->close();
    old_rings_.push_back(std::move(ring_));
  }

  void end(const std::string& failure) {
    if (ring_) ring_->close();
    over_ = true;
    block_.thread.beat.store(0);
    child_.send(messages::DecodingOver{camera_, failure});
  }

  Child& child_;
  std::string name_;
  CameraId camera_;
  EdgeId edge_;
  DecodeBlock& block_;
  EdgeWriterBlock& edge_block_;
  DropPolicy policy_;
  unsigned queue_;
  unsigned readers_;
  std::uint64_t epoch_;
  std::uint64_t base_;
  std::optional<std::int64_t> passed_;    // packets whose frames a master before has published
  std::optional<DropNote> dropped_last_;  // likewise, or dropped
  ShedStep shed_;
  bool is_off_ = false;
  std::uint64_t frames_ = 0;
  bool decodes_;  // always; else on demand,
  bool shown_;    // or for a mosaic
  Demand demand_;
  bool decoded_on_demand_ = false;  // just now
  std::deque<Feed> feeds_;
  std::optional<PacketRingReader> reader_;  // of the first of them
  std::uint64_t newest_key_ = 0;
  std::optional<Pending> pending_;
  std::unique_ptr<FrameRingWriter> ring_;
  std::deque<std::unique_ptr<FrameRingWriter>> old_rings_;
  std::uint64_t published_ = 0;
  std::optional<Clock::time_point> opens_at_;
  std::optional<Clock::time_point> stopped_at_;
  std::optional<Clock::time_point> reader_away_since_;
  nanoseconds burst_left_ = longest_burst;
  std::optional<Clock::time_point> waits_since_;
  Clock::time_point late_{};
  bool had_reader_ = false;
  bool begun_ = false;
  bool finishes_ = false;
  bool renew_ = false;
  bool over_ = false;
};

class MasterRole final : public Role {
 public:
  explicit MasterRole(Child& child) : child_(child) {}

  void on_message(Message& message) override {
    dispatch(messages::ToMaster(), message, [this](auto&... read) { on(read...); });
  }

  bool tick() override { return leaves_; }

  void work() override {
    for (auto& [camera, decoding] : cameras_) decoding.step();
  }

  std::string note_fault(std::uint32_t signal, std::uint64_t which) override {
    if (cameras_.empty()) return "";
    const auto& [camera, decoding] = pick(cameras_, which);
    child_.page().decode(camera, child_.id()).thread.fault.store(signal);
    return decoding.name();
  }

  void lie(std::uint64_t which) override {
    if (cameras_.empty()) return;
    const auto& [camera, decoding] = *cameras_.begin();
    child_.machine().checks().on_lie();
    if (which == 0) return child_.send(messages::DecodingOver{camera, ""});
    if (which == 1) return child_.send(messages::DecodingLeft{{camera}});
    if (which == 2)
      return child_.send(messages::FrameRing{decoding.edge(), 1'000, frame_rate, 0, "", MemoryKind::host},
                         {child_.page().shared_fd()});
    if (which == 3)
      return child_.send(messages::FrameRing{decoding.edge(), 1, 1e9, 0, "", MemoryKind::host},
                         {child_.page().shared_fd()});
    if (which == 4) return child_.send(messages::DecodingState{CameraId(3'999'999), true, ""});
    child_.send("nonsense", nlohmann::json::array(), {});
  }

  [[nodiscard]] std::set<std::string> cameras() const override {
    std::set<std::string> names;
    for (const auto& [camera, decoding] : cameras_) names.insert(decoding.name());
    return names;
  }

  [[nodiscard]] bool leaves_rest() const override {
    for (const CameraId camera : first_ids<CameraId>()) {
      if (!cameras_.contains(camera) && !is_clear(child_.page().decode(camera, child_.id()))) return true;
    }
    return false;
  }

 private:
  Decoding* find(CameraId camera) {
    const auto found = cameras_.find(camera);
    return found == cameras_.end() ? nullptr : &found->second;
  }

  void on(const messages::DecodeCamera& asked) {
    child_.machine().checks().uses().begin(asked.config.name, Part::master, child_.name());
    cameras_.erase(asked.camera);
    cameras_.try_emplace(asked.camera, child_, asked);
  }
  void on(const messages::SourceRing& ring, std::vector<UniqueFd>& fds) {
    if (Decoding* const camera = find(ring.camera))
      camera->add(ring.epoch, PacketRingMemory::open(std::move(fds.at(0))));
  }
  void on(const messages::SourceRingsOver& of) {
    if (Decoding* const camera = find(of.camera)) camera->finish();
  }
  void on(const messages::ShowCamera& show) {
    if (Decoding* const camera = find(show.camera)) camera->show(show.shown);
  }
  void on(const messages::ShedCamera& of) {
    if (Decoding* const camera = find(of.camera)) camera->shed(of.step);
  }
  void on(const messages::LeaveCamera&) {}
  void on(const messages::StopCamera& of) {
    if (Decoding* const camera = find(of.camera)) camera->stop();
  }
  void on(const messages::RenewRing& of) {
    for (auto& [camera, decoding] : cameras_) {
      if (decoding.edge() == of.edge) decoding.renew();
    }
  }
  void on(const messages::ForgetCamera& of) {
    if (const Decoding* const camera = find(of.camera))
      child_.machine().checks().uses().end(camera->name(), Part::master, child_.name());
    cameras_.erase(of.camera);
  }
  void on(const messages::Drain&) {
    for (auto& [camera, decoding] : cameras_) decoding.stop();
  }
  void on(const messages::Leave&) { leaves_ = true; }

  Child& child_;
  std::map<CameraId, Decoding> cameras_;
  bool leaves_ = false;
};

}  // namespace

std::unique_ptr<Role> make_master(Child& child) { return std::make_unique<MasterRole>(child); }

}  // namespace campipe::sim
