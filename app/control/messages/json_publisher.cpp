// The JSON of messages to and from the publisher.
#include <utility>

#include "app/control/config_json.h"
#include "app/control/messages/from_publisher.h"
#include "app/control/messages/json.h"
#include "app/control/messages/links_json.h"
#include "app/control/messages/to_publisher.h"
#include "app/control/stream_json.h"

namespace campipe {

template struct JsonOfAll<messages::ToPublisher>;
template struct JsonOfAll<messages::FromPublisher>;

nlohmann::json messages::write_message(Status&& message) {
  nlohmann::json body;
  Status::fields(message, [&body](const char* key, nlohmann::json& field) { body[key] = std::move(field); });
  return body;
}

}  // namespace campipe
