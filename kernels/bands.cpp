#include "kernels/bands.h"

#include <cuda_fp16.h>

namespace campipe {
namespace {

std::uint32_t half_bits(double weight) { return __half_as_ushort(__float2half_rn(static_cast<float>(weight * 4096))); }

std::uint32_t pair(const BandWeight& weight, int output, int input) {
  return half_bits(weight(output, input)) | half_bits(weight(output, input + 1)) << 16;
}

}  // namespace

Fragment down_fragment(const BandWeight& weight, int first) {
  Fragment fragment;
  for (int lane = 0; lane < 32; ++lane) {
    const int output = lane / 4;
    const int input = first + lane % 4 * 2;
    fragment[static_cast<std::size_t>(lane)].words = {pair(weight, output, input), pair(weight, output + 8, input),
                                                      pair(weight, output, input + 8),
                                                      pair(weight, output + 8, input + 8)};
  }
  return fragment;
}

Fragment across_fragment(const BandWeight& weight, int first, int components) {
  Fragment fragment;
  for (int lane = 0; lane < 32; ++lane) {
    const int column = lane / 4;
    const int left = components == 1 ? column / 2 * 4 + column % 2 : column;
    const int right = components == 1 ? left + 2 : left + 8;
    const int input = first + lane % 4 * 2;
    fragment[static_cast<std::size_t>(lane)].words = {pair(weight, left, input), pair(weight, left, input + 8),
                                                      pair(weight, right, input), pair(weight, right, input + 8)};
  }
  return fragment;
}

}  // namespace campipe
