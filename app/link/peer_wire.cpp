#include "app/link/peer_wire.h"

namespace campipe {
namespace {

class PeerWire final : public LinkWire {
 public:
  PeerWire(std::shared_ptr<const PeerAddress> peer, std::optional<LinkKeys> keys)
      : peer_(std::move(peer)), keys_(keys) {}

  [[nodiscard]] bool listens() const override { return false; }
  [[nodiscard]] std::string address() const override { return peer_->get(); }

  void open() override {
    const std::string address = peer_->get();
    if (!wire_ || address != address_) {
      wire_.reset();
      wire_ = make_zeromq_wire({.address = address, .keys = keys_});
      address_ = address;
    }
    wire_->open();
  }
  void close(std::chrono::milliseconds linger) override {
    if (wire_) wire_->close(linger);
  }
  bool send(Peer peer, Bytes head, Body body) override { return wire_ && wire_->send(peer, head, std::move(body)); }
  std::optional<Arrival> receive(Deadline deadline, Inbox& inbox) override {
    return wire_ ? wire_->receive(deadline, inbox) : std::nullopt;
  }

 private:
  const std::shared_ptr<const PeerAddress> peer_;
  const std::optional<LinkKeys> keys_;
  std::unique_ptr<LinkWire> wire_;
  std::string address_;  // of wire_
};

}  // namespace

std::unique_ptr<LinkWire> make_peer_wire(std::shared_ptr<const PeerAddress> peer, std::optional<LinkKeys> keys) {
  return std::make_unique<PeerWire>(std::move(peer), keys);
}

}  // namespace campipe
