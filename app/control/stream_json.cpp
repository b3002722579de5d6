#include "app/control/stream_json.h"

#include "app/control/json_fields.h"

namespace campipe {

nlohmann::json to_json(const StreamParameters& parameters) { return write_json(parameters); }

StreamParameters stream_from_json(nlohmann::json from) {
  StreamParameters parameters;
  read_json(from, parameters);
  return parameters;
}

nlohmann::json to_json(const AudioParameters& parameters) { return write_json(parameters); }

}  // namespace campipe
