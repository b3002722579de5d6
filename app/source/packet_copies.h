// A camera's packets on their way to the publisher as they came, without a decoder: video for outputs with codec
// `copy`, audio for recordings. Used by the camera's ingest thread.
//
// Each target has a packet ring of its own, and one of the next epoch when the stream's parameters change. Nothing
// waits for a publisher that does not keep up, unless the camera's policy is `block`: packets up to the next key frame
// are then left out, and counted.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/rings/copy_target.h"
#include "app/rings/correction.h"
#include "app/rings/source_times.h"
#include "app/rings/timeline.h"
#include "app/source/source_clock.h"
#include "core/packet.h"
#include "core/source_stream.h"
#include "ipc/ids.h"
#include "ipc/packet_ring.h"

namespace campipe {

class RigPage;

class PacketCopies {
 public:
  struct Events {
    std::function<void(OutputId output, std::uint64_t epoch, const PacketRingMemory& ring, const StreamParameters&)>
        on_video;
    std::function<void(OutputId output, std::uint64_t epoch, const PacketRingMemory& ring, const AudioParameters&)>
        on_audio;
    std::function<bool()> interrupted;  // asked at least every 100 ms while it waits
    // What is known of the newest frame of that output.
    std::function<FrameMetadata(OutputId output)> metadata = [](OutputId) { return FrameMetadata{}; };
  };
  PacketCopies(const std::vector<CopyTarget>& video, const std::vector<CopyTarget>& audio, bool block,
               const RigPage& page, Events events);

  // The source was opened (again).
  void begin(const SourceStream& stream);
  // Before the first packet, where a source before has passed some on. A source that can go back to a place hands out
  // again what it knows the time of: that is left out. Of others nothing comes again, and time goes on.
  void resume(bool goes_back);
  // Where a source must go back to for what has not been passed on; nothing: to its beginning.
  [[nodiscard]] std::optional<std::int64_t> resume_at() const;
  // The stream's headers are others, from the next packet on, which is a key frame.
  void change_headers();
  // It is another stream: what was passed on is no help to decode it.
  void change_stream();
  // Returns how its time was corrected, beside what `clock` itself corrects. `decodable`: see FollowedStream. Frames
  // that are not to be shown (AV_PKT_FLAG_DISCARD) are left out, with those that refer to them.
  std::optional<Correction> video(const AVPacket& packet, const SourceClock& clock, const PacketTimes& times,
                                  bool decodable = true);
  // `at`: where it lies; nothing: nowhere. False: it is left out, since it has become another sound not long before.
  bool audio(const AVPacket& packet, std::optional<std::int64_t> at, std::int64_t arrival);
  // Frames were left out since they refer to some that are not to be shown; once.
  [[nodiscard]] bool take_cut() { return std::exchange(cut_, false); }
  // All others get nothing any more.
  void keep(const std::vector<OutputId>& outputs);
  // Until then frames are shown; -1: there was none.
  [[nodiscard]] std::int64_t end() const { return end_; }
  // Where a file goes on that begins again when its video has come to `end`: there, or where its audio ends.
  [[nodiscard]] std::int64_t next_turn(std::int64_t end) const;
  void close();

 private:
  struct Track {
    CopyTarget target;
    std::unique_ptr<PacketRingWriter> ring;
    std::uint64_t pushed = 0;
    bool need_key = true;
    bool undecodable = false;                    // what comes up to the next key frame, or that itself
    std::optional<std::int64_t> key_shown = {};  // when the newest key frame is that was passed on
    bool current = false;                        // `ring` is for the stream's parameters as they are
  };
  // What is known of the audio by each of its packets.
  struct Sound {
    AVCodecID codec = AV_CODEC_ID_NONE;
    int sample_rate = 0;
    int channels = 0;
    std::vector<std::uint8_t> config;  // in the packet's own header, or told in the midst of the stream
    friend bool operator==(const Sound&, const Sound&) = default;
  };
  struct Heard {
    std::optional<Sound> now;
    std::optional<Sound> coming;  // instead of it, perhaps
    int times_coming = 0;
    std::optional<std::int64_t> changed_at;  // by the arrival
    std::vector<std::uint8_t> told;          // the newest header that its container has had in the midst; empty: none
    unsigned told_in = 0;                    // SourceStream::serial
  };
  [[nodiscard]] Sound sound_of(const AVCodecParameters& codec, const AVPacket& packet) const;
  void set_audio(const AudioParameters& parameters);
  enum class Follow : std::uint8_t { yes, no, too_soon };
  Follow follow_sound(const AVPacket& packet, std::int64_t arrival);
  void begin_video(const SourceStream& stream);
  void begin_audio(const SourceStream& stream);
  void watch(const Track& track, PacketRingWriter& ring);
  using Announce = std::function<void(const Track&, const PacketRingMemory&)>;
  void renew(Track& track, std::size_t capacity, const Announce& announce);
  void pass(Track& track, PacketView& packet, bool decodable);
  void hide(std::optional<std::int64_t> shown);
  static bool is_passed_on(Track& audio, std::int64_t at);
  void push(Track& track, const PacketView& packet, bool of_video);

  std::vector<Track> video_;
  std::vector<Track> audio_;
  bool block_;
  const RigPage& page_;
  Events events_;
  Timeline packet_times_;  // in the order in which the packets are decoded
  const SourceStream* stream_ = nullptr;
  std::optional<StreamParameters> video_parameters_;
  std::optional<AudioParameters> audio_parameters_;
  Heard heard_;
  bool cut_ = false;
  std::int64_t end_ = -1;
  std::int64_t last_audio_ = -1;
  std::int64_t audio_end_ = -1;
};

}  // namespace campipe
