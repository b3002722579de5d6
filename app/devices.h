// What this machine offers, found by trying: cores, GPUs, decoders, encoders, shared memory.
#pragma once

#include <string>

namespace campipe {

std::string describe_devices();

}  // namespace campipe
