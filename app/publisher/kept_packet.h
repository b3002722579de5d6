// A packet with its own bytes, for as long as it takes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/packet.h"

namespace campipe {

class KeptPacket {
 public:
  KeptPacket(const PacketView& packet, std::uint64_t number)
      : view_(packet), data_(packet.data.begin(), packet.data.end()), number_(number) {}

  [[nodiscard]] PacketView view() const {
    PacketView view = view_;
    view.data = data_;
    return view;
  }
  [[nodiscard]] std::int64_t pts() const { return view_.times.pts; }
  // In memory: of tiny packets most is not their data.
  [[nodiscard]] std::size_t size() const { return sizeof(*this) + data_.capacity(); }
  [[nodiscard]] std::uint64_t number() const { return number_; }

 private:
  PacketView view_;  // its data is not used
  std::vector<std::uint8_t> data_;
  std::uint64_t number_;
};

}  // namespace campipe
