// The tables of the keys of cameras, their outputs, mosaics and groups.
#include "app/config/key_collector.h"
#include "app/config/keys/camera.h"
#include "app/config/keys/encode.h"
#include "app/config/keys/group.h"
#include "app/config/keys/mosaic.h"
#include "app/config/keys/record.h"
#include "app/config/keys/source.h"
#include "app/config/keys/stream.h"

namespace campipe {

template <>
const KeyTable& keys_of<CameraConfig>() {
  static const KeyTable table = collect_keys<CameraConfig>();
  return table;
}

template <>
const KeyTable& keys_of<StreamConfig>() {
  static const KeyTable table = collect_keys<StreamConfig>();
  return table;
}

template <>
const KeyTable& keys_of<OutputConfig>() {
  static const KeyTable table = collect_keys<OutputConfig>();
  return table;
}

template <>
const KeyTable& keys_of<MosaicKeys>() {
  static const KeyTable table = collect_keys<MosaicKeys>();
  return table;
}

template <>
const KeyTable& keys_of<GroupKeys>() {
  static const KeyTable table = collect_keys<GroupKeys>();
  return table;
}

}  // namespace campipe
