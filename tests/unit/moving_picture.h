// Frames for tests of encoders and recorders: a gradient with a square that moves, the same for the same number.
#pragma once

#include <cstdint>

#include "core/frame.h"

namespace campipe::test {

std::uint8_t moving_luma(int x, int y, int number);

// The caller may watch `owner`: the pixels belong to it.
FrameRef moving_picture(const FrameFormat& format, int number);

// Mean difference of a decoded luma plane from moving_luma().
double difference(const std::uint8_t* luma, int stride, int width, int height, int number);

}  // namespace campipe::test
