// A node that works for another node of the cluster, with the links that bring its frames and take them back.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "app/link/link_thread.h"
#include "app/worker/node.h"

namespace campipe {

namespace messages {
struct ReceiveLink;
struct RunNode;
struct SendLink;
}  // namespace messages
class RigPage;

// Main thread, but for what Events say.
class GuestNode {
 public:
  // Called on any thread.
  struct Events {
    std::function<void(EdgeId edge, unsigned port)> on_listens;
    std::function<void(EdgeId edge, const std::string& reason)> on_failed;
    std::function<void(const std::string& reason)> on_gpu_lost;
    std::function<void(std::shared_ptr<FrameRingWriter> ring)> keep;
    std::function<void()> wake;  // tick() has something to do
  };
  // `page` outlives it.
  GuestNode(const messages::RunNode& asked, const Device& gpu, const RigPage& page, Events events);
  ~GuestNode();

  [[nodiscard]] EdgeId input() const { return input_; }
  [[nodiscard]] EdgeId output() const { return output_; }
  void receive_by(const messages::ReceiveLink& link, const std::optional<LinkKeys>& keys);
  void send_by(const messages::SendLink& link, const std::optional<LinkKeys>& keys);
  // Its threads end soon.
  void leave();
  // To be called ten times a second, and after wake().
  void tick();

 private:
  struct Ring {
    std::shared_ptr<FrameRingMemory> memory;  // as an observer
    unsigned seat = 0;
    double frame_rate = 0;
    int rotation = 0;
  };
  static std::optional<Ring> take_seat(const FrameRingMemory& ring, double frame_rate, int rotation);
  void offer(const FrameRingMemory& ring, double frame_rate, int rotation);
  void send(const FrameRingMemory& ring, double frame_rate);
  [[nodiscard]] OutputEvents node_events();

  const Device gpu_;
  const RigPage& page_;
  const Events events_;
  const EdgeId input_;
  const EdgeId output_;
  const DropPolicy policy_;
  const unsigned queue_size_;
  std::mutex mutex_;                  // of the next three
  std::optional<Ring> offered_;       // the newest that came over the link, for the node
  std::optional<LinkedRing> unsent_;  // the node's newest, for which there is no link yet
  std::unique_ptr<SendingThread> sending_;
  std::unique_ptr<ReceivingThread> receiving_;
  std::unique_ptr<Node> node_;
};

}  // namespace campipe
