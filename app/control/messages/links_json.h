// The JSON of what messages of links consist of (app/control/json_fields.h).
#pragma once

#include <type_traits>

#include "app/config/cluster_config.h"
#include "app/control/json_fields.h"

namespace campipe {

template <>
struct LastOf<LinkTransport> : std::integral_constant<LinkTransport, LinkTransport::ucx> {};

}  // namespace campipe
