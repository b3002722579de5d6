#include "app/control/stream_json.h"

#include <nlohmann/json.hpp>

namespace campipe {

nlohmann::json to_json(const StreamParameters& p) {
  const FrameFormat& f = p.format;
  return {{"codec", p.codec},
          {"encoder", p.encoder},
          {"frame_rate", p.frame_rate},
          {"extradata", p.extradata},
          {"pixels", static_cast<int>(f.pixels)},
          {"width", f.width},
          {"height", f.height},
          {"rotation", p.rotation},
          {"color", {f.color_range, f.color_space, f.color_primaries, f.color_transfer, f.chroma_location}},
          {"sample_aspect", {f.sample_aspect_num, f.sample_aspect_den}}};
}

StreamParameters stream_from_json(const nlohmann::json& json) {
  StreamParameters p;
  p.codec = json.at("codec");
  p.encoder = json.at("encoder");
  p.frame_rate = json.at("frame_rate");
  p.extradata = json.at("extradata").get<std::vector<std::uint8_t>>();
  FrameFormat& f = p.format;
  f.pixels = static_cast<PixelFormat>(json.at("pixels").get<int>());
  f.width = json.at("width");
  f.height = json.at("height");
  p.rotation = json.at("rotation");
  const auto& color = json.at("color");
  f.color_range = color.at(0);
  f.color_space = color.at(1);
  f.color_primaries = color.at(2);
  f.color_transfer = color.at(3);
  f.chroma_location = color.at(4);
  f.sample_aspect_num = json.at("sample_aspect").at(0);
  f.sample_aspect_den = json.at("sample_aspect").at(1);
  return p;
}

nlohmann::json to_json(const AudioParameters& p) {
  return {{"codec", p.codec},           {"sample_rate", p.sample_rate},    {"channels", p.channels},
          {"frame_size", p.frame_size}, {"bits", p.bits_per_coded_sample}, {"block_align", p.block_align},
          {"extradata", p.extradata}};
}

AudioParameters audio_from_json(const nlohmann::json& json) {
  AudioParameters p;
  p.codec = json.at("codec");
  p.sample_rate = json.at("sample_rate");
  p.channels = json.at("channels");
  p.frame_size = json.at("frame_size");
  p.bits_per_coded_sample = json.at("bits");
  p.block_align = json.at("block_align");
  p.extradata = json.at("extradata").get<std::vector<std::uint8_t>>();
  return p;
}

}  // namespace campipe
