#include "tests/unit/fake_link_end.h"

#include <utility>

#include "tests/unit/link_test_support.h"

namespace campipe::test {

FakeLinkEnd::FakeLinkEnd(std::unique_ptr<LinkWire> wire) : wire_(std::move(wire)) { wire_->open(); }

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
  body_.resize(bytes);
  return body_;
}

std::unique_ptr<FakeLinkEnd> fake_link_end(const std::string& address, link::End as) {
  for (const Deadline deadline = after(seconds(50)); Clock::now() < deadline;) {
    auto end = std::make_unique<FakeLinkEnd>(connecting_wire(address));
    end->send(link::Hello{.end = as, .name = link_name});
    if (end->receive_a<link::Hello>(milliseconds(100))) return end;
  }
  return nullptr;
}

}  // namespace campipe::test
