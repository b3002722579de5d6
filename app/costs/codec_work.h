// Decoding and encoding as work (cost_table.h).
#pragma once

#include <string>
#include <string_view>

#include "app/costs/cost_table.h"
#include "core/frame.h"
#include "stages/encoders/encoder.h"

namespace campipe {

struct EncoderConfig;

// `codec`: FFmpeg's name, or "pattern" for frames that are painted. Of one that is not measured: that of the nearest
// one that is.
Work decode_work(std::string_view codec, const FrameFormat& format);
// `encoder`: FFmpeg's name, as first_encoder() returns it. Its parameter is how many bits a pixel gets.
Work encode_work(const std::string& encoder, const EncoderConfig& config, const FrameFormat& format, double rate);
// Of a frame from memory to memory; on a GPU, from and to host memory.
Work copy_work(const FrameFormat& format);
Work upload_work(const FrameFormat& format);
Work download_work(const FrameFormat& format);

std::string decode_work_name(std::string_view codec);
std::string encode_work_name(std::string_view encoder);

// How much longer a preset takes than `superfast`, about; 1 for one that is not known. Of x264 and x265.
double preset_factor(std::string_view encoder, std::string_view preset);

// What encoders are measured with, and clips for decoders made: about what cameras send.
inline constexpr double usual_bits_a_pixel = 0.08;
inline constexpr double probed_rate = 25;

}  // namespace campipe
