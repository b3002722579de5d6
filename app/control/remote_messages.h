// To and from workers that do work of other nodes of a cluster (app/remote/guest.h).
#pragma once

#include "app/control/messages.h"

namespace campipe::messages {

using ToGuest = MessageList<Start, LinkIdentity, RunNode, ReceiveLink, SendLink, ForgetNode, RigOver>;
using FromGuest = MessageList<LinkListens, LinkTransports, EdgeFailed>;

}  // namespace campipe::messages
