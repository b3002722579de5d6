// The master, as app/master: its cameras (tests/sim/decoding.h), and what the supervisor sends of them.
#include <algorithm>
#include <map>
#include <utility>

#include "app/control/messages/cameras.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/from_master.h"
#include "app/control/messages/run.h"
#include "app/control/messages/to_master.h"
#include "app/control/ring_descriptors.h"
#include "ipc/decode_blocks.h"
#include "ipc/packet_ring.h"
#include "tests/sim/child.h"
#include "tests/sim/decoding.h"
#include "tests/sim/machine.h"
#include "tests/sim/page_rest.h"
#include "tests/sim/rates.h"

namespace campipe::sim {
namespace {

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
    child_.machine().witness().on_decoder_crash(decoding.name());
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

  [[nodiscard]] bool decodes_on(const Device& gpu) const override {
    return std::ranges::any_of(cameras_, [&](const auto& camera) { return camera.second.gpu() == gpu; });
  }

  [[nodiscard]] std::set<std::string> cameras() const override { return cameras_of(cameras_, &Decoding::name); }

  [[nodiscard]] bool leaves_rest() const override {
    return has_rest(
        cameras_, [this](CameraId camera) -> auto& { return child_.page().decode(camera, child_.id()); });
  }

 private:
  Decoding* find(CameraId camera) { return find_in(cameras_, camera); }

  void on(const messages::DecodeCamera& asked) {
    child_.machine().checks().uses().begin(asked.config.name, Part::master, child_.name());
    child_.machine().witness().on_decoding(child_.name(), asked.config.name);
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
  void on(const messages::LeaveCamera& of) {
    if (Decoding* const camera = find(of.camera)) camera->leave();
  }
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
