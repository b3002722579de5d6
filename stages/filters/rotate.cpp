// rotate: turns frames clockwise, by quarters, and mirrors them. Each sample of the output is one of the input.
#include <algorithm>
#include <utility>

#include "kernels/rotate.h"
#include "stages/filters/filter.h"
#include "stages/filters/planes.h"

namespace campipe {
namespace {

// Turned by `angle`, then mirrored.
Turn turn_of(const FilterParameters& parameters) {
  const auto mirror = parameters.find("mirror");
  return {static_cast<int>(parameters.find("angle")->second), mirror != parameters.end() && mirror->second != 0};
}

FrameFormat turned(FrameFormat format, const Turn& turn) {
  if (turn.angle == 0 && !turn.mirrored) return format;
  constexpr std::uint8_t centre = 2;  // AVCHROMA_LOC_CENTER: between four samples of luma, whichever way it is turned
  if (format.chroma_location != centre) format.chroma_location = 0;
  if (!turn.is_quarter()) return format;
  std::swap(format.width, format.height);
  if (format.sample_aspect_num != 0) std::swap(format.sample_aspect_num, format.sample_aspect_den);
  return format;
}

// Rows of a plane that is upside down.
RowRange opposite(RowRange rows, int height) { return {height - rows.end, height - rows.begin}; }

template <typename Byte>
BasicPlane<Byte> upside_down(BasicPlane<Byte> plane) {
  plane.data = plane.row(plane.height - 1);
  plane.stride = -plane.stride;
  plane.rows = opposite(plane.rows, plane.height);
  return plane;
}

// How samples of one byte, and pairs of bytes, go into vectors.
struct Single {
  static constexpr int bytes = 1;
  static constexpr int lanes = 16;
  using Vector = cv::v_uint8x16;
  static Vector load(const std::uint8_t* from) { return cv::v_load(from); }
  static void store(std::uint8_t* to, const Vector& samples) { cv::v_store(to, samples); }
  static std::uint64_t reversed(std::uint64_t word) { return __builtin_bswap64(word); }
};
struct Pair {
  static constexpr int bytes = 2;
  static constexpr int lanes = 8;
  using Vector = cv::v_uint16x8;
  static Vector load(const std::uint8_t* from) { return cv::v_reinterpret_as_u16(cv::v_load(from)); }
  static void store(std::uint8_t* to, const Vector& samples) { cv::v_store(to, cv::v_reinterpret_as_u8(samples)); }
  static std::uint64_t reversed(std::uint64_t word) {
    constexpr std::uint64_t second = 0x00ff00ff00ff00ff;
    const std::uint64_t apart = __builtin_bswap64(word);
    return (apart & second) << 8 | (apart >> 8 & second);
  }
};

// A block of as many rows as a vector has lanes: interleaving the first half of the rows with the other, again and
// again, makes columns of them.
template <typename Kind>
void transpose_block(const Plane& in, const MutablePlane& out, int x, int y) {
  typename Kind::Vector rows[Kind::lanes], mixed[Kind::lanes];
  for (int i = 0; i < Kind::lanes; ++i) rows[i] = Kind::load(in.row(y + i) + x * Kind::bytes);
  for (int together = 1; together < Kind::lanes; together *= 2) {
    for (int i = 0; i < Kind::lanes / 2; ++i)
      cv::v_zip(rows[i], rows[i + Kind::lanes / 2], mixed[2 * i], mixed[2 * i + 1]);
    std::swap(rows, mixed);
  }
  for (int i = 0; i < Kind::lanes; ++i) Kind::store(out.row(x + i) + y * Kind::bytes, rows[i]);
}

template <typename Kind>
void transpose_samples(const Plane& in, const MutablePlane& out, int left, int right, int top, int bottom) {
  for (int y = top; y < bottom; ++y)
    for (int x = left; x < right; ++x)
      std::memcpy(out.row(x) + y * Kind::bytes, in.row(y) + x * Kind::bytes, Kind::bytes);
}

// Rows become columns, and columns those rows of the output that are asked for. Goes down in strips as wide as a line
// of the cache.
template <typename Kind>
void transpose(const Plane& in, const MutablePlane& out) {
  constexpr int strip = 64 / Kind::bytes;
  const auto [first, end] = out.rows;
  const int right = end - (end - first) % Kind::lanes, bottom = in.height / Kind::lanes * Kind::lanes;
  for (int left = first; left < right; left += strip)
    for (int y = 0; y < bottom; y += Kind::lanes)
      for (int x = left; x < std::min(left + strip, right); x += Kind::lanes) transpose_block<Kind>(in, out, x, y);
  transpose_samples<Kind>(in, out, right, end, 0, bottom);
  transpose_samples<Kind>(in, out, first, end, bottom, in.height);
}

void copy_rows(const Plane& in, const MutablePlane& out) {
  for (int y = out.rows.begin; y < out.rows.end; ++y)
    std::memcpy(out.row(y), in.row(y), static_cast<std::size_t>(in.row_bytes()));
}

// By words: vectors of bytes are not reversed in fewer steps where there is only SSE2.
template <typename Kind>
void reverse_rows(const Plane& in, const MutablePlane& out) {
  for (int y = out.rows.begin; y < out.rows.end; ++y) {
    const std::uint8_t* from = in.row(y) + in.row_bytes();
    std::uint8_t* to = out.row(y);
    std::uint64_t word = 0;
    int left = in.row_bytes();
    for (; left >= static_cast<int>(sizeof word); left -= static_cast<int>(sizeof word), to += sizeof word) {
      std::memcpy(&word, from -= sizeof word, sizeof word);
      word = Kind::reversed(word);
      std::memcpy(to, &word, sizeof word);
    }
    for (; left > 0; left -= Kind::bytes, to += Kind::bytes) std::memcpy(to, from -= Kind::bytes, Kind::bytes);
  }
}

// A frame that is mirrored behind a quarter turn has rows that become columns from the other end.
template <typename Kind>
void apply(const Turn& turn, const Plane& in, const MutablePlane& out) {
  if (turn.is_quarter()) {
    const bool from_below = (turn.angle == 90) != turn.mirrored;
    return transpose<Kind>(from_below ? upside_down(in) : in, turn.angle == 270 ? upside_down(out) : out);
  }
  const Plane from = turn.angle == 180 ? upside_down(in) : in;
  (turn.angle == 180) != turn.mirrored ? reverse_rows<Kind>(from, out) : copy_rows(from, out);
}

class Rotate : public Filter {
 public:
  explicit Rotate(const FilterParameters& parameters) : turn_(turn_of(parameters)) {}

