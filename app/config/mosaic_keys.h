// A mosaic as the file gives it. What is read becomes a camera's configuration with a MosaicConfig (mosaic.cpp).
#pragma once

#include <string>
#include <vector>

#include "app/config/camera_config.h"

namespace campipe {

struct MosaicCameras {
  bool all = true;
  std::vector<std::string> names = {};  // else
  friend bool operator==(const MosaicCameras&, const MosaicCameras&) = default;
};

struct MosaicKeys : CameraConfig {
  MosaicCameras cameras;
  MosaicLayout layout;
};

std::optional<MosaicCameras> read_mosaic_cameras(const YamlNode& node, Report& report);
std::optional<MosaicLayout> read_mosaic_layout(const YamlNode& node, Report& report);
bool read_mosaic_outputs(const YamlNode& node, Given<MosaicKeys>& mosaic, Report& report);

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
