// How a node treats those who wait for what it makes.
#pragma once

#include "app/config/camera_config.h"

namespace campipe {

struct ReaderQueue {
  DropPolicy policy = DropPolicy::block;
  unsigned size = 8;  // frames that may wait
};

}  // namespace campipe
