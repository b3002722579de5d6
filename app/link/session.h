// What the two ends of a link have in common: one connection after another to a peer that may be away, stopped, of
// another version, or no link at all.
//
// An end that connects says hello and waits for the peer's; one that listens answers the first peer whose hello is
// right. From then on that peer is heard alone. It beats every 200 ms, and so does this end; one that is silent for
// long, or says what cannot be, is cut off by force. Then all begins anew after a pause, which grows with each failure
// and has jitter, for ever.
//
// Used by one thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "app/link/message.h"
#include "app/link/wire.h"
#include "core/clock.h"

namespace campipe {

// How long a wait for the peer, or for a ring, lasts at most.
inline constexpr auto link_slice = std::chrono::milliseconds(50);

struct LinkTiming {
  std::chrono::milliseconds beat{200};
  // Without a word of the peer, until it is cut off; with the time to notice it that is within a second.
  std::chrono::milliseconds silence{900};
  // Before the next attempt: doubles from the one to the other.
  std::chrono::milliseconds shortest_pause{50};
  std::chrono::milliseconds longest_pause{2000};
};

class LinkSession {
 public:
  // What an end adds. Called by poll() and send() only.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual link::Hello hello() = 0;
    virtual link::Message beat() = 0;
    // Where the body of that frame goes; empty: it cannot be, and the peer is cut off.
    virtual std::span<std::uint8_t> place(const link::Frame& frame) = 0;
  };

  // opened: the peer is there, and has said hello(). message: see message(). lost: there is no peer any more.
  enum class Event : std::uint8_t { none, opened, message, lost };

  // `name`: of what is linked, and for the log.
  LinkSession(std::unique_ptr<LinkWire> wire, std::string name, LinkTiming timing, Owner& owner,
              std::atomic<std::uint64_t>& refused);
  ~LinkSession();
  LinkSession(const LinkSession&) = delete;
  LinkSession& operator=(const LinkSession&) = delete;

  // Does what is due, and waits until `deadline` for what comes.
  Event poll(Deadline deadline);
  // The peer says what cannot be, or does not take what it has to: it is cut off. poll() does not return `lost` then.
  void cut_off(const std::string& reason);
  // The peer's last words are said: no further connection. What was sent before has `linger` to leave.
  void end(std::chrono::milliseconds linger);
  // While the owner does not poll: beats, and takes the peer's silence for its own fault.
  void keep_up();

  // False: it was not sent. To the peer that is there.
  bool send(const link::Message& message, LinkWire::Body body = {});

  [[nodiscard]] bool is_open() const { return state_ == State::open; }
  [[nodiscard]] const link::Hello& hello() const { return hello_; }
  // Valid until the next poll().
  [[nodiscard]] const link::Message& message() const { return *message_; }
  [[nodiscard]] std::string address() const { return wire_->address(); }

 private:
  // away: the next attempt is due at due_. greeting: the peer's hello is awaited. over: end() was called.
  enum class State : std::uint8_t { away, greeting, open, over };

  class Placer final : public LinkWire::Inbox {
   public:
    explicit Placer(LinkSession& session) : session_(session) {}
    std::span<std::uint8_t> place(LinkWire::Peer peer, LinkWire::Bytes head, std::size_t bytes) override;

   private:
    LinkSession& session_;
  };

  void begin();
  void go_away();
  void beat_if_due();
  Event hear(const LinkWire::Arrival& arrival);
  Event greet(LinkWire::Peer peer, const link::Message& message);
  Event lose(const std::string& reason);
  Event refuse(const std::string& reason);
  void close(const std::string& reason);
  void answer(LinkWire::Peer peer, link::Bye::Reason reason);
  void log_once(const std::string& text);
  bool send_to(LinkWire::Peer peer, const link::Message& message, LinkWire::Body body = {});

  std::unique_ptr<LinkWire> wire_;
  std::string name_;
  LinkTiming timing_;
  Owner& owner_;
  Placer placer_{*this};
  State state_ = State::away;
  LinkWire::Peer peer_ = 0;
  Deadline due_{};       // away
  Deadline heard_{};     // greeting: since when; open: the peer, last
  Deadline beat_due_{};  // open
  std::chrono::milliseconds pause_;
  std::minstd_rand random_{std::random_device{}()};
  link::Hello hello_;
  std::optional<link::Message> message_;
  std::vector<std::uint8_t> head_;       // kept, so that nothing is allocated for each
  std::atomic<std::uint64_t>& refused_;  // LinkCounts::refused
  std::string logged_;                   // the newest trouble: it is logged once
};

}  // namespace campipe
