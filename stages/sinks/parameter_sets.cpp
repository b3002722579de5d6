#include "stages/sinks/parameter_sets.h"

#include <algorithm>
#include <array>

#include "core/big_endian.h"
#include "core/bit_reader.h"
#include "core/start_codes.h"

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t longest_set = 1U << 16U;                // as its length is stored in files
constexpr unsigned most_sets = 256;                           // of a kind; H.264 numbers so many
constexpr std::array<std::uint8_t, 4> set_start{0, 0, 0, 1};  // a start code, with the byte before those of sets

Bytes without_zeros(Bytes unit) {
  while (!unit.empty() && unit.back() == 0) unit = unit.first(unit.size() - 1);
  return unit;
}

void append(std::vector<std::uint8_t>& to, Bytes bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

void append_number(std::vector<std::uint8_t>& to, std::uint64_t value, std::size_t size) {
  to.resize(to.size() + size);
  put_big_endian(value, static_cast<int>(size), &to[to.size() - size]);
}

// What a sequence's parameter set holds that files repeat.
struct Format {
  unsigned chroma = 1;
  unsigned luma_bits = 8;
  unsigned chroma_bits = 8;
};

// The profiles of which H.264 stores them.
bool stores_format(unsigned profile) {
  constexpr std::array<unsigned, 12> high{100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134};
  return std::ranges::count(high, profile) != 0;
}

Format format_in_h264(Bytes unit) {
  BitReader in(unit.subspan(1));
  const unsigned profile = in.bits(8);
  in.skip(16);
  in.number();
  if (!stores_format(profile)) return {};
  Format format;
  format.chroma = in.number();
  if (format.chroma == 3) in.skip(1);
  format.luma_bits = 8 + in.number();
  format.chroma_bits = 8 + in.number();
  return format;
}

// Of profile_tier_level().
constexpr int profile_bits = 88;
constexpr int level_bits = 8;

// To the number of an HEVC sequence's parameter set. Returns max_sub_layers_minus1.
unsigned skip_profile(BitReader& in) {
  in.skip(4);
  const unsigned sub_layers = in.bits(3);
  in.skip(1 + profile_bits + level_bits);
  std::array<bool, 8> has_profile{};
  std::array<bool, 8> has_level{};
  for (unsigned i = 0; i < sub_layers; ++i) {
    has_profile.at(i) = in.bits(1) != 0;
    has_level.at(i) = in.bits(1) != 0;
  }
  if (sub_layers > 0) in.skip(static_cast<int>(2 * (8 - sub_layers)));
  for (unsigned i = 0; i < sub_layers; ++i)
    in.skip((has_profile.at(i) ? profile_bits : 0) + (has_level.at(i) ? level_bits : 0));
  return sub_layers;
}

Format format_in_hevc(Bytes unit) {
  BitReader in(unit.subspan(2));
  skip_profile(in);
  in.number();
  Format format;
  format.chroma = in.number();
  if (format.chroma == 3) in.skip(1);
  in.number();
  in.number();
  if (in.bits(1) != 0) {
    for (int i = 0; i < 4; ++i) in.number();
  }
  format.luma_bits = 8 + in.number();
  format.chroma_bits = 8 + in.number();
  return format;
}

}  // namespace

struct ParameterSets::Unit {
  enum class Is : std::uint8_t { set, picture, other };
  Is is = Is::other;
  Kind kind = Kind::video;  // of a set
  unsigned type = 0;
  Bytes bytes;
};

ParameterSets::Unit ParameterSets::unit_of(Bytes bytes) const {
  Unit unit{.bytes = bytes};
  if (codec_ == AV_CODEC_ID_H264) {
    if (bytes.size() < 2) return unit;
    unit.type = bytes[0] & 31U;
    if (unit.type >= 1 && unit.type <= 5) unit.is = Unit::Is::picture;
    if (unit.type == 7 || unit.type == 8) unit.is = Unit::Is::set;
    unit.kind = unit.type == 7 ? Kind::sequence : Kind::picture;
    return unit;
  }
  if (bytes.size() < 3) return unit;
  const bool base_layer = (bytes[0] & 1U) == 0 && bytes[1] >> 3U == 0;
  unit.type = bytes[0] >> 1U & 63U;
  if (!base_layer) return unit;
  if (unit.type < 32) unit.is = Unit::Is::picture;
  if (unit.type >= 32 && unit.type <= 34) {
    unit.is = Unit::Is::set;
    unit.kind = static_cast<Kind>(unit.type - 32);
  }
  return unit;
}

// Until `look` returns false. The bytes of a unit of a picture go on to the end of `data`, where start codes divide it.
template <typename Look>
void ParameterSets::each_unit(Bytes data, std::size_t length_size, const Look& look) const {
  if (length_size > 0) {
    while (data.size() > length_size) {
      const std::uint64_t size = get_big_endian(data.data(), static_cast<int>(length_size));
      data = data.subspan(length_size);
      if (size > data.size()) return;
      if (size > 0 && !look(unit_of(data.first(size)))) return;
      data = data.subspan(size);
    }
    return;
  }
  auto found = std::ranges::search(data, start_code);
  while (!found.empty()) {
    const Bytes rest(found.end(), data.end());
    Unit unit = unit_of(rest);
    if (unit.is == Unit::Is::picture) {
      if (!look(unit)) return;
    }
    found = std::ranges::search(rest, start_code);
    if (unit.is == Unit::Is::picture) continue;
    unit.bytes = without_zeros(rest.first(static_cast<std::size_t>(found.begin() - rest.begin())));
    unit = unit_of(unit.bytes);
    if (!look(unit)) return;
  }
}

