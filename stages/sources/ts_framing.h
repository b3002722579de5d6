// The packets of a transport stream that comes in pieces of any length, whatever lies between them.
#pragma once

#include <optional>
#include <vector>

#include "stages/sources/ts_packet.h"

namespace campipe {

class TsFraming {
 public:
  void add(std::span<const std::uint8_t> bytes);
  // The next packet, which begins with its sync byte; it is valid until bytes are added. Nothing: not all of one is
  // there. Behind what is none, the next one is where another one follows it.
  std::optional<TsPacket> next();
  // How many more bytes were no packets than were, of late: a stray packet may be found in anything.
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

 private:
  bool find_next();

  std::vector<std::uint8_t> bytes_;
  std::size_t at_ = 0;  // of the next packet
  std::size_t left_out_ = 0;
  bool lost_ = false;  // it is not known where packets begin
};

}  // namespace campipe
