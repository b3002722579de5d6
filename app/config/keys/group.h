// The keys of a synchronised group.
#pragma once

#include <chrono>

#include "app/config/group_keys.h"
#include "app/config/key.h"
#include "app/config/values.h"

namespace campipe {

template <typename Keys>
void describe_keys(Keys& keys, Of<GroupConfig>) {
  using namespace std::chrono_literals;
  using G = GroupConfig;
  keys.hidden("name", &G::name);
  keys.key("rate", &G::rate, NumberKey{0.1, 240},
           {.meaning = "how many sets there are. A camera with more frames loses the others (`rate`); one with fewer "
                       "lacks frames of sets",
            .unit = "sets a second",
            .fallback = "the cameras' `rate`, or `capture.rate`, where they have one"});
  keys.key("tolerance", &G::tolerance, DurationKey{1ms, 10s},
           {.meaning = "how far apart the frames of a set may have been taken. Sets with more are encoded, counted and "
                       "logged: cameras without a common trigger are apart by up to half a frame"});
  keys.key("max_wait", &G::max_wait, DurationKey{1ms, 10s},
           {.meaning = "how long a set waits for a frame that has not come. The cameras' `queue_size` is raised to "
                       "what comes meanwhile",
            .range = "1ms to 10s, and up to 28 sets",
            .fallback = "200ms, or one and a half sets where that is longer"});
  keys.key("on_missing", &G::on_missing,
           {.meaning = "what becomes of a set for which a camera has no frame in time. `repeat`: that camera encodes "
                       "its last frame again; `drop`: no camera encodes the set; `wait`: as `repeat`, but only after "
                       "30 s, whatever `max_wait` is; needs `drop_policy: block`"});
}

template <typename Keys>
void describe_keys(Keys& keys, Of<GroupKeys>) {
  keys.key("cameras", &GroupKeys::cameras,
           ParsedKey{read_group_cameras, "list",
                     R"({"type": "array", "minItems": 2, "maxItems": 16, "uniqueItems": true,
                         "items": {"type": "string"}})"},
           {.meaning = "its members: live cameras, or files and test patterns, that are encoded. Each is in one group "
                       "at most",
            .range = "2 to 16 cameras' names",
            .fallback = required});
  describe_keys(keys, Of<GroupConfig>());
}

}  // namespace campipe
