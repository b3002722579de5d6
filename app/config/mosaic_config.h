// A mosaic as it is run: what a camera's configuration has in place of a source.
#pragma once

#include <vector>

#include "app/config/key.h"
#include "app/config/mosaic_layout.h"
#include "app/config/values.h"
#include "core/frame_colour.h"

namespace campipe {

struct MosaicConfig {
  int width = 1920;
  int height = 1080;
  double rate = 25;  // of its own clock
  bool labels = true;
  Rgb background;
  std::vector<MosaicCell> cells;  // as lay_out_mosaic() has laid them out; the cameras are in the rig
  bool across_nodes = false;      // in a cluster: its cameras may run on other nodes
  friend bool operator==(const MosaicConfig&, const MosaicConfig&) = default;
};

template <typename Keys>
void describe_keys(Keys& keys, Of<Rgb>) {
  keys.hidden("red", &Rgb::red);
  keys.hidden("green", &Rgb::green);
  keys.hidden("blue", &Rgb::blue);
}

template <typename Keys>
void describe_keys(Keys& keys, Of<FrameRegion>) {
  keys.hidden("x", &FrameRegion::x);
  keys.hidden("y", &FrameRegion::y);
  keys.hidden("width", &FrameRegion::width);
  keys.hidden("height", &FrameRegion::height);
}

template <typename Keys>
void describe_keys(Keys& keys, Of<MosaicCell>) {
  keys.hidden("camera", &MosaicCell::camera);
  keys.hidden("region", &MosaicCell::region);
}

template <typename Keys>
void describe_keys(Keys& keys, Of<MosaicConfig>) {
  using M = MosaicConfig;
  constexpr auto even_size = R"({"type": "integer", "minimum": 64, "maximum": 8192, "multipleOf": 2})";
  keys.key("width", &M::width, ParsedKey{read_mosaic_size, "integer", even_size},
           {.meaning = "width of the mosaic", .unit = "samples", .range = "64 to 8192, even"});
  keys.key("height", &M::height, ParsedKey{read_mosaic_size, "integer", even_size},
           {.meaning = "its height", .unit = "samples", .range = "64 to 8192, even"});
  keys.key("rate", &M::rate, NumberKey{0.1, 240},
           {.meaning = "how many frames are made, whatever the cameras send: each shows the newest of every camera",
            .unit = "frames a second"});
  keys.key("labels", &M::labels, {.meaning = "each cell has its camera's name at the bottom left"});
  keys.key("background", &M::background,
           ParsedKey{read_mosaic_colour, "list",
                     R"({"type": "array", "minItems": 3, "maxItems": 3,
                         "items": {"type": "integer", "minimum": 0, "maximum": 255}})"},
           {.meaning = "the colour around frames that have another shape than their cell, and where there is no cell: "
                       "red, green and blue",
            .range = "three integers from 0 to 255",
            .fallback = "black"});
  keys.key(
      "across_nodes", &M::across_nodes,
      {.meaning = "in a cluster: the mosaic and its cameras need not run on one node. Frames of cameras that run on "
                  "other nodes come over the network, at the size of their cells"});
  keys.hidden("cells", &M::cells);
}

}  // namespace campipe
