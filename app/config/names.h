// The names of the choices in a configuration; YAML and JSON use the same.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "app/config/config.h"

namespace campipe {

template <typename T>
struct Choice {
  std::string_view name;
  T value;
};

template <typename T>
inline constexpr auto choices = nullptr;  // specialised below for every enumeration that a file can name
template <>
inline constexpr std::array choices<Pace>{Choice<Pace>{"realtime", Pace::realtime}, Choice<Pace>{"fast", Pace::fast}};
template <>
inline constexpr std::array choices<Latency>{Choice<Latency>{"low", Latency::low},
                                             Choice<Latency>{"normal", Latency::normal}};
template <>
inline constexpr std::array choices<DropPolicy>{Choice<DropPolicy>{"drop", DropPolicy::drop},
                                                Choice<DropPolicy>{"block", DropPolicy::block}};
template <>
inline constexpr std::array choices<RtspTransport>{Choice<RtspTransport>{"automatic", RtspTransport::automatic},
                                                   Choice<RtspTransport>{"tcp", RtspTransport::tcp},
                                                   Choice<RtspTransport>{"udp", RtspTransport::udp}};
template <>
inline constexpr std::array choices<Audio>{Choice<Audio>{"copy", Audio::copy}, Choice<Audio>{"off", Audio::off}};
template <>
inline constexpr std::array choices<OnCorrupt>{Choice<OnCorrupt>{"show", OnCorrupt::show},
                                               Choice<OnCorrupt>{"skip", OnCorrupt::skip}};
template <>
inline constexpr std::array choices<DecodeIsolation>{Choice<DecodeIsolation>{"auto", DecodeIsolation::automatic},
                                                     Choice<DecodeIsolation>{"always", DecodeIsolation::always},
                                                     Choice<DecodeIsolation>{"never", DecodeIsolation::never}};
template <>
inline constexpr std::array choices<RecordWhen>{Choice<RecordWhen>{"always", RecordWhen::always},
                                                Choice<RecordWhen>{"motion", RecordWhen::motion}};
template <>
inline constexpr std::array choices<MemoryKind>{Choice<MemoryKind>{"host", MemoryKind::host},
                                                Choice<MemoryKind>{"cuda_vmm", MemoryKind::cuda_vmm},
                                                Choice<MemoryKind>{"cuda_legacy", MemoryKind::cuda_legacy},
                                                Choice<MemoryKind>{"cuda_fabric", MemoryKind::cuda_fabric}};
template <>
inline constexpr std::array choices<ReadySignal>{Choice<ReadySignal>{"ipc_event", ReadySignal::ipc_event},
                                                 Choice<ReadySignal>{"timeline", ReadySignal::timeline}};
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
template <>
inline constexpr std::array choices<LinkTransport>{Choice<LinkTransport>{"zeromq", LinkTransport::zeromq},
                                                   Choice<LinkTransport>{"ucx", LinkTransport::ucx}};
template <>
inline constexpr std::array choices<Mps>{Choice<Mps>{"off", Mps::off}, Choice<Mps>{"use", Mps::use}};
template <>
inline constexpr std::array choices<Permission>{Choice<Permission>{"view", Permission::view},
                                                Choice<Permission>{"record", Permission::record},
                                                Choice<Permission>{"administer", Permission::administer}};
template <>
inline constexpr std::array choices<bool>{Choice<bool>{"true", true}, Choice<bool>{"false", false}};

template <typename T>
constexpr std::optional<T> find_choice(std::string_view name) {
  for (const auto& choice : choices<T>) {
    if (choice.name == name) return choice.value;
  }
  return std::nullopt;
}

template <typename T>
constexpr std::string_view choice_name(T value) {
  for (const auto& choice : choices<T>) {
    if (choice.value == value) return choice.name;
  }
  return {};
}

}  // namespace campipe
