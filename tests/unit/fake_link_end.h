// An end of a link that is none of ours: says what the test has it say. Where it listens, to who has said hello last.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/link/message.h"
#include "app/link/wire.h"

namespace campipe::test {

class FakeLinkEnd final : private LinkWire::Inbox {
 public:
  using Bytes = std::vector<std::uint8_t>;

  explicit FakeLinkEnd(std::unique_ptr<LinkWire> wire);

  void send(const link::Message& message, const Bytes& body = {});
  void send_bytes(const Bytes& head, const Bytes& body = {});
  // The next message; nothing: none came in time.
  std::optional<link::Message> receive(std::chrono::milliseconds patience);
  // Leaves others out.
  template <typename Type>
  std::optional<Type> receive_a(std::chrono::milliseconds patience = std::chrono::seconds(30)) {
    const Deadline deadline = Clock::now() + patience;
    while (Clock::now() < deadline) {
      const auto message = receive(std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()));
      if (message && std::holds_alternative<Type>(*message)) return std::get<Type>(*message);
    }
    return std::nullopt;
  }

 private:
  std::span<std::uint8_t> place(LinkWire::Peer peer, LinkWire::Bytes head, std::size_t bytes) override;

  Bytes body_;  // of all frames, which nobody reads: it neither moves nor goes before the wire does
  std::unique_ptr<LinkWire> wire_;
  LinkWire::Peer peer_ = 0;
};

// One that has been let in. The other end may be about to close what was before, so it tries for some time.
std::unique_ptr<FakeLinkEnd> fake_link_end(const std::string& address, link::End as);

}  // namespace campipe::test
