// The tables of the keys of the file itself and of users.
#include "app/config/key_collector.h"
#include "app/config/keys/cluster.h"
#include "app/config/keys/rig.h"
#include "app/config/keys/server.h"

namespace campipe {

template <>
const KeyTable& keys_of<RigConfig>() {
  static const KeyTable table = collect_keys<RigConfig>();
  return table;
}

template <>
const KeyTable& keys_of<UserConfig>() {
  static const KeyTable table = collect_keys<UserConfig>();
  return table;
}

}  // namespace campipe
