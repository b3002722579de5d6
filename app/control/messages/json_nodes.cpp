// The JSON of messages to and from workers and the process of links.
#include "app/control/config_json.h"
#include "app/control/messages/from_worker.h"
#include "app/control/messages/json.h"
#include "app/control/messages/link_process.h"
#include "app/control/messages/links_found.h"
#include "app/control/messages/links_json.h"
#include "app/control/messages/to_worker.h"
#include "app/control/stream_json.h"

namespace campipe {

template struct JsonOfAll<messages::ToWorker>;
template struct JsonOfAll<messages::FromWorker>;
template struct JsonOfAll<messages::ToLink>;
template struct JsonOfAll<messages::FromLink>;
template struct JsonOfAll<MessageList<messages::LinksFound>>;

}  // namespace campipe
