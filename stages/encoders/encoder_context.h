// From an EncoderConfig to an opened AVCodecContext; every refusal becomes an Error that starts with the key to
// blame, as the user wrote it: "encode.preset: …", "encode.options.crf: …".
#pragma once

#include "core/ffmpeg.h"
#include "stages/encoders/encoder.h"

namespace campipe {

struct EncoderConfig;

// Fine enough for any camera, and the scale that RTP and MP4 use for video.
inline constexpr AVRational encoder_time_base{1, 90'000};
// What rate control assumes for a stream of unknown frame rate.
inline constexpr double assumed_frame_rate = 25;

// Takes frames in the GPU's memory where `place` has hardware and the encoder is that hardware.
AvCodecContext open_encoder_context(const EncoderConfig& config, const FrameFormat& input, double frame_rate,
                                    const EncoderPlace& place);

// Without the odd last row and column.
FrameFormat even_size(const FrameFormat& format);
// What the encoder is given of frames of `input`: of even size, i420 where it takes no nv12, for JPEG as that is.
FrameFormat encoded_format(const FrameFormat& input, const AVCodec& encoder);
AVPixelFormat av_pixel_format(PixelFormat pixels);

}  // namespace campipe
