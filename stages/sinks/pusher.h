// Sends one camera's packets, and its audio, to one push target (RTSP, SRT, RTMP, UDP), on a thread of its own. A
// target that is dead, slow or gone costs its own viewers frames, and no one else anything.
//
// It connects when there is something to send, and again for ever after a failure, with waits that grow. What it cannot
// send within some seconds is dropped in whole GOPs, and counted: every packet that was offered
// is sent, dropped, or still waiting.
//
// Where it has a permit, nothing is sent without: a connection is cut off within 200 ms, without a farewell, and what
// is offered is dropped; with a permit it begins anew.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/packet.h"
#include "stages/sinks/push_permit.h"
#include "stages/sinks/push_url.h"

namespace campipe {

enum class PushState : std::uint8_t { connected, failed };
const char* name_of(PushState state);

struct PushReport {
  PushState state;
  std::string reason;  // of a failure; names no secrets, but may name the target's address
  std::string cause;   // the kind of failure, for those who may not see the address
};

struct PushCounts {
  std::uint64_t sent = 0;
  std::uint64_t dropped = 0;
  std::uint64_t connects = 0;
};

struct PushPatience {
  std::chrono::nanoseconds call = std::chrono::seconds(10);  // for connecting, and for each packet
  std::chrono::nanoseconds first_wait = std::chrono::seconds(1);
  std::chrono::nanoseconds longest_wait = std::chrono::seconds(30);
  std::chrono::nanoseconds farewell = std::chrono::milliseconds(500);  // for what waits when the stream ends
};

class Pusher {
 public:
  // On the pusher's thread, for each change: connected, or why not (or not any more).
  using StateHandler = std::function<void(const PushReport& report)>;

  // Throws Error where check_push() complains. Connects later. What the permit points to outlives it.
  Pusher(const PushUrl& url, StateHandler on_state, const PushPatience& patience = {}, const PushPermit& permit = {});
  // finish(), and waits for it: at most a second.
  ~Pusher();
  Pusher(const Pusher&) = delete;
  Pusher& operator=(const Pusher&) = delete;

  // The URL for people: without user, password, stream key, stream id and what came from variables.
  [[nodiscard]] const std::string& name() const;
  // Take a copy; never wait for the target. One thread calls them.
  // `audio`: what comes beside it, with its headers; nothing, where none does or the target cannot carry it. A packet
  // of other streams than the last one's makes it connect anew.
  void offer(const PacketView& packet, const StreamParameters& stream,
             const std::optional<AudioParameters>& audio = {}) noexcept;
  // Of the audio that the last packet was offered with.
  void offer_audio(const PacketView& packet) noexcept;
  // Nothing more will be offered. Returns at once; what waits is sent if it can be soon. Any thread.
  void finish();
  // After finish(): until what can be sent is sent.
  void wait();
  // Any thread.
  [[nodiscard]] PushCounts counts() const;

 private:
  class Sender;
  std::unique_ptr<Sender> sender_;
};

// Such audio can be pushed there. Throws Error where check_push() complains.
bool can_push_audio(const PushUrl& url, const AudioParameters& audio);

// What Pusher::name() would be. Throws Error where check_push() complains.
std::string push_name(const PushUrl& url);

// What is wrong with a target as it is written, before anything is opened, or nothing.
std::optional<std::string> check_push(const PushUrl& url);

}  // namespace campipe