  FrameFormat configure(const FrameFormat& in) override {
    heights_ = {plane_size(in, 0).height, plane_size(in, 1).height};
    return turned(in, turn_);
  }

  [[nodiscard]] RowRange needs(int plane, RowRange rows) const override {
    if (turn_.is_quarter()) return all_rows;
    return turn_.angle == 180 ? opposite(rows, heights_[plane == 0 ? 0 : 1]) : rows;
  }

  void process(const FrameView& in, const MutableFrameView& out) override {
    for (int i = 0; i < plane_count(in.format.pixels); ++i) {
      const Plane from = plane_of(in, i);
      (from.channels == 2 ? apply<Pair> : apply<Single>)(turn_, from, plane_of(out, i));
    }
  }

 private:
  Turn turn_;
  std::array<int, 2> heights_{};  // of the input's luma and chroma
};

class GpuRotate : public GpuFilter {
 public:
  explicit GpuRotate(const FilterParameters& parameters) : turn_(turn_of(parameters)) {}

  FrameFormat configure(const FrameFormat& in) override { return turned(in, turn_); }
  void enqueue(const FrameView& in, const MutableFrameView& out, GpuStream stream) override {
    enqueue_rotate(in, out, turn_, stream);
  }

 private:
  Turn turn_;
};

constexpr std::array parameters{
    ParameterInfo{"angle", 0, 270, std::nullopt, true, "degrees", "how far it is turned, clockwise", 90},
    ParameterInfo{"mirror", 0, 1, 0, true, "", "1: left and right change places, behind the turn"},
};

const FilterRegistration registration{
    {"rotate", "turns the frame by quarters, and mirrors it", parameters,
     [](const FilterParameters& given) -> std::unique_ptr<Filter> { return std::make_unique<Rotate>(given); },
     gpu_path<GpuRotate>()}};

}  // namespace
}  // namespace campipe
