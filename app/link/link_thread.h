// An end of a link in the process of links, with its thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "app/control/messages/links.h"
#include "app/link/peer_wire.h"
#include "app/link/receiving_end.h"
#include "app/link/sending_end.h"
#include "ipc/link_counts.h"

namespace campipe {

enum class DropCause : std::uint8_t;

// Main thread, but for what run() does.
class LinkThread {
 public:
  virtual ~LinkThread() = default;
  LinkThread(const LinkThread&) = delete;
  LinkThread& operator=(const LinkThread&) = delete;

  // It ends soon: see is_over().
  virtual void leave() = 0;
  [[nodiscard]] bool is_over() const { return over_; }
  // To be called ten times a second: its thread has not beaten for ten seconds in which this one ran.
  [[nodiscard]] bool hangs();
  [[nodiscard]] const std::string& name() const { return name_; }

 protected:
  explicit LinkThread(std::string name) : name_(std::move(name)) {}
  // `work` has to call beat().
  void start(std::function<void()> work);
  void beat() { ++beats_; }
  void join();

 private:
  const std::string name_;
  std::atomic<std::uint64_t> beats_{0};
  std::atomic<bool> over_{false};
  std::uint64_t seen_beats_ = 0;
  unsigned silent_ticks_ = 0;
  std::jthread thread_;
};

// Where an end begins to count. `again`: what one before it has counted stays.
LinkCounts& begin_counts(LinkCounts& counts, bool again);

class SendingThread final : public LinkThread {
 public:
  // `rules`: who hears of its ring's frames; the rest follows from `link`.
  SendingThread(const messages::SendLink& link, std::optional<LinkKeys> keys, LinkCounts& counts,
                SendingEnd::Rules rules = {});
  ~SendingThread() override;
  void leave() override { end_->abandon(); }
  // No further ring comes: it ends when the frames of the last one have arrived.
  void finish() { end_->finish(); }
  void set_peer(PeerPlace peer) { peer_->set(std::move(peer)); }
  void add(const LinkedRing& ring) { end_->add(ring); }

 private:
  std::shared_ptr<SharedPeer> peer_;
  std::unique_ptr<SendingEnd> end_;
};

class ReceivingThread final : public LinkThread {
 public:
  // Called by its thread.
  struct Events {
    std::function<void(unsigned port)> on_listens;
    std::function<void(const FrameRingMemory& ring, std::uint64_t epoch, double frame_rate, int rotation)> on_ring;
    std::function<void()> on_faulty_reader;
    std::function<void(DropCause)> on_dropped = [](DropCause) {};
    std::function<bool(std::uint64_t source_number)> wanted = [](std::uint64_t) { return true; };  // see ReceivingEnd
  };
  ReceivingThread(messages::ReceiveLink link, std::optional<LinkKeys> keys, LinkCounts& counts, Events events);
  ~ReceivingThread() override;
  void leave() override { leaves_ = true; }
  // Once it is over: of the rings that a successor begins.
  [[nodiscard]] std::uint64_t base() const { return link_.base; }

 private:
  void run();
  void receive();
  std::unique_ptr<LinkWire> listen();
  std::string find_host();
  void pause();

  messages::ReceiveLink link_;          // with the next ring's epoch and base
  const std::optional<LinkKeys> keys_;  // none: no encryption
  LinkCounts& counts_;
  const Events events_;
  std::string problem_;  // the newest, which has been logged
  std::atomic<bool> leaves_{false};
};

}  // namespace campipe
