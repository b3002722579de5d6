// StreamParameters on their way from a worker to the publisher.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/packet.h"

namespace campipe {

nlohmann::json to_json(const StreamParameters& parameters);
StreamParameters stream_from_json(const nlohmann::json& json);

nlohmann::json to_json(const AudioParameters& parameters);
AudioParameters audio_from_json(const nlohmann::json& json);

}  // namespace campipe
