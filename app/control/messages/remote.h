// To and from workers whose work another node of the cluster does (app/remote/relay.h), and workers that do work of
// other nodes (app/remote/guest.h): the lists of messages (app/control/messages/parts.h).
#pragma once

#include "app/control/messages/from_worker.h"
#include "app/control/messages/links.h"
#include "app/control/messages/to_worker.h"

namespace campipe::messages {

template <typename... M, typename... N>
MessageList<M..., N...> both(MessageList<M...>, MessageList<N...>);
using ToRemote = decltype(both(ToWorker(), MessageList<LinkIdentity, SendLink, ReceiveLink, StopLink>()));
using FromRemote = decltype(both(FromWorker(), MessageList<LinkListens, LinkTransports>()));

using ToGuest = MessageList<Start, LinkIdentity, RunNode, ReceiveLink, SendLink, ForgetNode, RigOver>;
using FromGuest = MessageList<LinkListens, LinkTransports, EdgeFailed>;

}  // namespace campipe::messages
