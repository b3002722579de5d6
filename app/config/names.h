// The names of all choices in a configuration (app/config/choice.h).
#pragma once

#include <array>

#include "app/config/camera_config.h"
#include "app/config/choice.h"
#include "app/config/cluster_config.h"
#include "app/config/drop_policy.h"
#include "app/config/link_transport.h"
#include "app/config/memory_names.h"
#include "app/config/mps.h"
#include "app/config/on_corrupt.h"
#include "app/config/permission.h"
#include "app/config/rig_settings.h"
#include "app/config/server_config.h"
#include "app/config/timestamps.h"
#include "ipc/group_page.h"

namespace campipe {

template <>
inline constexpr std::array choices<Pace>{Choice<Pace>{"realtime", Pace::realtime}, Choice<Pace>{"fast", Pace::fast}};
template <>
inline constexpr std::array choices<Latency>{Choice<Latency>{"low", Latency::low},
                                             Choice<Latency>{"normal", Latency::normal}};
template <>
inline constexpr std::array choices<RtspTransport>{Choice<RtspTransport>{"automatic", RtspTransport::automatic},
                                                   Choice<RtspTransport>{"tcp", RtspTransport::tcp},
                                                   Choice<RtspTransport>{"udp", RtspTransport::udp}};
template <>
inline constexpr std::array choices<RtspTimestamps>{Choice<RtspTimestamps>{"off", RtspTimestamps::off},
                                                    Choice<RtspTimestamps>{"ntp64", RtspTimestamps::ntp64}};
template <>
inline constexpr std::array choices<Audio>{Choice<Audio>{"copy", Audio::copy}, Choice<Audio>{"off", Audio::off}};
template <>
inline constexpr std::array choices<DecodeIsolation>{Choice<DecodeIsolation>{"auto", DecodeIsolation::automatic},
                                                     Choice<DecodeIsolation>{"always", DecodeIsolation::always},
                                                     Choice<DecodeIsolation>{"never", DecodeIsolation::never}};
template <>
inline constexpr std::array choices<RecordWhen>{Choice<RecordWhen>{"always", RecordWhen::always},
                                                Choice<RecordWhen>{"motion", RecordWhen::motion}};
template <>
inline constexpr std::array choices<OnMissing>{Choice<OnMissing>{"repeat", OnMissing::repeat},
                                               Choice<OnMissing>{"drop", OnMissing::drop},
                                               Choice<OnMissing>{"wait", OnMissing::wait}};
template <>
inline constexpr std::array choices<Admission>{Choice<Admission>{"warn", Admission::warn},
                                               Choice<Admission>{"refuse", Admission::refuse}};
template <>
inline constexpr std::array choices<Balance>{Choice<Balance>{"auto", Balance::automatic},
                                             Choice<Balance>{"off", Balance::off}};
template <>
inline constexpr std::array choices<OnPartition>{Choice<OnPartition>{"keep", OnPartition::keep},
                                                 Choice<OnPartition>{"stop", OnPartition::stop}};
template <>
inline constexpr std::array choices<OnEtcdMissing>{Choice<OnEtcdMissing>{"wait", OnEtcdMissing::wait},
                                                   Choice<OnEtcdMissing>{"run", OnEtcdMissing::run}};

}  // namespace campipe
