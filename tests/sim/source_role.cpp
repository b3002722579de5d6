// The source, as app/source: connects to the camera, reads its packets into a ring for the master, and reports when it
// goes away.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "app/control/messages/cameras.h"
#include "app/control/messages/from_source.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/messages/run.h"
#include "app/control/messages/to_source.h"
#include "ipc/drop_causes.h"
#include "ipc/packet_ring.h"
#include "ipc/source_blocks.h"
#include "tests/sim/child.h"
#include "tests/sim/copying.h"
#include "tests/sim/machine.h"
#include "tests/sim/page_rest.h"
#include "tests/sim/rates.h"

namespace campipe::sim {
namespace {

constexpr auto first_retry = milliseconds(500);
constexpr auto longest_retry = seconds(5);
constexpr auto camera_timeout = seconds(2);  // of a camera that sends nothing any more

// A camera that is read.
class Reading {
 public:
  Reading(Child& child, messages::ReadCamera asked)
      : child_(child),
        asked_(std::move(asked)),
        block_(child.page().source(asked_.camera)),
        epoch_(asked_.epoch),
        next_packet_(asked_.packet),
        copying_(child, asked_),
        decodes_(asked_.decode || asked_.on_demand || asked_.shown),
        pts_(std::max(asked_.resume.value_or(-1), copying_.resumes_at())) {
    pts_ = pts_ < 0 ? 0 : pts_ + frame_interval.count();
    connect_soon();
  }

  [[nodiscard]] const std::string& name() const { return asked_.config.name; }
  // Its thread has ended.
  [[nodiscard]] bool is_over() const { return over_; }
  void stop() { stops_ = true; }
  void show(bool shown) { decodes_ = asked_.decode || asked_.on_demand || shown; }
  void end_decoding(const std::vector<OutputId>& outputs) {
    decodes_ = false;
    if (ring_) close();
    copying_.keep(outputs);
  }

  void step() {
    if (over_) return;
    block_.thread.beat.store(now_ns());
    if (stops_) return end();
    if (refused_) return;
    if (!connected_) return try_to_connect();
    if (!child_.page().barrier().over(0)) {
      next_at_ = Clock::now();
      return;
    }
    if (!child_.machine().camera_is_there(name())) return miss();
    heard_ = Clock::now();
    for (unsigned i = 0; i < packets_a_step && Clock::now() >= next_at_; ++i) {
      if (!read()) return;
    }
  }

 private:
  static constexpr std::size_t ring_bytes = 256 << 10;
  static constexpr unsigned packets_a_step = 50;

  void connect_soon() {
    connects_at_ = Clock::now() + child_.takes(milliseconds(20), milliseconds(600));
    retry_ = std::min<nanoseconds>(2 * retry_, longest_retry);
  }

  void try_to_connect() {
    if (Clock::now() < connects_at_) return;
    if (!child_.machine().camera_is_there(name())) {
      report(false, "cannot be reached");
      connects_at_ = Clock::now() + retry_;
      retry_ = std::min<nanoseconds>(2 * retry_, longest_retry);
      return;
    }
    if (is_other_) size_ = other(size_);
    const FrameFormat sends = frame_format(size_);
    child_.send(messages::OpenedStream{asked_.camera, {"h264", sends.width, sends.height, frame_rate}});
    if (asked_.undecided && !is_as_expected()) return;
    connected_ = true;
    retry_ = first_retry;
    next_at_ = heard_ = Clock::now();
    await_key_ = true;
    if (ring_ && is_other_) close();
    copying_.begin(is_other_, sends);
    is_other_ = child_.chance().one_in(2);
  }

  // Else it passes nothing on, and waits to be stopped.
  bool is_as_expected() {
    const SentStream sends{child_.chance().one_in(3) ? "hevc" : "h264", "yuv420p"};
    child_.send(messages::FoundStream{asked_.camera, sends});
    refused_ = !fits(asked_.config, sends);
    return !refused_;
  }

  void report(bool delivers, const std::string& reason) {
    const std::pair state(delivers, reason);
    if (reported_ == state) return;
    reported_ = state;
    child_.send(messages::SourceState{asked_.camera, delivers, reason});
  }

  void miss() {
    next_at_ = Clock::now();
    if (Clock::now() - heard_ < camera_timeout) return;
    connected_ = false;
    report(false, "the source sends nothing");
    connects_at_ = Clock::now() + retry_;
  }

  void open() {
    child_.machine().on_ring(child_, name(), "packets", epoch_);
    ring_.emplace(PacketRingMemory::create(ring_bytes, epoch_, 0, "source ring"));
    ring_->on_faulty_reader([this] { accuse(block_.accusation, Accused::other_end); });
    const bool again = epoch_ == asked_.epoch && epoch_ > 1;
    child_.send(messages::SourceRing{asked_.camera, epoch_, next_packet_, again}, {ring_->memory().fd()});
    ++epoch_;
  }

