// To and from the process of links (app/link/link_process.h): the lists of messages (app/control/messages/parts.h).
#pragma once

#include "app/control/messages/edges.h"
#include "app/control/messages/links.h"
#include "app/control/messages/run.h"

namespace campipe::messages {

using ToLink = MessageList<LinkIdentity, SendLink, ReceiveLink, StopLink, OfferFrameRing, Leave>;
using FromLink = MessageList<FrameRing, EdgeDone, LinkListens, LinkTransports>;

}  // namespace campipe::messages
