#include "core/reorder_depth.h"

#include <algorithm>
#include <array>
#include <new>

#include "core/big_endian.h"
#include "core/bit_reader.h"
#include "core/extradata.h"
#include "core/start_codes.h"

namespace campipe {
namespace {

using Bytes = std::span<const std::uint8_t>;

void skip_numbers(BitReader& in, unsigned count) {
  for (unsigned i = 0; i < count && !in.has_ended(); ++i) in.number();
}

// ITU-T H.264, 7.3.2.1.1.1
void skip_scaling_list(BitReader& in, int size) {
  int next = 8;
  for (int i = 0; i < size && next != 0 && !in.has_ended(); ++i) {
    const unsigned code = in.number();
    const int step = static_cast<int>((code + 1) / 2);
    next = (next + (code % 2 != 0 ? step : -step) + 256) % 256;
  }
}

bool has_chroma(unsigned profile) {
  constexpr std::array<unsigned, 12> high{100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134};
  return std::ranges::count(high, profile) != 0;
}

void skip_format(BitReader& in) {
  const unsigned chroma = in.number();
  if (chroma == 3) in.skip(1);
  skip_numbers(in, 2);
  in.skip(1);
  if (in.bits(1) == 0) return;
  for (int i = 0; i < (chroma == 3 ? 12 : 8); ++i) {
    if (in.bits(1) != 0) skip_scaling_list(in, i < 6 ? 16 : 64);
  }
}

void skip_order(BitReader& in) {
  const unsigned type = in.number();
  if (type == 0) in.number();
  if (type != 1) return;
  in.skip(1);
  skip_numbers(in, 2);
  skip_numbers(in, in.number());
}

// E.1.2
void skip_buffers(BitReader& in) {
  const unsigned count = in.number() + 1;
  in.skip(8);
  for (unsigned i = 0; i < count && !in.has_ended(); ++i) {
    skip_numbers(in, 2);
    in.skip(1);
  }
  in.skip(20);
}

// E.1.1, up to max_num_reorder_frames.
std::optional<int> in_usability_information(BitReader& in) {
  constexpr unsigned own_ratio = 255;
  if (in.bits(1) != 0 && in.bits(8) == own_ratio) in.skip(32);
  if (in.bits(1) != 0) in.skip(1);
  if (in.bits(1) != 0) {
    in.skip(4);
    if (in.bits(1) != 0) in.skip(24);
  }
  if (in.bits(1) != 0) skip_numbers(in, 2);
  if (in.bits(1) != 0) in.skip(65);
  const bool of_units = in.bits(1) != 0;
  if (of_units) skip_buffers(in);
  const bool of_slices = in.bits(1) != 0;
  if (of_slices) skip_buffers(in);
  if (of_units || of_slices) in.skip(1);
  in.skip(1);
  if (in.bits(1) == 0) return std::nullopt;
  in.skip(1);
  skip_numbers(in, 4);
  const unsigned depth = in.number();
  return in.has_ended() || depth > 16 ? std::nullopt : std::optional(static_cast<int>(depth));
}

// 7.3.2.1.1; `set`: behind its first byte.
std::optional<int> in_h264(Bytes set) {
  BitReader in(set);
  const unsigned profile = in.bits(8);
  in.skip(16);
  in.number();
  if (has_chroma(profile)) skip_format(in);
  in.number();
  skip_order(in);
  in.number();
  in.skip(1);
  skip_numbers(in, 2);
  if (in.bits(1) == 0) in.skip(1);
  in.skip(1);
  if (in.bits(1) != 0) skip_numbers(in, 4);
  return in.bits(1) != 0 ? in_usability_information(in) : std::nullopt;
}

// The first one, behind its first byte; empty: there is none.
Bytes sequence_of_h264(Bytes extradata) {
  constexpr std::size_t head = 8;  // of the header of a file (ISO/IEC 14496-15), with the length of its first set
  if (extradata[0] == 1) {
    const std::size_t size = extradata.size() > head ? get_big_endian(&extradata[head - 2], 2) : 0;
    return size > 1 && size <= extradata.size() - head ? extradata.subspan(head + 1, size - 1) : Bytes();
  }
  for (Bytes unit = behind_start_code(extradata); !unit.empty(); unit = behind_start_code(unit)) {
    if ((unit[0] & 31U) == 7) return unit.subspan(1);
  }
  return {};
}

std::optional<int> in_hevc(Bytes extradata) {
  const AVCodec* decoder = avcodec_find_decoder(AV_CODEC_ID_HEVC);
  if (decoder == nullptr) return std::nullopt;
  const AvCodecContext context(avcodec_alloc_context3(decoder));
  if (!context) throw std::bad_alloc();
  set_extradata(*context, extradata);
  context->thread_count = 1;
  if (avcodec_open2(context.get(), decoder, nullptr) < 0) return std::nullopt;
  return context->has_b_frames;
}

}  // namespace

std::optional<int> reorder_depth(AVCodecID codec, Bytes extradata) {
  if (extradata.empty()) return std::nullopt;
  if (codec == AV_CODEC_ID_HEVC) return in_hevc(extradata);
  return codec == AV_CODEC_ID_H264 ? in_h264(sequence_of_h264(extradata)) : std::nullopt;
}

}  // namespace campipe