  // False: it waits until the packet is passed on.
  bool read() {
    if (!arrival_) {
      arrival_ = now_ns();
      key_ = await_key_ || frames_ % group_of_pictures == 0;
      await_key_ = false;
      ++frames_;
    }
    const std::vector<std::uint8_t> data = packet_data(size_);
    PacketView packet = packet_at(pts_, *arrival_, key_, data);
    packet.times.capture_utc = to_ns(next_at_);
    report(true, "");
    if (!copying_.pass_video(packet)) return false;
    copying_.pass_sound(pts_);
    if (asked_.decode && !is_copy(asked_.config.encode)) child_.machine().witness().on_packet(name());
    if (decodes_) pass_to_master(packet);
    arrival_.reset();
    next_at_ += frame_interval;
    pts_ += frame_interval.count() + static_cast<std::int64_t>(child_.chance().below(3'000));
    return true;
  }

  void pass_to_master(PacketView packet) {
    if (!ring_) open();
    packet.dts = next_packet_++;
    if ((left_out_ && !packet.key) || !ring_->push(packet, Clock::now(), [] { return true; })) {
      left_out_ = true;
      counter(block_.unpublished, DropCause::decoder_slow).fetch_add(1);
      child_.machine().world().reached("packets that are not decoded in time");
    } else {
      left_out_ = false;
    }
  }

  void close() {
    ring_->close();
    ring_.reset();
  }

  void end() {
    if (ring_) close();
    copying_.close();
    over_ = true;
    block_.thread.beat.store(0);
    child_.send(messages::SourceOver{asked_.camera, "", false});
  }

  Child& child_;
  messages::ReadCamera asked_;
  SourceBlock& block_;
  std::uint64_t epoch_;
  std::int64_t next_packet_;
  Copying copying_;
  bool decodes_;
  std::int64_t pts_;
  std::optional<std::int64_t> arrival_;  // of the packet that is about to be passed on
  bool key_ = false;                     // likewise
  std::optional<PacketRingWriter> ring_;
  nanoseconds retry_ = first_retry;
  Clock::time_point connects_at_;
  Clock::time_point next_at_;
  Clock::time_point heard_;
  std::optional<std::pair<bool, std::string>> reported_;
  std::uint64_t frames_ = 0;
  bool is_other_ = false;  // the next connection sends another stream, of frames of another size
  FrameSize size_ = FrameSize::usual;
  bool connected_ = false;
  bool await_key_ = true;
  bool left_out_ = false;
  bool refused_ = false;
  bool stops_ = false;
  bool over_ = false;
};

class SourceRole final : public Role {
 public:
  explicit SourceRole(Child& child) : child_(child) {}

  void on_message(Message& message) override {
    dispatch(messages::ToSource(), message, [this](auto& read) { on(read); });
  }

  bool tick() override { return leaves_; }

  void work() override {
    for (auto& [camera, reading] : cameras_) reading.step();
  }

  std::string note_fault(std::uint32_t signal, std::uint64_t which) override {
    if (cameras_.empty()) return "";
    const auto& [camera, reading] = pick(cameras_, which);
    if (reading.is_over()) return "";
    child_.page().source(camera).thread.fault.store(signal);
    return reading.name();
  }

  void lie(std::uint64_t which) override {
    if (cameras_.empty()) return;
    const CameraId camera = cameras_.begin()->first;
    child_.machine().checks().on_lie();
    if (which == 0) return child_.send(messages::SourceOver{camera, "", true});
    if (which == 1) return child_.send(messages::SourceOver{CameraId(4'000'000), "it is gone", false});
    if (which == 2) return child_.send(messages::SourceRing{camera, 1'000, 0, false}, {child_.page().shared_fd()});
    if (which == 3) return child_.send(messages::SourceState::type, {{"camera", -1}}, {});
    if (which == 4) return child_.send("frame_ring", nlohmann::json::object(), {});
    child_.send(messages::OpenedStream{camera, {"h264", -4, 1, 0}});
  }

  [[nodiscard]] std::set<std::string> cameras() const override { return cameras_of(cameras_, &Reading::name); }

  [[nodiscard]] bool leaves_rest() const override {
    return has_rest(
        cameras_, [this](CameraId camera) -> auto& { return child_.page().source(camera); });
  }

 private:
  void on(messages::ReadCamera& asked) {
    const CameraId camera = asked.camera;
    child_.machine().owner().on_camera(asked.config);
    cameras_.erase(camera);
    cameras_.try_emplace(camera, child_, std::move(asked));
  }
  void on(const messages::ShowCamera& show) {
    if (Reading* const camera = find_in(cameras_, show.camera)) camera->show(show.shown);
  }
  void on(const messages::EndDecoding& end) {
    if (Reading* const camera = find_in(cameras_, end.camera)) camera->end_decoding(end.outputs);
  }
  void on(const messages::StopCamera& of) {
    if (Reading* const camera = find_in(cameras_, of.camera)) camera->stop();
  }
  void on(const messages::ForgetCamera& of) { cameras_.erase(of.camera); }
  void on(const messages::Drain&) {
    for (auto& [camera, reading] : cameras_) reading.stop();
  }
  void on(const messages::Leave&) { leaves_ = true; }

  Child& child_;
  std::map<CameraId, Reading> cameras_;
  bool leaves_ = false;
};

}  // namespace

std::unique_ptr<Role> make_source(Child& child) { return std::make_unique<SourceRole>(child); }

}  // namespace campipe::sim
