#pragma once

#include <string>

#include "app/control/requests.h"

namespace campipe {

// To a request that is not done.
inline messages::Answer refused(int status, const std::string& why) { return {status, {{"error", why}}}; }

}  // namespace campipe
