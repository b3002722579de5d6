#include "core/test_pattern.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string>

#include "core/big_endian.h"
#include "core/error.h"

namespace campipe {
namespace {

constexpr int columns = 16;  // of cells
constexpr int rows = 8;
constexpr int bits = columns * rows;
constexpr std::uint8_t black = 16;
constexpr std::uint8_t white = 235;
constexpr std::uint8_t grey = 128;  // chroma of what has no colour

// Edges of cells, in proportion to the frame, so that they stay where they are when it is scaled.
double column_edge(int width, double column) { return column * width / 32; }
double row_edge(int height, double row) { return row * height / 24; }

using Message = std::array<std::uint8_t, bits / 8>;

// CRC-32 as in zlib, PNG and Ethernet.
std::uint32_t crc32(const std::uint8_t* data, std::size_t size) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (std::size_t i = 0; i < size; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xEDB88320 : 0);
  }
  return ~crc;
}

constexpr int checked_bytes = 12;  // number and time

Message message_of(const PatternCode& code) {
  Message message;
  put_big_endian(code.number, 4, message.data());
  put_big_endian(static_cast<std::uint64_t>(code.utc_us), 8, message.data() + 4);
  put_big_endian(crc32(message.data(), checked_bytes), 4, message.data() + checked_bytes);
  return message;
}

bool bit_of(const Message& message, int index) {
  return message[static_cast<std::size_t>(index / 8)] >> (7 - index % 8) & 1;
}

// One plane while it is being painted. Rows that are alike are painted once and copied.
struct Canvas {
  std::uint8_t* data;
  std::ptrdiff_t stride;

  [[nodiscard]] std::uint8_t* row(int y) const { return data + y * stride; }
  void fill(int y, int from, int to, std::uint8_t value) const {
    if (to > from) std::memset(row(y) + from, value, static_cast<std::size_t>(to - from));
  }
  void repeat(int y, int from, int to, int end) const {  // the part [from, to) of row y, down to row `end`
    for (int i = y + 1; i < end; ++i) std::memcpy(row(i) + from, row(y) + from, static_cast<std::size_t>(to - from));
  }
};

Canvas canvas_of(const MutableFrameView& view, std::size_t plane) { return {view.data[plane], view.stride[plane]}; }

// 75 % colour bars in BT.601, limited range: white, yellow, cyan, green, magenta, red, blue, black.
constexpr std::array<std::array<std::uint8_t, 8>, 3> bars{{{180, 162, 131, 112, 84, 65, 35, 16},
                                                           {128, 44, 156, 72, 184, 100, 212, 128},
                                                           {128, 142, 44, 58, 198, 212, 114, 128}}};

void paint_bars(const Canvas& canvas, const std::array<std::uint8_t, 8>& values, int width, int height) {
  for (int i = 0; i < 8; ++i) canvas.fill(0, i * width / 8, (i + 1) * width / 8, values[static_cast<std::size_t>(i)]);
  canvas.repeat(0, 0, width, height);
}

// Rows of `texture` (two periods of `width`), each from a phase of its own.
void paint_texture(const Canvas& canvas, const std::vector<std::uint8_t>& texture, int width, int first, int end,
                   std::uint32_t number) {
  const auto period = static_cast<std::uint32_t>(width);
  for (int y = first; y < end; ++y) {
    const auto depth = static_cast<std::uint32_t>((y - first) * 48 / (end - first));  // the same in all planes
    const std::uint32_t phase = (number % period * 3 + depth * depth * period / 4800) % period;
    std::memcpy(canvas.row(y), texture.data() + phase, static_cast<std::size_t>(width));
  }
}

void paint_moving_bar(const Canvas& canvas, std::uint8_t value, int width, int height, std::uint32_t number) {
  constexpr std::uint32_t steps = 96;  // frames from one side to the other
  const int from = static_cast<int>(number % steps) * width / static_cast<int>(steps);
  const int to = std::min(width, from + std::max(1, width / 48));
  for (int y = 0; y < height; ++y) canvas.fill(y, from, to, value);
}

void paint_code(const Canvas& luma, const Message& message, int width, int height) {
  const int right = static_cast<int>(column_edge(width, columns));
  for (int row = 0; row < rows; ++row) {
    const int top = static_cast<int>(row_edge(height, row));
    for (int column = 0; column < columns; ++column)
      luma.fill(top, static_cast<int>(column_edge(width, column)), static_cast<int>(column_edge(width, column + 1)),
                bit_of(message, row * columns + column) ? white : black);
    luma.repeat(top, 0, right, static_cast<int>(row_edge(height, row + 1)));
  }
}