void ParameterSets::read(const Unit& unit, Sets& sets) const {
  if (unit.is != Unit::Is::set || unit.bytes.size() >= longest_set) return;
  const bool h264 = codec_ == AV_CODEC_ID_H264;
  BitReader in(unit.bytes.subspan(h264 ? 1 : 2));
  unsigned number = 0;
  std::optional<unsigned> refers_to;
  if (unit.kind == Kind::video) {
    number = in.bits(4);
  } else if (unit.kind == Kind::picture) {
    number = in.number();
    refers_to = in.number();
  } else if (h264) {
    in.skip(24);
    number = in.number();
  } else {
    BitReader first(unit.bytes.subspan(2));
    refers_to = first.bits(4);
    skip_profile(in);
    number = in.number();
  }
  if (in.has_ended() || number >= most_sets) return;
  sets[{unit.kind, number}] = {refers_to, {unit.bytes.begin(), unit.bytes.end()}};
}

ParameterSets::ParameterSets(AVCodecID codec, Bytes extradata) : codec_(codec) {
  if (!extradata.empty() && extradata[0] == 1) {
    read_boxes(extradata);
    return;
  }
  each_unit(extradata, 0, [this](const Unit& unit) {
    read(unit, sets_);
    return true;
  });
}

// avcC and hvcC.
void ParameterSets::read_boxes(Bytes extradata) {
  const bool h264 = codec_ == AV_CODEC_ID_H264;
  const std::size_t at = h264 ? 4 : 21;
  if (extradata.size() < at + 2) return;
  length_size_ = (extradata[at] & 3U) + 1;
  Bytes rest = extradata.subspan(at + 1);
  const auto take = [&rest](std::size_t size) -> std::uint64_t {
    if (rest.size() < size) {
      rest = {};
      return 0;
    }
    const std::uint64_t value = get_big_endian(rest.data(), static_cast<int>(size));
    rest = rest.subspan(size);
    return value;
  };
  const auto take_units = [&](std::uint64_t count) {
    for (; count > 0 && !rest.empty(); --count) {
      const std::uint64_t size = take(2);
      if (size > rest.size()) return void(rest = {});
      read(unit_of(rest.first(size)), sets_);
      rest = rest.subspan(size);
    }
  };
  if (h264) {
    take_units(take(1) & 31U);
    take_units(take(1));
    return;
  }
  for (std::uint64_t arrays = take(1); arrays > 0 && !rest.empty(); --arrays) {
    take(1);
    take_units(take(2));
  }
}

bool ParameterSets::take(Bytes packet) {
  Sets sent;
  each_unit(packet, length_size_, [&](const Unit& unit) {
    read(unit, sent);
    return unit.is != Unit::Is::picture;
  });
  const bool has_new_sequence = std::ranges::any_of(sent, [this](const auto& entry) {
    const auto known = sets_.find(entry.first);
    return entry.first.first == Kind::sequence && (known == sets_.end() || known->second != entry.second);
  });
  if (has_new_sequence) {
    std::erase_if(sets_, [&sent](const auto& entry) {
      const auto& [key, set] = entry;
      if (key.first == Kind::video) return false;
      return key.first == Kind::sequence || !set.refers_to || !sent.contains({Kind::sequence, *set.refers_to});
    });
  }
  for (auto& [key, set] : sent) sets_[key] = set;
  return !sent.empty();
}

bool ParameterSets::complete() const {
  const auto has = [this](Kind kind) {
    return std::ranges::any_of(sets_, [kind](const auto& entry) { return entry.first.first == kind; });
  };
  return has(Kind::sequence) && has(Kind::picture);
}

std::optional<unsigned> ParameterSets::set_of_picture(const Unit& unit) const {
  if (codec_ == AV_CODEC_ID_H264) {
    if (unit.type == 3 || unit.type == 4) return std::nullopt;  // further partitions of a slice
    BitReader in(unit.bytes.subspan(1));
    in.number();
    in.number();
    const unsigned number = in.number();
    return in.has_ended() ? std::nullopt : std::optional(number);
  }
  BitReader in(unit.bytes.subspan(2));
  in.skip(1);
  if (unit.type >= 16 && unit.type <= 23) in.skip(1);
  const unsigned number = in.number();
  return in.has_ended() ? std::nullopt : std::optional(number);
}

bool ParameterSets::know_picture(Bytes packet) const {
  bool known = true;
  each_unit(packet, length_size_, [&](const Unit& unit) {
    if (unit.is != Unit::Is::picture) return true;
    const auto number = set_of_picture(unit);
    if (!number) return false;
    const auto picture = sets_.find({Kind::picture, *number});
    known = picture != sets_.end() && sets_.contains({Kind::sequence, picture->second.refers_to.value_or(0)});
    return false;
  });
  return known;
}

