// Descriptors that a loop waits for, as poll() takes them.
#pragma once

#include <poll.h>

#include <vector>

namespace campipe {

using Waits = std::vector<pollfd>;

}  // namespace campipe
