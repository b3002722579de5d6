// The parameter sets of an H.264 or HEVC stream (ITU-T H.264 7.3.2, H.265 7.3.2): which are known, from its extradata
// and from its packets, and its extradata as they make it. Of layers above the base nothing is read.
//
// What a stream sends is anybody's bytes: units that are none of these, or cannot be read, are left out.
//
// Values; used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/ffmpeg.h"

namespace campipe {

class ParameterSets {
 public:
  // False: a codec that has none.
  static bool has(AVCodecID codec) { return codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC; }

  // Those of `extradata`, as streams have it (start codes), or as files do (ISO/IEC 14496-15); packets are divided
  // likewise.
  ParameterSets(AVCodecID codec, std::span<const std::uint8_t> extradata);

  // Takes those that stand before the packet's picture. A sequence's parameter set that was not known takes the place
  // of all before it, but for the pictures' parameter sets that refer to it. True: it has some.
  bool take(std::span<const std::uint8_t> packet);
  // Both a sequence's and a picture's parameter sets are known.
  [[nodiscard]] bool complete() const;
  // Those that the packet's picture refers to are known. True where the packet shows no picture.
  [[nodiscard]] bool know_picture(std::span<const std::uint8_t> packet) const;

  // Bytes of the length before each unit; 0: they have start codes.
  [[nodiscard]] std::size_t length_size() const { return length_size_; }
  // As the stream's extradata, in the form that they came in.
  [[nodiscard]] std::vector<std::uint8_t> extradata() const;
  // As they stand before a picture, in a packet.
  [[nodiscard]] std::vector<std::uint8_t> in_band() const;
  // `packet` with these before its picture.
  [[nodiscard]] std::vector<std::uint8_t> in_front_of(std::span<const std::uint8_t> packet) const;

  friend bool operator==(const ParameterSets& a, const ParameterSets& b) {
    return a.codec_ == b.codec_ && a.length_size_ == b.length_size_ && a.sets_ == b.sets_;
  }

 private:
  enum class Kind : std::uint8_t { video, sequence, picture };
  using Key = std::pair<Kind, unsigned>;  // with its number
  struct Set {
    std::optional<unsigned> refers_to;  // the number of the set that it refers to
    std::vector<std::uint8_t> bytes;    // the unit
    friend bool operator==(const Set&, const Set&) = default;
  };
  using Sets = std::map<Key, Set>;
  struct Unit;

  [[nodiscard]] Unit unit_of(std::span<const std::uint8_t> bytes) const;
  [[nodiscard]] std::optional<unsigned> set_of_picture(const Unit& unit) const;
  void read(const Unit& unit, Sets& sets) const;
  void read_boxes(std::span<const std::uint8_t> extradata);
  template <typename Look>
  void each_unit(std::span<const std::uint8_t> data, std::size_t length_size, const Look& look) const;
  [[nodiscard]] std::vector<std::uint8_t> avcc() const;
  [[nodiscard]] std::vector<std::uint8_t> hvcc() const;

  AVCodecID codec_;
  std::size_t length_size_ = 0;
  Sets sets_;
};

}  // namespace campipe
