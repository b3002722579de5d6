// The keys of a mosaic.
#pragma once

#include "app/config/key.h"
#include "app/config/keys/stream.h"
#include "app/config/mosaic_keys.h"
#include "app/config/values.h"

namespace campipe {

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

template <typename Keys>
void describe_keys(Keys& keys, Of<MosaicKeys>) {
  using M = MosaicKeys;
  keys.key(
      "cameras", &M::cameras,
      ParsedKey{read_mosaic_cameras, "choice or list",
                R"({"anyOf": [{"const": "all"}, {"type": "array", "minItems": 1, "maxItems": 99, "uniqueItems": true,
                         "items": {"type": "string"}}]})"},
      {.meaning = "which cameras are shown, in this order. `all`: those of the file, in its order, also the disabled "
                  "ones. A camera that only a mosaic uses is decoded for it",
       .range = "`all`, or 1 to 99 cameras' names",
       .fallback = "`all`"});
  keys.key(
      "layout", &M::layout,
      ParsedKey{read_mosaic_layout, "choice or list",
                R"({"anyOf": [{"type": "string", "pattern": "^(auto|[1-9][0-9]?x[1-9][0-9]?)$"},
                         {"type": "array", "minItems": 1, "maxItems": 99,
                          "items": {"type": "array", "minItems": 5, "maxItems": 5}}]})"},
      {.meaning = "`auto`: the grid in which frames of 16:9 are largest; `3x2`: three columns and two rows, filled "
                  "from the top left; or cells: each `[camera, x, y, width, height]`, in samples, even. Where cells "
                  "overlap, the later one is on top. A list names its cameras: `cameras` is then left out",
       .range = "`auto`, `1x1` to `99x99`, or 1 to 99 cells",
       .fallback = "`auto`"});
  keys.inlined(&CameraConfig::mosaic);
  keys.key("enabled", &CameraConfig::enabled,
           {.meaning = "`false`: the mosaic stays in the rig, but does not run until it is enabled"});
  keys.key("gpu", &CameraConfig::gpu,
           ParsedKey{read_gpu_name, "choice, integer or string", R"({"$ref": "#/$defs/gpu"})"},
           {.meaning = "where the mosaic is drawn, filtered and, if that GPU can, encoded; as a camera's",
            .range = "as a camera's `gpu`"});
  describe_filters(keys);
  describe_targets(keys);
  keys.entries("outputs", &CameraConfig::outputs, read_mosaic_outputs, R"({"$ref": "#/$defs/outputs"})",
               {.meaning = "what else is made of the mosaic, as a camera's `outputs`",
                .range = "up to 4 outputs",
                .fallback = "none"});
}

}  // namespace campipe
