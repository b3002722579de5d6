// The publisher, as app/publisher: its outputs (publishing.h), the requests that it passes on, and their answers.
#include <algorithm>
#include <map>
#include <utility>

#include "app/control/messages/answer.h"
#include "app/control/messages/from_publisher.h"
#include "app/control/messages/packet_rings.h"
#include "app/control/messages/run.h"
#include "app/control/messages/to_publisher.h"
#include "tests/sim/child.h"
#include "tests/sim/machine.h"
#include "tests/sim/page_rest.h"
#include "tests/sim/publishing.h"

namespace campipe::sim {
namespace {

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
    return output.camera();
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

  [[nodiscard]] std::set<std::string> cameras() const override { return cameras_of(outputs_, &Publishing::camera); }

  [[nodiscard]] bool leaves_rest() const override {
    return has_rest(
        outputs_, [this](OutputId id) -> auto& { return child_.page().publish(id); });
  }

 private:
  Publishing* find(OutputId id) { return find_in(outputs_, id); }

  void on(const messages::Start& start) {
    if (start.phase == 0) child_.page().process(child_.id()).arrive(0);
    started_ = true;
  }
  void on(const messages::PublishOutput& asked) {
    child_.machine().checks().uses().begin(asked.config.camera, Part::publisher, child_.name());
    child_.machine().owner().on_output(asked.config);
    outputs_.erase(asked.output);
    outputs_.try_emplace(asked.output, child_, asked);
  }
  void on(const messages::PacketRing& ring, std::vector<UniqueFd>& fds) {
    if (Publishing* const output = find(ring.output))
      output->add(ring.epoch, PacketRingMemory::open(std::move(fds.at(0))), ring.stream);
  }
  void on(const messages::AudioRing& ring, std::vector<UniqueFd>& fds) {
    if (Publishing* const output = find(ring.output))
      output->add_audio(ring.epoch, PacketRingMemory::open(std::move(fds.at(0))));
  }
  void on(const messages::OutputOver& over) {
    if (Publishing* const output = find(over.output)) output->finish();
  }
  void on(const messages::ForgetOutput& of) { outputs_.erase(of.output); }
  void on(const messages::CloseFiles&) {
    for (auto& [id, output] : outputs_) output.abandon();
  }
  void on(const messages::Status&) {}  // it is checked where it is sent
  void on(const messages::RigOver&) { over_ = true; }
  void on(const messages::Record& record) {
    if (Publishing* const output = find(record.output)) output->record(record.on);
  }
  void on(const messages::Answer& answer) {
    if (child_.machine().owner().has_asked(child_.pid(), answer.request))
      return child_.machine().owner().on_answered(child_.pid(), answer.request);
    child_.machine().mover().on_answer(child_.pid(), answer);
  }
  void on(const messages::RecordUnder& record) {
    if (Publishing* const output = find(record.output)) output->set_fence(record.fence);
  }
  // Not of this rig.
  void on(const messages::DisabledCamera&) {}
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
