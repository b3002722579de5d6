// The JSON of messages to and from the process of the cluster.
#include "app/control/config_json.h"
#include "app/control/messages/cluster.h"
#include "app/control/messages/json.h"

namespace campipe {

template struct JsonOfAll<messages::ToCluster>;
template struct JsonOfAll<messages::FromCluster>;

}  // namespace campipe
