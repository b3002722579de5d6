// The bits of a header, and numbers in Exp-Golomb code. Of a unit of H.264 or HEVC, without the bytes that keep start
// codes out of it (emulation prevention). Behind the end everything is 0, and has_ended() is true.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace campipe {

class BitReader {
 public:
  enum class Of : std::uint8_t { unit, plain_bytes };
  explicit BitReader(std::span<const std::uint8_t> bytes, Of of = Of::unit) : rest_(bytes), of_(of) {}

  unsigned bits(int count) {
    unsigned value = 0;
    for (int i = 0; i < count; ++i) value = value << 1U | bit();
    return value;
  }
  void skip(int count) {
    for (int i = 0; i < count; ++i) bit();
  }
  // ue(v)
  unsigned number() {
    int zeros = 0;
    while (zeros < most_zeros && !has_ended_ && bit() == 0) ++zeros;
    if (zeros == most_zeros) has_ended_ = true;
    return has_ended_ ? 0 : (1U << static_cast<unsigned>(zeros)) - 1 + bits(zeros);
  }
  [[nodiscard]] bool has_ended() const { return has_ended_; }

 private:
  static constexpr int most_zeros = 31;

  unsigned bit() {
    if (left_ == 0 && !next_byte()) return 0;
    --left_;
    return byte_ >> static_cast<unsigned>(left_) & 1U;
  }
  bool next_byte() {
    if (of_ == Of::unit && !rest_.empty() && zeros_ >= 2 && rest_.front() == 3) {
      rest_ = rest_.subspan(1);
      zeros_ = 0;
    }
    if (rest_.empty()) {
      has_ended_ = true;
      return false;
    }
    byte_ = rest_.front();
    rest_ = rest_.subspan(1);
    zeros_ = byte_ == 0 ? zeros_ + 1 : 0;
    left_ = 8;
    return true;
  }

  std::span<const std::uint8_t> rest_;
  Of of_;
  unsigned byte_ = 0;
  int left_ = 0;   // bits of it
  int zeros_ = 0;  // bytes in a row
  bool has_ended_ = false;
};

}  // namespace campipe
