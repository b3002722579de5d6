// To a worker: the list of messages (app/control/messages/parts.h).
#pragma once

#include "app/control/messages/edges.h"
#include "app/control/messages/nodes.h"
#include "app/control/messages/run.h"
#include "app/control/messages/run_node.h"

namespace campipe::messages {

using ToWorker = MessageList<OfferGroupPage, OfferHandOver, RunNode, Start, OfferFrameRing, RenewRing, EdgeOver,
                             FinishNode, ShowCell, WriteEdge, StopEdge, ShrinkNode, GoOn, ForgetNode, RigOver>;

}  // namespace campipe::messages
