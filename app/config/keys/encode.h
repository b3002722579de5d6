// The keys of `encode`.
#pragma once

#include <string_view>

#include "app/config/key.h"
#include "app/config/values.h"
#include "stages/encoders/encoder_config.h"

namespace campipe {

template <typename Keys>
void describe_keys(Keys& keys, Of<EncoderConfig>) {
  using E = EncoderConfig;
  constexpr KeyScope transcoded = KeyScope::transcoded;
  keys.key("codec", &E::codec,
           ParsedKey{read_codec, "choice", R"({"enum": ["auto", "h264", "hevc", "mjpeg", "copy"]})"},
           {.meaning = "what is made; `auto`: see above",
            .range = "`auto`, `h264`, `hevc`, `mjpeg`, `copy`; outputs: not `auto`",
            .fallback = "`auto`; outputs: the camera's, or `h264`"});
  keys.key("encoder", &E::encoder, ParsedKey{read_encoder, "string", R"({"type": "string", "minLength": 1})"},
           {.meaning = "what makes it; `auto`: `h264_nvenc` or `hevc_nvenc` on a GPU that has it, as long as it opens, "
                       "else `libx264`, `libx265` or `mjpeg`",
            .range = "`auto`, or FFmpeg's name of an encoder of that codec",
            .scope = transcoded,
            .of_codec = true});
  keys.key("preset", &E::preset, ParsedKey{read_preset, "string", R"({"type": "string", "minLength": 1})"},
           {.meaning = "speed against quality; `auto`: `superfast` for libx264 and libx265",
            .range = "`auto`, or a preset of the encoder",
            .scope = transcoded,
            .of_codec = true});
  keys.key("bitrate", &E::bitrate, ParsedKey{read_bitrate, "bit rate", R"({"$ref": "#/$defs/bitrate"})"},
           {.meaning = "the average; not together with `crf`",
            .unit = "bits a second",
            .range = "10k to 1G",
            .fallback = "4M",
            .scope = transcoded,
            .excludes = "encode.crf"});
  keys.key("crf", &E::crf, NumberKey{0, 51},
           {.meaning = "constant quality, lower is better, instead of `bitrate`",
            .fallback = "none",
            .scope = transcoded,
            .excludes = "encode.bitrate",
            .of_codec = true});
  keys.key("gop", &E::gop, ParsedKey{read_gop, "integer or duration", R"({"$ref": "#/$defs/gop"})"},
           {.meaning = "from one key frame to the next; a time is the width of a [grid](#key-frames)",
            .unit = "frames, or a time",
            .range = "1 to 100000, or 1ms to 10m",
            .scope = transcoded});
  keys.key("latency", &E::latency, {.meaning = "`low`: no frame is held back", .scope = transcoded});
  keys.key("threads", &E::threads, IntegerKey{1, 64, true},
           {.meaning = "threads of this camera's encoder; `auto`: one for 70 million pixels a second (1920×1080 at 30 "
                       "fps), with `hevc` one for 10 million; within the camera's share of its worker's cores",
            .unit = "threads",
            .scope = transcoded});
  keys.key("options", &E::options,
           ParsedKey{read_options, "map",
                     R"({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}})"},
           {.meaning = "further options, by FFmpeg's names; none that names a file or has one written (such as `pass`, "
                       "`stats`, `csv` and `dump-yuv` of `x264-params` and `x265-params`, and `pass1` of `flags`)",
            .range = "the encoder's own",
            .scope = transcoded,
            .of_codec = true});
}

}  // namespace campipe
