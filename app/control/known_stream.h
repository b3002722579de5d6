// What an open source sends, as far as it costs something: for the prediction of what a rig needs (app/placement).
#pragma once

#include <map>
#include <string>

#include "core/source_stream.h"

namespace campipe {

struct KnownStream {
  std::string codec;  // FFmpeg's name, or "pattern"; empty: unknown
  int width = 0;      // as it is shown
  int height = 0;
  double rate = 0;  // frames a second; 0: unknown
  friend bool operator==(const KnownStream&, const KnownStream&) = default;
  static void fields(auto& m, auto&& f) {
    f("codec", m.codec), f("width", m.width), f("height", m.height), f("rate", m.rate);
  }
};
using KnownStreams = std::map<std::string, KnownStream, std::less<>>;  // by camera

// Of no size where the source does not announce it.
KnownStream known_stream(const SourceStream& stream);
// One that a source can send.
bool is_possible(const KnownStream& stream);

}  // namespace campipe
