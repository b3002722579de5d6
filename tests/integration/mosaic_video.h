// Reads the recording of a mosaic back: what each of its cells shows, frame by frame.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/frame_region.h"
#include "core/test_pattern.h"

namespace campipe::test {

struct ShownCell {
  std::optional<PatternCode> code;  // none: it is no test pattern, but a card
  double luma = 0;                  // of all samples, on average
  double colour = 0;                // how far chroma is from grey, on average
};

struct MosaicFrame {
  std::int64_t pts = 0;  // ns
  std::vector<ShownCell> cells;
};

// Throws Error for what no player opens.
std::vector<MosaicFrame> read_mosaic(const std::filesystem::path& file, const std::vector<FrameRegion>& cells);

// For EXPECT_EQ: empty, or what is wrong. Times lie on the clock of `rate` frames a second; with `whole`, none is
// missing. A cell's numbers never go back.
std::string check_mosaic(const std::vector<MosaicFrame>& frames, double rate, bool whole);

// The longest time in which a cell shows no new frame, from the first that it shows on; s.
double longest_standstill(const std::vector<MosaicFrame>& frames, std::size_t cell);

}  // namespace campipe::test
