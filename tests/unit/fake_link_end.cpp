#include "tests/unit/fake_link_end.h"

#include <utility>

#include "tests/unit/link_test_support.h"

namespace campipe::test {

FakeLinkEnd::FakeLinkEnd(std::unique_ptr<LinkWire> wire) : body_(picture_bytes), wire_(std::move(wire)) {
  wire_->open();
}

void FakeLinkEnd::send(const link::Message& message, const Bytes& body) {
  Bytes head;
  link::encode(message, head);
  send_bytes(head, body);
}

void FakeLinkEnd::send_bytes(const Bytes& head, const Bytes& body) {
  const auto kept = std::make_shared<Bytes>(body);
  wire_->send(peer_, head, {*kept, kept});
}

std::optional<link::Message> FakeLinkEnd::receive(milliseconds patience) {
  const auto arrival = wire_->receive(after(patience), *this);
  auto message = arrival ? link::decode(arrival->head) : std::nullopt;
  if (message && std::holds_alternative<link::Hello>(*message)) peer_ = arrival->peer;
  return message;
}

std::span<std::uint8_t> FakeLinkEnd::place(LinkWire::Peer /*peer*/, LinkWire::Bytes /*head*/, std::size_t bytes) {
  return bytes <= body_.size() ? std::span(body_).first(bytes) : std::span<std::uint8_t>();
}

std::unique_ptr<FakeLinkEnd> fake_link_end(const std::string& address, link::End as) {
  milliseconds patience(100);
  for (const Deadline deadline = after(seconds(50)); Clock::now() < deadline; patience *= 2) {
    auto end = std::make_unique<FakeLinkEnd>(connecting_wire(address));
    end->send(link::Hello{.end = as, .name = link_name});
    if (end->receive_a<link::Hello>(patience)) return end;
  }
  return nullptr;
}

}  // namespace campipe::test
