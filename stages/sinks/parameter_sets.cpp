#include "stages/sinks/parameter_sets.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/big_endian.h"
#include "core/bit_reader.h"
#include "core/start_codes.h"

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t longest_set = 1U << 16U;                // as its length is stored in files
constexpr std::array<std::uint8_t, 4> set_start{0, 0, 0, 1};  // a start code, with the byte before those of sets

// So many are counted in files (ISO/IEC 14496-15, 5.3.3.1); of HEVC there cannot be too many.
constexpr std::size_t most_stored_sequences = 31;
constexpr std::size_t most_stored_pictures = 255;

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

// How many numbers a kind's sets have.
unsigned ParameterSets::most_numbers(Kind kind) const {
  if (codec_ == AV_CODEC_ID_H264) return kind == Kind::sequence ? 32 : 256;
  return kind == Kind::picture ? 64 : 16;
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
  if (in.has_ended() || number >= most_numbers(unit.kind)) return;
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

ParameterSets::Sets ParameterSets::read_before_picture(Bytes packet) const {
  Sets sent;
  each_unit(packet, length_size_, [&](const Unit& unit) {
    read(unit, sent);
    return unit.is != Unit::Is::picture;
  });
  return sent;
}

bool ParameterSets::take(Bytes packet) {
  const Sets sent = read_before_picture(packet);
  for (const auto& [key, set] : sent) {
    const Set* known = find(key.first, key.second);
    has_new_sequence_ = has_new_sequence_ || (key.first == Kind::sequence && (known == nullptr || *known != set));
    sets_[key] = set;
    sent_.insert(key);
  }
  return !sent.empty();
}

void ParameterSets::take_pictures(Bytes packet) {
  for (const auto& [key, set] : read_before_picture(packet)) {
    if (key.first == Kind::picture) sets_[key] = set;
  }
}

void ParameterSets::begin_at(Bytes packet) {
  const auto picture = first_picture(packet);
  const Set* refers_to = picture ? find(Kind::picture, *picture) : nullptr;
  if (std::exchange(has_new_sequence_, false)) {
    const auto is_of_use = [&](const Sets::value_type& entry) {
      const auto& [key, set] = entry;
      if (key.first == Kind::video) return true;
      const unsigned sequence = key.first == Kind::sequence ? key.second : set.refers_to.value_or(0);
      return sent_.contains({Kind::sequence, sequence}) || (refers_to != nullptr && refers_to->refers_to == sequence);
    };
    std::erase_if(sets_, [&](const auto& entry) { return !is_of_use(entry); });
  }
  sent_.clear();
  const bool fit = count(Kind::sequence) <= most_stored_sequences && count(Kind::picture) <= most_stored_pictures;
  if (!fit && refers_to != nullptr) keep_those_of(*picture);
}

void ParameterSets::keep_those_of(unsigned picture) {
  const auto sequence = find(Kind::picture, picture)->refers_to;
  std::erase_if(sets_, [&](const auto& entry) {
    const auto& [key, set] = entry;
    if (key.first == Kind::sequence) return key.second != sequence;
    return key.first == Kind::picture && set.refers_to != sequence;
  });
  for (auto entry = sets_.end(); entry != sets_.begin() && count(Kind::picture) > most_stored_pictures;) {
    --entry;
    if (entry->first.first == Kind::picture && entry->first.second != picture) entry = sets_.erase(entry);
  }
}

const ParameterSets::Set* ParameterSets::find(Kind kind, unsigned number) const {
  const auto found = sets_.find({kind, number});
  return found != sets_.end() ? &found->second : nullptr;
}

std::size_t ParameterSets::count(Kind kind) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(sets_, [kind](const auto& entry) { return entry.first.first == kind; }));
}

bool ParameterSets::complete() const { return count(Kind::sequence) > 0 && count(Kind::picture) > 0; }

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

ParameterSets::Picture ParameterSets::picture_in(Bytes packet) const {
  Picture found = Picture::none;
  each_unit(packet, length_size_, [&](const Unit& unit) {
    if (unit.is != Unit::Is::picture) return true;
    const auto number = set_of_picture(unit);
    const Set* picture = number ? find(Kind::picture, *number) : nullptr;
    const bool known = !number || (picture != nullptr && sequence_of(*picture) != nullptr);
    found = known ? Picture::known : Picture::unknown;
    return false;
  });
  return found;
}

std::optional<unsigned> ParameterSets::first_picture(Bytes packet) const {
  std::optional<unsigned> number;
  each_unit(packet, length_size_, [&](const Unit& unit) {
    if (unit.is == Unit::Is::picture) number = set_of_picture(unit);
    return unit.is != Unit::Is::picture;
  });
  return number;
}

bool ParameterSets::refers_alike(Bytes packet, const ParameterSets& other) const {
  const auto alike = [](const Set* mine, const Set* others) {
    return mine != nullptr && others != nullptr && *mine == *others;
  };
  bool all = true;
  each_unit(packet, length_size_, [&](const Unit& unit) {
    const auto number = unit.is == Unit::Is::picture ? set_of_picture(unit) : std::nullopt;
    if (!number) return true;
    const Set* picture = find(Kind::picture, *number);
    all =
        alike(picture, other.find(Kind::picture, *number)) && alike(sequence_of(*picture), other.sequence_of(*picture));
    return all;
  });
  return all;
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
  const Bytes first = sets_.lower_bound({Kind::sequence, 0})->second.bytes;
  const bool fits = count(Kind::sequence) <= most_stored_sequences && count(Kind::picture) <= most_stored_pictures;
  if (first.size() < 4 || !fits) return {};
  std::vector<std::uint8_t> box{1, first[1], first[2], first[3]};
  box.push_back(static_cast<std::uint8_t>(0xfc | (length_size_ - 1)));
  const auto add = [&](Kind kind, unsigned reserved) {
    box.push_back(static_cast<std::uint8_t>(reserved | count(kind)));
    for (const auto& [key, set] : sets_) {
      if (key.first != kind) continue;
      append_number(box, set.bytes.size(), 2);
      append(box, set.bytes);
    }
  };
  add(Kind::sequence, 0xe0);
  add(Kind::picture, 0);
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
