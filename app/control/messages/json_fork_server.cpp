// The JSON of messages to and from the fork server.
#include "app/control/messages/fork_server.h"
#include "app/control/messages/json.h"

namespace campipe {

template struct JsonOfAll<messages::ToForkServer>;
template struct JsonOfAll<messages::FromForkServer>;
template struct JsonOfAll<MessageList<messages::Begin>>;

}  // namespace campipe
