#include "app/supervisor/rig_state.h"

#include "app/config/rig_config.h"

namespace campipe {

const RigSettings& RigState::settings() const { return *config; }

}  // namespace campipe
