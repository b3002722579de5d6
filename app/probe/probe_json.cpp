// The JSON of messages of the probe, of its helper, and of the check of a GPU.
#include "app/control/messages/json.h"
#include "app/probe/device_check.h"
#include "app/probe/probe_messages.h"

namespace campipe {

template <>
struct JsonOf<Devices> {
  static nlohmann::json write(const Devices& devices) { return to_json(devices); }
  static Devices read(const nlohmann::json& from) { return devices_from_json(from); }
};

template struct JsonOfAll<messages::FromProbe>;
template struct JsonOfAll<MessageList<messages::ReadShared, messages::SharedRead>>;
template struct JsonOfAll<messages::FromDeviceCheck>;

}  // namespace campipe
