// The names of what rings are made of (core/frame.h).
#pragma once

#include <array>

#include "app/config/choice.h"
#include "core/frame.h"

namespace campipe {

template <>
inline constexpr std::array choices<MemoryKind>{Choice<MemoryKind>{"host", MemoryKind::host},
                                                Choice<MemoryKind>{"cuda_vmm", MemoryKind::cuda_vmm},
                                                Choice<MemoryKind>{"cuda_legacy", MemoryKind::cuda_legacy},
                                                Choice<MemoryKind>{"cuda_fabric", MemoryKind::cuda_fabric}};
template <>
inline constexpr std::array choices<ReadySignal>{Choice<ReadySignal>{"ipc_event", ReadySignal::ipc_event},
                                                 Choice<ReadySignal>{"timeline", ReadySignal::timeline}};

}  // namespace campipe
