// A node whose work another node of the cluster does (`placement: {filter: node-b/0}`), in the process of links: frames
// of the edge that it reads go there over a link, and what is made of them comes back over another link, into rings of
// the edge that it writes. What is under way is known here, so that each frame is counted.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "app/control/messages/links.h"
#include "app/control/messages/run_node.h"
#include "app/link/flight.h"
#include "app/link/link_thread.h"
#include "core/clock.h"

namespace campipe {

struct EdgeWriterBlock;
struct LinkBlock;
class RigPage;

// Main thread, but for what Events say.
class RemoteNode {
 public:
  // Called on threads of links.
  struct Events {
    std::function<void(EdgeId edge, unsigned port)> on_listens;
    std::function<void(EdgeId edge, const FrameRingMemory& ring, std::uint64_t epoch, double frame_rate)> on_ring;
  };
  // `page` outlives it.
  RemoteNode(const messages::RunNode& asked, const RigPage& page, Events events);
  ~RemoteNode();

  [[nodiscard]] EdgeId output() const { return output_.edge; }
  // How the other node is reached; again where that has changed. `keys`: none: no encryption.
  void send_by(const messages::SendLink& link, const std::optional<LinkKeys>& keys);
  void receive_by(const messages::ReceiveLink& link, const std::optional<LinkKeys>& keys);
  // A ring of the edge that it reads.
  void add(const LinkedRing& ring);
  // No further one comes.
  void finish() { finishing_ = true; }
  void abandon() { abandoned_ = finishing_ = true; }
  // The output's ring is to be replaced.
  void renew() { renews_ = receiving_ != nullptr; }

  // To be called ten times a second, until it is done.
  void tick();
  [[nodiscard]] bool is_done() const { return is_done_; }

 private:
  void begin_sending();
  void begin_receiving();
  bool drain();

  messages::WrittenEdge output_;  // with the next ring's epoch and base
  DropPolicy policy_;
  unsigned queue_size_;
  Events events_;
  EdgeWriterBlock& block_;
  LinkBlock& counts_;
  Flight flight_;
  std::optional<messages::SendLink> send_;        // none: not known yet,
  std::optional<messages::ReceiveLink> receive_;  // likewise
  std::optional<LinkKeys> send_keys_;
  std::optional<LinkKeys> receive_keys_;
  bool renews_ = false;
  std::unique_ptr<SendingThread> sending_;
  std::unique_ptr<ReceivingThread> receiving_;
  std::optional<LinkedRing> unsent_;  // the newest, of which it is not known yet where to send it
  std::atomic<std::uint64_t> next_epoch_;
  bool finishing_ = false;
  bool abandoned_ = false;
  bool sent_all_ = false;
  bool is_done_ = false;
  std::size_t under_way_ = 0;  // at progress_
  Clock::time_point progress_;
};

}  // namespace campipe
