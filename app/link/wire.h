// What carries the messages of a link: one class for each transport. It knows nothing of frames; a message is a head of
// a few hundred bytes and, for some, a body of some megabytes.
//
// One end connects and the other one listens; whichever of them sends frames. An end that listens may hear several
// peers, of which strangers are some: who uses the wire decides by their heads whom to answer.
//
// Contract: used by one thread. No call waits but receive(), up to its deadline. Messages of one peer arrive whole, in
// their order, until one is lost with all behind it. That a peer is gone transports notice late or never
// (docs/decisions/0020): who uses the wire must find it himself. A failure that another open() may mend is an Error of
// open().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/clock.h"

namespace campipe {

class LinkWire {
 public:
  using Peer = std::uint64_t;
  using Bytes = std::span<const std::uint8_t>;

  // Of a message that is sent. `owner` is kept until the transport is done with the bytes, whatever becomes of them,
  // and is then dropped by any thread.
  struct Body {
    Bytes bytes;
    std::shared_ptr<const void> owner;
  };

  struct Arrival {
    Peer peer = 0;
    Bytes head;            // valid until the next call; empty: what came is no message
    std::size_t body = 0;  // bytes of it
    bool placed = false;   // which lie where place() said
    bool gone = false;     // no message: the peer is gone, as far as the transport has noticed
  };

  // Says where the body of a message goes that is about to arrive.
  class Inbox {
   public:
    virtual ~Inbox() = default;
    // Memory of `bytes` bytes, which stays until the message has arrived or close(); empty: the body is not wanted.
    virtual std::span<std::uint8_t> place(Peer peer, Bytes head, std::size_t bytes) = 0;
  };

  virtual ~LinkWire() = default;

  // It listens: peers come to it. Otherwise it has one peer, 0, from open() on.
  [[nodiscard]] virtual bool listens() const = 0;
  // Where it connects to, or listens at.
  [[nodiscard]] virtual std::string address() const = 0;

  // One that listens is open from the beginning; where it is, nothing happens. That the peer is there is not known when
  // it returns.
  virtual void open() = 0;
  // By force, and at once: what is under way is abandoned, and owners of bodies are dropped as soon as the transport
  // has let go. `linger`: what was sent before has so long to leave first; the call waits for it.
  virtual void close(std::chrono::milliseconds linger = std::chrono::milliseconds(0)) = 0;

  // False: the peer is gone, or does not take what it is sent. The body's owner is dropped, too.
  virtual bool send(Peer peer, Bytes head, Body body = {}) = 0;
  // The next message; nothing: none came until `deadline`.
  virtual std::optional<Arrival> receive(Deadline deadline, Inbox& inbox) = 0;
};

}  // namespace campipe
