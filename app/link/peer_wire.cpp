#include "app/link/peer_wire.h"

#include <fmt/format.h>

#include "app/link/ucx_wire.h"
#include "core/error.h"

namespace campipe {
namespace {

class PeerWire final : public LinkWire {
 public:
  explicit PeerWire(std::shared_ptr<const SharedPeer> peer) : peer_(std::move(peer)) {}

  [[nodiscard]] bool listens() const override { return false; }
  [[nodiscard]] std::string address() const override { return wire_ ? wire_->address() : peer_->get().address; }

  void open() override {
    PeerPlace place = peer_->get();
    if (!wire_ || place != place_) {
      wire_.reset();
      wire_ = make_wire(place, false);
      place_ = std::move(place);
    }
    wire_->open();
  }
  void close(std::chrono::milliseconds linger) override {
    if (wire_) wire_->close(linger);
  }
  bool send(Peer peer, Bytes head, Body body) override { return wire_ && wire_->send(peer, head, std::move(body)); }
  std::optional<Arrival> receive(Deadline deadline, Inbox& inbox) override {
    if (!wire_) return std::nullopt;
    if (peer_->is(place_)) return wire_->receive(deadline, inbox);
    Arrival arrival;  // else its answer is awaited where nobody is any more
    arrival.gone = true;
    return arrival;
  }

 private:
  const std::shared_ptr<const SharedPeer> peer_;
  std::unique_ptr<LinkWire> wire_;
  PeerPlace place_;  // of wire_
};

}  // namespace

std::unique_ptr<LinkWire> make_wire(const PeerPlace& place, bool listens) {
  if (place.transport == LinkTransport::zeromq)
    return make_zeromq_wire({.address = place.address, .listens = listens, .keys = place.keys});
  if (place.keys) throw Error("UCX does not encrypt: use ZeroMQ, or turn off encryption at both ends");
  return make_ucx_wire({.address = place.address, .listens = listens});
}

std::unique_ptr<LinkWire> make_listening_wire(const std::string& host, unsigned first, unsigned last,
                                              LinkTransport transport, const std::optional<LinkKeys>& keys) {
  for (unsigned port = first;; ++port) {
    try {
      return make_wire({host + ":" + std::to_string(port), transport, keys}, true);
    } catch (const Error& error) {
      if (port < last) continue;  // the next one may be free
      if (first == last) throw;
      throw Error(
          fmt::format("none of the ports {}-{} can be listened at: {}; name more of them in `cluster.links.ports`",
                      first, last, error.what()));
    }
  }
}

std::unique_ptr<LinkWire> make_peer_wire(std::shared_ptr<const SharedPeer> peer) {
  return std::make_unique<PeerWire>(std::move(peer));
}

}  // namespace campipe
