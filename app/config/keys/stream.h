// The keys that a camera has for its own stream and for each of its outputs.
#pragma once

#include "app/config/key.h"
#include "app/config/stream_config.h"
#include "app/config/values.h"

namespace campipe {

template <typename Keys>
void describe_keys(Keys& keys, Of<PushUrl>) {
  keys.hidden("url", &PushUrl::url);
  keys.hidden("written", &PushUrl::written);
}

template <typename Keys>
void describe_keys(Keys& keys, Of<FilterConfig>) {
  keys.hidden("name", &FilterConfig::name);
  keys.hidden("parameters", &FilterConfig::parameters);
}

template <typename Keys>
void describe_filters(Keys& keys) {
  keys.key("filters", &StreamConfig::filters, ParsedKey{read_filters, "list", R"({"$ref": "#/$defs/filters"})"},
           {.meaning = "what is done to the frames, in this order; each `name` or `name: {parameter: value}`",
            .range = "filters, see below"});
}

// What is made of the filtered frames, and where it goes.
template <typename Keys>
void describe_targets(Keys& keys) {
  using S = StreamConfig;
  keys.section("encode", &S::encode, {.meaning = "encoding", .fallback = "see below"});
  keys.section("record", &S::record, {.meaning = "recording", .fallback = "no recording"});
  keys.key("push", &S::push, ParsedKey{read_push, "list", R"({"$ref": "#/$defs/push"})"},
           {.meaning = "where the encoded stream is sent. A target that cannot be reached is tried again for ever and "
                       "holds nothing up. `rtsps` and `rtmps` encrypt, but do not check the target's certificate",
            .range = "up to 8 URLs of `rtsp`, `rtsps`, `srt`, `udp`, `rtmp` or `rtmps`"});
  keys.section("snapshot", &S::snapshot, {.meaning = "the newest frame as a file", .fallback = "none"});
}

template <typename Keys>
void describe_keys(Keys& keys, Of<StreamConfig>) {
  using S = StreamConfig;
  keys.hidden("name", &S::name);
  describe_filters(keys);
  keys.key(
      "rate", &S::rate, NumberKey{0, 1000},
      {.meaning = "at most so many are encoded; 0: all", .unit = "frames a second", .scope = KeyScope::transcoded});
  describe_targets(keys);
  keys.hidden("on_demand", &S::on_demand);
  keys.hidden("group", &S::group);
}

template <typename Keys>
void describe_keys(Keys& keys, Of<OutputConfig>) {
  describe_keys(keys, Of<StreamConfig>());
}

template <typename Keys>
void describe_keys(Keys& keys, Of<ResolvedOutput>) {
  describe_keys(keys, Of<StreamConfig>());
  keys.hidden("camera", &ResolvedOutput::camera);
  keys.hidden("output", &ResolvedOutput::output);
  keys.hidden("node", &ResolvedOutput::node);
}

}  // namespace campipe
