#include "app/control/message_dispatch.h"

namespace campipe {

void refuse_unknown(const Message& message) {
  throw BadMessage("'" + message.type + "', which is not for this process");
}

}  // namespace campipe
