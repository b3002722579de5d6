// A node whose work another node of the cluster does, in its relay: the two links, and what is under way over them.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "app/control/messages/links.h"
#include "app/control/messages/run_node.h"
#include "app/link/link_thread.h"
#include "app/remote/flight.h"
#include "core/clock.h"

namespace campipe {

struct EdgeWriterBlock;
class RigPage;

// Main thread, but for what Events say.
class RelayedNode {
 public:
  // Called on threads of links.
  struct Events {
    std::function<void(EdgeId edge, unsigned port)> on_listens;
    std::function<void(EdgeId edge, const FrameRingMemory& ring, std::uint64_t epoch, double frame_rate)> on_ring;
  };
  // `page` outlives it.
  RelayedNode(const messages::RunNode& asked, const RigPage& page, Events events);
  ~RelayedNode();

  [[nodiscard]] EdgeId input() const { return input_; }
  [[nodiscard]] EdgeId output() const { return output_.edge; }
  // How the other node is reached, or is now: another one than before is reached by another process.
  void send_by(const messages::SendLink& link, const std::optional<LinkKeys>& keys);
  void receive_by(const messages::ReceiveLink& link, const std::optional<LinkKeys>& keys);
  // A ring of the input.
  void add(const LinkedRing& ring);
  // No further one comes.
  void finish() { finishing_ = true; }
  void abandon() { abandoned_ = finishing_ = true; }
  // The output's ring is to be replaced.
  void renew();

  // To be called ten times a second. True: all is done.
  bool tick();

 private:
  void begin_sending();
  void begin_receiving();
  bool drain();

  EdgeId input_;
  messages::WrittenEdge output_;  // with the next ring's epoch and base
  DropPolicy policy_;
  unsigned queue_size_;
  const RigPage& page_;
  Events events_;
  EdgeWriterBlock& block_;
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
  std::size_t under_way_ = 0;  // at progress_
  Clock::time_point progress_;
};

}  // namespace campipe
