// What becomes of frames that are damaged.
#pragma once

#include <array>
#include <cstdint>

#include "app/config/choice.h"

namespace campipe {

enum class OnCorrupt : std::uint8_t { show, skip };
template <>
inline constexpr std::array choices<OnCorrupt>{Choice<OnCorrupt>{"show", OnCorrupt::show},
                                               Choice<OnCorrupt>{"skip", OnCorrupt::skip}};

}  // namespace campipe
