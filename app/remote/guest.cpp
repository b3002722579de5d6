#include "app/remote/guest.h"

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "app/control/child.h"
#include "app/control/messages/edges.h"
#include "app/control/messages/links.h"
#include "app/control/messages/nodes.h"
#include "app/control/messages/remote.h"
#include "app/control/messages/run.h"
#include "app/control/messages/run_node.h"
#include "app/control/messages/setup.h"
#include "app/link/transports.h"
#include "app/remote/guest_node.h"
#include "app/rings/retired_rings.h"
#include "app/worker/worker_gpu.h"
#include "core/error.h"
#include "core/log.h"

namespace campipe {
namespace {

class Guest {
 public:
  int run() {
    return child_.run({[this](Message& message) { handle(message); }, [this] { leave(); }, [this] { return tick(); }});
  }

 private:
  void handle(Message& message) {
    dispatch(messages::ToGuest(), message, [this](const auto& read) { on(read); });
  }

  void on(const messages::LinkIdentity& identity) {
    keys_ = link_keys(identity);
    child_.send(usable_transports());
  }
  void on(const messages::Start& start) {
    if (start.phase == 0) child_.arrive(0);
    started_ = true;
  }
  void on(const messages::RunNode& asked);
  void on(const messages::ReceiveLink& link) {
    for (auto& [id, node] : nodes_) {
      if (node->input() == link.edge) return node->receive_by(link, keys_for(keys_, link));
    }
  }
  void on(const messages::SendLink& link) {
    for (auto& [id, node] : nodes_) {
      if (node->output() == link.edge) return node->send_by(link, keys_for(keys_, link));
    }
  }
  void on(const messages::ForgetNode& of) { nodes_.erase(of.node); }
  void on(const messages::RigOver&) { leave(); }

  void leave() {
    leaves_ = true;
    for (auto& [id, node] : nodes_) node->leave();
  }

  bool tick() {
    try {
      for (auto& [id, node] : nodes_) {
        node->tick();
        child_.beat();
      }
    } catch (const GpuError& error) {
      leave_lost_gpu(child_.setup(), error.what());
    }
    retired_.drop_old(Clock::now());
    if (!leaves_) return false;
    nodes_.clear();
    if (child_.abandoned() || !started_) return true;
    child_.arrive(1);
    return child_.page().barrier().wait(1, Clock::now() + beat_interval) == 0;
  }

  Child child_;
  Device gpu_ = take_gpu(child_.setup().gpu);
  LinkKeys keys_;
  RetiredRings retired_;
  std::map<NodeId, std::unique_ptr<GuestNode>> nodes_;
  bool started_ = false;
  bool leaves_ = false;
};

void Guest::on(const messages::RunNode& asked) {
  GuestNode::Events events;
  events.on_listens = [this](EdgeId edge, unsigned port) { child_.send(messages::LinkListens{edge, port}); };
  events.on_failed = [this](EdgeId edge, const std::string& reason) {
    child_.send(messages::EdgeFailed{edge, reason});
  };
  events.on_gpu_lost = [this](const std::string& reason) { leave_lost_gpu(child_.setup(), reason); };
  events.keep = [this](std::shared_ptr<FrameRingWriter> ring) { retired_.add(std::move(ring), Clock::now()); };
  events.wake = [this] { child_.wake(); };
  nodes_[asked.node] = std::make_unique<GuestNode>(asked, gpu_, child_.page(), std::move(events));
}

}  // namespace

int run_guest() { return Guest().run(); }

}  // namespace campipe
