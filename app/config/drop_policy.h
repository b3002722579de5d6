// What becomes of frames that are not taken in time: they are lost, or what makes them waits.
#pragma once

#include <array>
#include <cstdint>

#include "app/config/choice.h"

namespace campipe {

enum class DropPolicy : std::uint8_t { drop, block };

template <>
inline constexpr std::array choices<DropPolicy>{Choice<DropPolicy>{"drop", DropPolicy::drop},
                                                Choice<DropPolicy>{"block", DropPolicy::block}};

}  // namespace campipe
