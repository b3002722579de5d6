// The JSON of streams' parameters: in messages (app/control/messages/packet_rings.h), and by itself for who has none.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/packet.h"

namespace campipe {

template <typename T>
struct FieldsOf;
template <>
struct FieldsOf<FrameFormat> {
  static void fields(auto& m, auto&& f) {
    f("pixels", m.pixels), f("width", m.width), f("height", m.height), f("color_range", m.color_range),
        f("color_space", m.color_space), f("color_primaries", m.color_primaries), f("color_transfer", m.color_transfer),
        f("chroma_location", m.chroma_location), f("sample_aspect_num", m.sample_aspect_num),
        f("sample_aspect_den", m.sample_aspect_den);
  }
};
template <>
struct FieldsOf<StreamParameters> {
  static void fields(auto& m, auto&& f) {
    f("codec", m.codec), f("encoder", m.encoder), f("format", m.format), f("frame_rate", m.frame_rate),
        f("extradata", m.extradata), f("rotation", m.rotation);
  }
};
template <>
struct FieldsOf<AudioParameters> {
  static void fields(auto& m, auto&& f) {
    f("codec", m.codec), f("sample_rate", m.sample_rate), f("channels", m.channels), f("frame_size", m.frame_size),
        f("bits_per_coded_sample", m.bits_per_coded_sample), f("block_align", m.block_align),
        f("extradata", m.extradata);
  }
};

nlohmann::json to_json(const StreamParameters& parameters);
// Throws BadJson.
StreamParameters stream_from_json(nlohmann::json json);

nlohmann::json to_json(const AudioParameters& parameters);

}  // namespace campipe
