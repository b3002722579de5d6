// From an EncoderConfig to an opened AVCodecContext; every refusal becomes an Error that starts with the key to
// blame, as the user wrote it: "encode.preset: …", "encode.options.crf: …".
#pragma once

#include "core/ffmpeg.h"
#include "stages/encoders/encoder.h"

namespace campipe {

// Fine enough for any camera, and the scale that RTP and MP4 use for video.
inline constexpr AVRational encoder_time_base{1, 90'000};
// What rate control assumes for a stream that does not say its frame rate.
inline constexpr double assumed_frame_rate = 25;

// Takes pictures in the GPU's memory where `place` has hardware and the encoder is that hardware.
AvCodecContext open_encoder_context(const EncoderConfig& config, const FrameFormat& input, double frame_rate,
                                    const EncoderPlace& place);

// The input's format without the odd last row and column.
FrameFormat encoded_format(const FrameFormat& input);
AVPixelFormat av_pixel_format(PixelFormat pixels);

}  // namespace campipe
