// What users may do.
#pragma once

#include <array>
#include <cstdint>

#include "app/config/choice.h"

namespace campipe {

// metrics: see how the rig does, in numbers. view: also watch. record: also recordings, and starting and stopping them.
// administer: all. Each includes those before it.
enum class Permission : std::uint8_t { metrics, view, record, administer };

template <>
inline constexpr std::array choices<Permission>{
    Choice<Permission>{"metrics", Permission::metrics}, Choice<Permission>{"view", Permission::view},
    Choice<Permission>{"record", Permission::record}, Choice<Permission>{"administer", Permission::administer}};

}  // namespace campipe
