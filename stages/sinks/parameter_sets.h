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
#include <set>
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

  // Takes those that stand before the packet's picture. True: it has some.
  bool take(std::span<const std::uint8_t> packet);
  // Likewise, but of pictures' sets only, which may change between key frames.
  void take_pictures(std::span<const std::uint8_t> packet);
  // `packet`, which was taken, is a key frame. A sequence's set that came since the one before, and was not known,
  // takes the place of all before it, but for what refers to it and what the packet refers to. Where there are more
  // than files have room for, those stay that the packet refers to, with other pictures' sets of the same sequence.
  void begin_at(std::span<const std::uint8_t> packet);
  // Both a sequence's and a picture's parameter sets are known.
  [[nodiscard]] bool complete() const;

  enum class Picture : std::uint8_t {
    none,     // the packet shows none
    unknown,  // sets that it refers to are not known
    known
  };
  // Of the first slice.
  [[nodiscard]] Picture picture_in(std::span<const std::uint8_t> packet) const;
  // Each slice of the packet refers to sets that are known, and are the same in `other`.
  [[nodiscard]] bool refers_alike(std::span<const std::uint8_t> packet, const ParameterSets& other) const;

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
  [[nodiscard]] unsigned most_numbers(Kind kind) const;
  [[nodiscard]] const Set* find(Kind kind, unsigned number) const;
  [[nodiscard]] const Set* sequence_of(const Set& picture) const { return find(Kind::sequence, *picture.refers_to); }
  [[nodiscard]] std::optional<unsigned> first_picture(std::span<const std::uint8_t> packet) const;
  [[nodiscard]] std::size_t count(Kind kind) const;
  [[nodiscard]] Sets read_before_picture(std::span<const std::uint8_t> packet) const;
  void keep_those_of(unsigned picture);
  void read(const Unit& unit, Sets& sets) const;
  void read_boxes(std::span<const std::uint8_t> extradata);
  template <typename Look>
  void each_unit(std::span<const std::uint8_t> data, std::size_t length_size, const Look& look) const;
  [[nodiscard]] std::vector<std::uint8_t> avcc() const;
  [[nodiscard]] std::vector<std::uint8_t> hvcc() const;

  AVCodecID codec_;
  std::size_t length_size_ = 0;
  Sets sets_;
  std::set<Key> sent_;             // since the newest key frame
  bool has_new_sequence_ = false;  // among them
};

}  // namespace campipe
