#include "app/rings/correction.h"

#include "ipc/counter_table.h"

namespace campipe {

const char* name_of(Correction kind) {
  switch (kind) {
    case Correction::missing:
      return "missing";
    case Correction::repeated:
      return "repeated";
    case Correction::backwards:
      return "backwards";
    case Correction::jumped:
      return "jumped";
    case Correction::stopped:
      return "stopped";
  }
  return "";
}

Counter counter_of(Correction kind) {
  switch (kind) {
    case Correction::missing:
      return Counter::times_missing;
    case Correction::repeated:
      return Counter::times_repeated;
    case Correction::backwards:
      return Counter::times_backwards;
    case Correction::jumped:
      return Counter::times_jumped;
    case Correction::stopped:
      break;
  }
  return Counter::times_stopped;
}

}  // namespace campipe