std::vector<std::uint8_t> ParameterSets::in_band() const {
  std::vector<std::uint8_t> bytes;
  for (const auto& [key, set] : sets_) {
    if (length_size_ > 0) {
      append_number(bytes, set.bytes.size(), length_size_);
    } else {
      append(bytes, set_start);
    }
    append(bytes, set.bytes);
  }
  return bytes;
}

// Behind the delimiter, which comes first wherever there is one.
std::vector<std::uint8_t> ParameterSets::in_front_of(Bytes packet) const {
  constexpr unsigned h264_delimiter = 9;
  constexpr unsigned hevc_delimiter = 35;
  std::size_t at = 0;
  each_unit(packet, length_size_, [&](const Unit& unit) {
    if (unit.type == (codec_ == AV_CODEC_ID_H264 ? h264_delimiter : hevc_delimiter) && unit.is == Unit::Is::other)
      at = static_cast<std::size_t>(unit.bytes.data() - packet.data()) + unit.bytes.size();
    return false;
  });
  std::vector<std::uint8_t> bytes(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(at));
  append(bytes, in_band());
  append(bytes, packet.subspan(at));
  return bytes;
}

std::vector<std::uint8_t> ParameterSets::extradata() const {
  if (length_size_ == 0) return in_band();
  if (!complete()) return {};
  return codec_ == AV_CODEC_ID_H264 ? avcc() : hvcc();
}

// ISO/IEC 14496-15, 5.3.3.1
std::vector<std::uint8_t> ParameterSets::avcc() const {
  const auto count = [this](Kind kind) {
    return static_cast<unsigned>(std::ranges::count_if(sets_, [kind](const auto& e) { return e.first.first == kind; }));
  };
  const Bytes first = sets_.lower_bound({Kind::sequence, 0})->second.bytes;
  if (first.size() < 4) return {};
  std::vector<std::uint8_t> box{1, first[1], first[2], first[3]};
  box.push_back(static_cast<std::uint8_t>(0xfc | (length_size_ - 1)));
  box.push_back(static_cast<std::uint8_t>(0xe0 | std::min(count(Kind::sequence), 31U)));
  const auto add = [&](Kind kind, unsigned most) {
    for (const auto& [key, set] : sets_) {
      if (key.first != kind || most-- == 0) continue;
      append_number(box, set.bytes.size(), 2);
      append(box, set.bytes);
    }
  };
  add(Kind::sequence, 31);
  box.push_back(static_cast<std::uint8_t>(std::min(count(Kind::picture), 255U)));
  add(Kind::picture, 255);
  if (!stores_format(first[1])) return box;
  const Format format = format_in_h264(first);
  box.push_back(static_cast<std::uint8_t>(0xfc | (format.chroma & 3U)));
  box.push_back(static_cast<std::uint8_t>(0xf8 | ((format.luma_bits - 8) & 7U)));
  box.push_back(static_cast<std::uint8_t>(0xf8 | ((format.chroma_bits - 8) & 7U)));
  box.push_back(0);
  return box;
}

// ISO/IEC 14496-15, 8.3.3.1
std::vector<std::uint8_t> ParameterSets::hvcc() const {
  const Bytes first = sets_.lower_bound({Kind::sequence, 0})->second.bytes;
  const Format format = format_in_hevc(first);
  BitReader in(first.subspan(2));
  in.skip(4);
  const unsigned sub_layers = in.bits(3);
  const unsigned nested = in.bits(1);
  std::vector<std::uint8_t> box{1};
  for (int i = 0; i < (profile_bits + level_bits) / 8; ++i) box.push_back(static_cast<std::uint8_t>(in.bits(8)));
  append_number(box, 0xf000, 2);  // min_spatial_segmentation_idc: not known
  box.push_back(0xfc);            // parallelismType: likewise
  box.push_back(static_cast<std::uint8_t>(0xfc | (format.chroma & 3U)));
  box.push_back(static_cast<std::uint8_t>(0xf8 | ((format.luma_bits - 8) & 7U)));
  box.push_back(static_cast<std::uint8_t>(0xf8 | ((format.chroma_bits - 8) & 7U)));
  append_number(box, 0, 2);  // avgFrameRate: not known
  box.push_back(static_cast<std::uint8_t>((sub_layers + 1) << 3U | nested << 2U | (length_size_ - 1)));
  std::map<Kind, std::vector<Bytes>> arrays;
  for (const auto& [key, set] : sets_) arrays[key.first].emplace_back(set.bytes);
  box.push_back(static_cast<std::uint8_t>(arrays.size()));
  for (const auto& [kind, units] : arrays) {
    box.push_back(static_cast<std::uint8_t>(32U + static_cast<unsigned>(kind)));  // its sets may come in packets, too
    append_number(box, units.size(), 2);
    for (const Bytes unit : units) {
      append_number(box, unit.size(), 2);
      append(box, unit);
    }
  }
  return box;
}

}  // namespace campipe
