// For functions of this program that stand before the C library's.
#pragma once

#include <dlfcn.h>

namespace campipe {

// The one behind it: a sanitizer's where there is one, else the C library's.
template <typename Function>
Function next_function(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace campipe
