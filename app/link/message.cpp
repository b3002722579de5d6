#include "app/link/message.h"

#include <algorithm>
#include <bit>
#include <concepts>
#include <type_traits>
#include <utility>

#include "core/orientation.h"
#include "ipc/ring_checks.h"

namespace campipe::link {
namespace {

constexpr std::uint32_t magic = 0x6b6e6c63;                     // "clnk"
constexpr std::uint64_t most_frames = std::uint64_t{1} << 60;   // that a link can have numbered
constexpr std::uint64_t largest_body = std::uint64_t{1} << 31;  // bytes
constexpr double fastest_rate = 1000;                           // frames a second

// Both have the same functions, so that one description of a message serves to write and to read it.
class Encoder {
 public:
  explicit Encoder(std::vector<std::uint8_t>& bytes) : bytes_(bytes) { bytes_.clear(); }

  template <std::integral Number>
  void operator()(const Number& number) {
    auto rest = static_cast<std::make_unsigned_t<Number>>(number);
    for (std::size_t i = 0; i < sizeof rest; ++i) {
      bytes_.push_back(static_cast<std::uint8_t>(rest));
      rest = static_cast<decltype(rest)>(std::uint64_t{rest} >> 8);
    }
  }
  void operator()(const double& number) { (*this)(std::bit_cast<std::uint64_t>(number)); }
  template <typename Choice>
  requires std::is_enum_v<Choice>
  void operator()(const Choice& choice) { (*this)(static_cast<std::underlying_type_t<Choice>>(choice)); }
  void operator()(const std::string& text) { sized({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}); }
  void operator()(const FrameMetadata& metadata) { sized(metadata.bytes()); }

