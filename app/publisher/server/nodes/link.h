// A connection to another node's door, as a coroutine. Only for the files that use Boost.Beast.
#pragma once

#include "app/publisher/server/http/stream.h"  // first: see there

#include <boost/asio/awaitable.hpp>

#include <memory>
#include <string>

#include "app/publisher/server/nodes/nodes.h"
#include "core/clock.h"

namespace campipe {

inline constexpr auto connect_patience = std::chrono::seconds(2);

// Connected, and by TLS, if that is configured, with the node itself. Throws NodeGone, by the deadline at the latest.
boost::asio::awaitable<std::unique_ptr<HttpStream>> connect_to(NodeTarget target, Deadline deadline);

// All of it, by the deadline. Throws boost::system::system_error.
boost::asio::awaitable<void> write_all(HttpStream& stream, std::string text, Deadline deadline);

}  // namespace campipe
