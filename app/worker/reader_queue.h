// How a node treats those who wait for what it makes.
#pragma once

#include "app/config/drop_policy.h"

namespace campipe {

struct ReaderQueue {
  DropPolicy policy = DropPolicy::block;
  unsigned size = 8;  // frames that may wait
};

}  // namespace campipe
