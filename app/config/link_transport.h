// How frames go from node to node (app/link).
#pragma once

#include <array>
#include <cstdint>

#include "app/config/choice.h"

namespace campipe {

enum class LinkTransport : std::uint8_t { zeromq, ucx };

template <>
inline constexpr std::array choices<LinkTransport>{Choice<LinkTransport>{"zeromq", LinkTransport::zeromq},
                                                   Choice<LinkTransport>{"ucx", LinkTransport::ucx}};

}  // namespace campipe
