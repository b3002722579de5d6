#include "ipc/thread_block.h"

namespace campipe {

const char* name_of(WaitsFor what) {
  switch (what) {
    case WaitsFor::nothing:
      return "nothing";
    case WaitsFor::source:
      return "source";
    case WaitsFor::disk:
      return "disk";
    case WaitsFor::decoder:
      return "decoder";
    case WaitsFor::filter:
      return "filter";
    case WaitsFor::encoder:
      return "encoder";
  }
  return "unknown";
}

}  // namespace campipe
