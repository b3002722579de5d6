// To and from the process of links (app/link/link_process.h): the lists of messages (app/control/messages/parts.h).
#pragma once

#include "app/control/messages/edges.h"
#include "app/control/messages/from_worker.h"
#include "app/control/messages/links.h"
#include "app/control/messages/nodes.h"
#include "app/control/messages/run.h"
#include "app/control/messages/run_node.h"

namespace campipe::messages {

// Nodes: those whose work another node of the cluster does. To the supervisor each is one like any other.
using ToLink = MessageList<LinkIdentity, SendLink, ReceiveLink, StopLink, OfferFrameRing, RunNode, RenewRing, EdgeOver,
                           ForgetNode, Leave>;
using FromLink = MessageList<FrameRing, EdgeDone, LinkListens, LinkTransports, NodeDone, FrameRingLost>;

}  // namespace campipe::messages