 private:
  void sized(std::span<const std::uint8_t> bytes) {
    (*this)(static_cast<std::uint16_t>(bytes.size()));
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  std::vector<std::uint8_t>& bytes_;
};

class Decoder {
 public:
  explicit Decoder(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

  template <std::integral Number>
  void operator()(Number& number) {
    std::uint64_t value = 0;
    const auto bytes = take(sizeof number);
    for (std::size_t i = 0; i < bytes.size(); ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
    number = static_cast<Number>(value);
  }
  void operator()(double& number) {
    std::uint64_t bits = 0;
    (*this)(bits);
    number = std::bit_cast<double>(bits);
  }
  template <typename Choice>
  requires std::is_enum_v<Choice>
  void operator()(Choice& choice) {
    std::underlying_type_t<Choice> value{};
    (*this)(value);
    choice = static_cast<Choice>(value);
  }
  void operator()(std::string& text) {
    const auto bytes = sized();
    text.assign(bytes.begin(), bytes.end());
  }
  void operator()(FrameMetadata& metadata) {
    const auto read = FrameMetadata::from_bytes(sized());
    is_whole_ = is_whole_ && read;
    metadata = read.value_or(FrameMetadata());
  }

  // Nothing was missing.
  [[nodiscard]] bool is_whole() const { return is_whole_; }
  // And nothing is left.
  [[nodiscard]] bool is_all() const { return is_whole_ && rest_.empty(); }

 private:
  std::span<const std::uint8_t> take(std::size_t size) {
    is_whole_ = is_whole_ && size <= rest_.size();
    if (!is_whole_) return {};
    const auto bytes = rest_.first(size);
    rest_ = rest_.subspan(size);
    return bytes;
  }
  std::span<const std::uint8_t> sized() {
    std::uint16_t size = 0;
    (*this)(size);
    return take(size);
  }

  std::span<const std::uint8_t> rest_;
  bool is_whole_ = true;
};

template <typename Coder, typename... Parts>
void all(Coder& code, Parts&... parts) {
  (code(parts), ...);
}

// `Of`: the type, const where it is written.
template <typename Coder, typename Of>
void format_fields(Coder& code, Of& of) {
  all(code, of.pixels, of.width, of.height, of.color_range, of.color_space, of.color_primaries, of.color_transfer,
      of.chroma_location, of.sample_aspect_num, of.sample_aspect_den);
}

template <typename Coder, typename Of>
void times_fields(Coder& code, Of& of) {
  all(code, of.pts, of.duration, of.media_time, of.capture_utc, of.capture_clock, of.arrival, of.decode_cost,
      of.decoded, of.published, of.filter_cost, of.set, of.set_state);
}

template <typename Coder, typename Of>
void fields(Coder& code, Of& of) {
  using Type = std::remove_const_t<Of>;
  if constexpr (std::is_same_v<Type, Hello>) {
    all(code, of.end, of.name, of.number);
  } else if constexpr (std::is_same_v<Type, Shape>) {
    code(of.number);
    format_fields(code, of.expected);
    format_fields(code, of.band_source.format);
    all(code, of.band_source.rotation, of.slot_bytes, of.frame_rate, of.rotation);
  } else if constexpr (std::is_same_v<Type, Frame>) {
    all(code, of.number, of.resolved, of.sent, of.bytes, of.record.source_number);
    format_fields(code, of.record.format);
    for (auto& offset : of.record.offset) code(offset);
    for (auto& stride : of.record.stride) code(stride);
    times_fields(code, of.record.times);
    code(of.record.metadata);
  } else if constexpr (std::is_same_v<Type, Credit>) {
    all(code, of.shapes, of.up_to, of.settled);
  } else if constexpr (std::is_same_v<Type, Beat>) {
    all(code, of.sent, of.resolved);
  } else {
    static_assert(std::is_same_v<Type, Bye>);
    all(code, of.reason, of.number);
  }
}

bool is_possible(const Hello& hello) {
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  return hello.end <= End::receiving && hello.name.size() <= longest_name &&
         std::ranges::all_of(hello.name, printable) && hello.number <= most_frames;
}

bool is_possible(const Shape& shape) {
  const bool rate = shape.frame_rate >= 0 && shape.frame_rate <= fastest_rate;  // which NaN is not
  return shape.number <= most_frames && campipe::is_possible(shape.expected, false) &&
         campipe::is_possible(shape.band_source.format, false) && is_orientation(shape.band_source.rotation) &&
         is_orientation(shape.rotation) && rate && shape.slot_bytes >= 1 && shape.slot_bytes <= largest_body;
}

bool is_possible(const Frame& frame) {
  return frame.number >= 1 && frame.number <= most_frames && is_possible_time(frame.sent) &&
         frame.bytes <= largest_body && campipe::is_possible(frame.record, frame.bytes);
}

bool is_possible(const Credit& credit) { return credit.settled <= credit.up_to && credit.up_to <= most_frames; }

bool is_possible(const Beat& beat) { return is_possible_time(beat.sent); }

bool is_possible(const Bye& bye) { return bye.reason <= Bye::Reason::busy && bye.number <= most_frames; }

// What every version of a hello begins with.
std::optional<Message> decode_hello(Decoder& decoder) {
  Hello hello;
  std::uint32_t found = 0;
  all(decoder, found, hello.version);
  if (!decoder.is_whole() || found != magic) return std::nullopt;
  if (hello.version != version) return hello;
  fields(decoder, hello);
  return decoder.is_all() && is_possible(hello) ? std::optional<Message>(std::move(hello)) : std::nullopt;
}

template <typename Type>
std::optional<Message> decode_as(Decoder& decoder) {
  Type message;
  fields(decoder, message);
  return decoder.is_all() && is_possible(message) ? std::optional<Message>(std::move(message)) : std::nullopt;
}

// The places of the types in Message.
enum class Kind : std::uint8_t { hello, shape, frame, credit, beat, bye };

}  // namespace

void encode(const Message& message, std::vector<std::uint8_t>& head) {
  Encoder encoder(head);
  encoder(static_cast<std::uint8_t>(message.index()));
  if (const auto* const hello = std::get_if<Hello>(&message)) all(encoder, magic, hello->version);
  std::visit([&encoder](const auto& of) { fields(encoder, of); }, message);
}

std::optional<Message> decode(std::span<const std::uint8_t> head) {
  if (head.empty() || head.size() > largest_head) return std::nullopt;
  Decoder decoder(head.subspan(1));
  switch (Kind{head.front()}) {
    case Kind::hello:
      return decode_hello(decoder);
    case Kind::shape:
      return decode_as<Shape>(decoder);
    case Kind::frame:
      return decode_as<Frame>(decoder);
    case Kind::credit:
      return decode_as<Credit>(decoder);
    case Kind::beat:
      return decode_as<Beat>(decoder);
    case Kind::bye:
      return decode_as<Bye>(decoder);
  }
  return std::nullopt;
}

}  // namespace campipe::link
