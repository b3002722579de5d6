// A source's stream as its packets have it. What was announced when it was opened (parameter sets, the container's
// headers, the size of frames) counts only as long as the packets do not say otherwise: they bring their parameter sets
// along, with or before a key frame, or a new header from the container (AV_PKT_DATA_NEW_EXTRADATA), or come of another
// stream of the source, which took the place of the one before.
//
// Whoever begins with a key frame needs the headers as they are there. So they are compared at key frames, for all
// codecs whose headers can be read; of damaged packets (AV_PKT_FLAG_CORRUPT) nothing is believed.
//
// Each change is a new file, and a new beginning for viewers. Where they come too often for that, stream() stays as it
// is: then packet() has the parameter sets in it, by which decoders go on.
//
// Used by the camera's ingest thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/ffmpeg.h"
#include "core/line_limit.h"
#include "core/source_stream.h"
#include "stages/sinks/frame_size.h"
#include "stages/sinks/parameter_sets.h"

namespace campipe {

class FollowedStream {
 public:
  enum class Change : std::uint8_t {
    none,
    headers,  // a decoder that was begun before goes on: the packets tell it
    stream    // it does not
  };

  enum class Fault : std::uint8_t {
    none,
    no_sets,          // it refers to parameter sets that never came
    other_sets,       // it refers to others than the key frame's, which a decoder that began there does not have
    unreadable_sets,  // a key frame has such, or they say a size that is not taken
    wrong_sets,       // it cannot be decoded with those that were announced, and none came in the packets
    broken,           // its units are none that a decoder takes (is_broken())
    no_key_frame      // the source goes on with another stream, of which no key frame has come yet
  };

  // `camera`: its name, for the log. `tries`: the first key frames are decoded where nothing but an announcement says
  // how.
  explicit FollowedStream(std::string camera, bool tries = false) : camera_(std::move(camera)), tries_(tries) {}

  // The source was opened (again). `announced` stays until the next begin(), and may change meanwhile: a source may go
  // on with another of its streams.
  void begin(const SourceStream& announced);
  // As it is now, with what the newest key frame needs.
  [[nodiscard]] const SourceStream& stream() const { return stream_; }
  // The source's audio is another one of its streams.
  void follow_audio();

  // For each packet of the video, before anybody else gets it. Returns what has changed with it.
  Change take(const AVPacket& packet, Clock::time_point now = Clock::now());
  // The packet that was taken last, to be passed on, until the next one is taken.
  [[nodiscard]] const AVPacket& packet() const { return *packet_; }
  // Why no decoder can show that packet, which began with the newest key frame and stream().
  [[nodiscard]] Fault fault() const { return fault_; }
  // Of H.264 and HEVC: false for a packet of nothing but parameter sets and the like. Others always do.
  [[nodiscard]] bool shows_picture() const { return shows_picture_; }

 private:
  struct Headers {
    std::vector<std::uint8_t> extradata;
    std::optional<SentFormat> format;
    friend bool operator==(const Headers&, const Headers&) = default;
  };

  struct Described {
    std::optional<ParameterSets> sets;
    AvCodecParameters codec;
  };

  void follow_source();
  Described describe_announced();
  void keep_form(const Described& before);
  void take_side_data(const AVPacket& packet);
  Change take_key_frame(const AVPacket& packet, Clock::time_point now);
  void take_sets(const AVPacket& packet);
  void compare_with_key_frame(const AVPacket& packet);
  [[nodiscard]] std::optional<Headers> changed_sets(std::span<const std::uint8_t> packet);
  [[nodiscard]] std::optional<Headers> changed_headers(std::span<const std::uint8_t> packet);
  bool may_change(Clock::time_point now);
  Change apply(const Headers& headers);
  void put_sets_into(const AVPacket& packet);
  void try_to_decode(const AVPacket& packet);

  const std::string camera_;
  const bool tries_;
  const SourceStream* announced_ = nullptr;
  const AVCodecParameters* source_codec_ = nullptr;  // that is followed
  unsigned serial_ = 0;
  AVCodecID codec_id_ = AV_CODEC_ID_NONE;
  AvCodecParameters codec_;  // of stream_
  SourceStream stream_;
  std::optional<ParameterSets> described_;  // by stream_
  std::optional<ParameterSets> known_;      // by the newest packet
  std::optional<ParameterSets> decoders_;  // of a decoder that began with the newest key frame; nothing: there was none
  std::vector<std::uint8_t> container_;    // a new header, until the next key frame; empty: none
  std::optional<SentFormat> sent_;         // by the newest key frame, where there are no parameter sets
  bool has_own_sets_ = false;              // the newest packet
  bool sets_came_alone_ = false;           // in a packet without a picture, since the newest key frame
  bool decoders_differ_ = false;           // from known_
  bool any_key_frame_ = false;             // of what is followed has come
  bool awaits_key_frame_ = false;          // it is not described by stream_ yet
  bool is_verified_ = false;               // a frame was decoded by it, or sets came in its packets

  std::deque<Clock::time_point> changes_;
  std::optional<Headers> newest_;                // that stream() has not; by the newest key frame
  std::optional<Clock::time_point> settled_at_;  // they come too often: then it is over, if there is none until then
  LineLimit lines_{std::chrono::seconds(10)};
  LineLimit other_lines_{std::chrono::seconds(10)};

  const AVPacket* packet_ = nullptr;
  AvPacket with_sets_ = make_av_packet();
  Fault fault_ = Fault::none;
  bool shows_picture_ = true;
};

}  // namespace campipe
