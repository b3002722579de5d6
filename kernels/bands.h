// Linear filters as products of matrices, which is what a GPU's tensor cores compute: a plane that is blurred or
// resized is D·P·A, where P is the plane and D (down) and A (across) have few weights that are not 0, near the
// diagonal: bands. Both are cut into blocks of 16 outputs, and these into fragments of 16 inputs, in the order in which
// the lanes of a warp hold the operands of the instruction mma.m16n8k16.
//
// Numbers: a sample `s` is the 16-bit float with the bits of the integer `s`: s·2^-24, exact, and widening bytes costs
// next to nothing. A weight is times 2^12. So after D a sample is times 2^-12, after A it is itself.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace campipe {

struct LaneFragment {
  std::array<std::uint32_t, 4> words{};  // two 16-bit floats each
  friend auto operator<=>(const LaneFragment&, const LaneFragment&) = default;
};
using Fragment = std::array<LaneFragment, 32>;

// The weight (of 1) that an input has in one of the 16 outputs of a block.
using BandWeight = std::function<double(int output, int input)>;

// For inputs [first, first + 16). Of D: the left operand.
Fragment down_fragment(const BandWeight& weight, int first);

// Of A: the right operands of two instructions, which make 8 outputs each. Where there is one component, so that a lane
// gets four neighbours, the lane's two of the one before its two of the other; else each makes the next 8.
Fragment across_fragment(const BandWeight& weight, int first, int components);

}  // namespace campipe
