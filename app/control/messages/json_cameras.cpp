// The JSON of the first message, and of those to and from source and masters.
#include "app/control/config_json.h"
#include "app/control/messages/from_master.h"
#include "app/control/messages/from_source.h"
#include "app/control/messages/json.h"
#include "app/control/messages/setup.h"
#include "app/control/messages/to_master.h"
#include "app/control/messages/to_source.h"
#include "app/control/stream_json.h"

namespace campipe {

template struct JsonOfAll<MessageList<messages::Setup>>;
template struct JsonOfAll<messages::ToSource>;
template struct JsonOfAll<messages::FromSource>;
template struct JsonOfAll<messages::ToMaster>;
template struct JsonOfAll<messages::FromMaster>;
template struct JsonOfAll<MessageList<messages::OfCamera, messages::OfEdgeAtNode, messages::OfOutput>>;

}  // namespace campipe
