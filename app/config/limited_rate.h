// How many frames a second there are.
#pragma once

namespace campipe {

// What is left of a source of that rate (0: unknown) where at most `limit` are taken (0: all).
inline double limited_rate(double source, double limit) {
  return limit > 0 && (source <= 0 || limit < source) ? limit : source;
}

}  // namespace campipe