// Two periods of a wave of `cycles` per period.
std::vector<std::uint8_t> wave(int width, int cycles, double middle, double height, double offset) {
  std::vector<std::uint8_t> row(2 * static_cast<std::size_t>(width));
  for (std::size_t x = 0; x < row.size(); ++x) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(x) / width;
    row[x] = static_cast<std::uint8_t>(std::lround(middle + height * std::sin(cycles * turn + offset)));
  }
  return row;
}

// Waves and a little noise, which is what costs an encoder bits.
std::vector<std::uint8_t> luma_texture(int width) {
  std::vector<std::uint8_t> row = wave(width, 3, 120, 60, 0);
  const std::vector<std::uint8_t> fine = wave(width, 41, 20, 20, 1);
  std::uint32_t random = 1;
  for (std::size_t x = 0; x < static_cast<std::size_t>(width); ++x) {
    random = random * 1664525 + 1013904223;
    row[x] = static_cast<std::uint8_t>(row[x] + fine[x] - 20 + (random >> 28));
    row[x + static_cast<std::size_t>(width)] = row[x];
  }
  return row;
}

// Where the texture begins; even, so that chroma begins with it.
int texture_top(int height) { return height * 2 / 3 / 2 * 2; }

// The mean of what lies well inside of a cell: encoders and scalers smear its edges.
double inner_mean(const FrameView& view, int column, int row) {
  const auto first = [](double edge) { return static_cast<int>(edge); };
  const int left = first(column_edge(view.format.width, column + 0.3));
  const int right = std::max(left + 1, first(column_edge(view.format.width, column + 0.7)));
  const int top = first(row_edge(view.format.height, row + 0.3));
  const int bottom = std::max(top + 1, first(row_edge(view.format.height, row + 0.7)));
  long sum = 0;
  for (int y = top; y < bottom; ++y)
    for (int x = left; x < right; ++x) sum += view.data[0][static_cast<std::ptrdiff_t>(y) * view.stride[0] + x];
  return static_cast<double>(sum) / ((right - left) * (bottom - top));
}

}  // namespace

PatternPainter::PatternPainter(const FrameFormat& format) : format_(format) {
  if (format.pixels != PixelFormat::i420) throw Error("the test pattern is painted in i420 only");
  if (format.width < pattern_min_width || format.height < pattern_min_height)
    throw Error("the test pattern must be at least " + std::to_string(pattern_min_width) + "x" +
                std::to_string(pattern_min_height));
  const int chroma_width = (format.width + 1) / 2;
  luma_row_ = luma_texture(format.width);
  chroma_rows_[0] = wave(chroma_width, 2, 128, 70, 0);
  chroma_rows_[1] = wave(chroma_width, 2, 128, 70, std::numbers::pi / 2);
}

void PatternPainter::paint(const PatternCode& code, const MutableFrameView& out) {
  const auto paint_plane = [&](std::size_t plane, const std::vector<std::uint8_t>& texture, std::uint8_t bar) {
    const PlaneSize size = plane_size(format_, static_cast<int>(plane));
    const int top = texture_top(format_.height) / (plane == 0 ? 1 : 2);
    const Canvas canvas = canvas_of(out, plane);
    paint_bars(canvas, bars[plane], size.width, top);
    paint_texture(canvas, texture, size.width, top, size.height, code.number);
    paint_moving_bar(canvas, bar, size.width, size.height, code.number);
  };
  paint_plane(0, luma_row_, white);
  paint_plane(1, chroma_rows_[0], grey);
  paint_plane(2, chroma_rows_[1], grey);

  paint_code(canvas_of(out, 0), message_of(code), format_.width, format_.height);
  for (std::size_t plane = 1; plane < 3; ++plane)
    for (int y = 0; y < (static_cast<int>(row_edge(format_.height, rows)) + 1) / 2; ++y)
      canvas_of(out, plane).fill(y, 0, (static_cast<int>(column_edge(format_.width, columns)) + 1) / 2, grey);
}

std::optional<PatternCode> read_pattern(const FrameView& frame) {
  if (frame.format.width < pattern_min_width / 2 || frame.format.height < pattern_min_height / 2) return std::nullopt;
  Message message{};
  for (int i = 0; i < bits; ++i)
    if (inner_mean(frame, i % columns, i / columns) >= 128)
      message[static_cast<std::size_t>(i / 8)] |= static_cast<std::uint8_t>(0x80 >> i % 8);
  if (get_big_endian(message.data() + checked_bytes, 4) != crc32(message.data(), checked_bytes)) return std::nullopt;
  return PatternCode{static_cast<std::uint32_t>(get_big_endian(message.data(), 4)),
                     static_cast<std::int64_t>(get_big_endian(message.data() + 4, 8))};
}

}  // namespace campipe
