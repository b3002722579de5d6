// What LiveStream keeps under its lock. Only publisher/server/live/stream.cpp and
// publisher/server/live/stream_state.cpp know it.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/publisher/server/live/audience.h"
#include "app/publisher/server/live/muxer.h"
#include "app/publisher/server/live/sound_encoder.h"
#include "app/publisher/server/live/stream.h"

namespace campipe {

struct LiveStream::State {
  struct Form {
    LiveForm form = LiveForm::packets;
    std::unique_ptr<LiveMuxer> muxer;       // null: of `packets`; it has no viewers; it cannot be made
    std::unique_ptr<SoundEncoder> encoder;  // of `sound`, where browsers do not play what comes
    std::shared_ptr<const LiveHeader> header;
    std::vector<LivePiece> group;  // the newest, or its key frame only
    std::string failure;
    void stop() {
      muxer.reset();
      encoder.reset();
    }
    std::string logged_failure;
    std::string logged_silent;         // the codec of audio that it cannot hold
    std::vector<LiveViewer*> viewers;  // each leaves before it goes
  };
  using Viewers = std::vector<std::shared_ptr<LiveViewer>>;

  // The newest GOP, of which each form has its pieces.
  struct Group {
    std::size_t bytes = 0;
    std::size_t frames = 0;
    bool whole = true;  // all of it is kept
  };
  struct Audio {
    std::optional<AudioParameters> now;
    std::optional<AudioParameters> next;  // from the next key frame on
  };

  State(std::string name, const LiveLimits& limits, LiveAudience::OnChange on_audience);

  // Adds those to `ready` who must be woken without the lock.
  void accept(const PacketView& packet, const StreamParameters& stream, Viewers& ready);
  void accept_audio(const PacketView& packet, Viewers& ready);
  void enter(LiveViewer& viewer);
  void leave(LiveViewer& viewer);
  Form& of(LiveForm form) { return forms.at(static_cast<std::size_t>(form)); }
  [[nodiscard]] const Form& of(LiveForm form) const { return forms.at(static_cast<std::size_t>(form)); }

  void begin(const StreamParameters& stream);
  void renew_audio();
  void read_headers(const PacketView& packet);
  [[nodiscard]] bool is_break(std::int64_t dts) const;
  void begin_group();
  void shorten_group();
  void start(Form& form);
  std::optional<AudioParameters> audio_track(Form& form);
  std::optional<LivePiece> muxed(Form& form, const LivePiece& raw);
  static std::vector<std::uint8_t> mux(Form& form, const LivePiece& raw);
  void hand_out(const LivePiece& raw, Viewers& ready);
  void hand_out(Form& form, const LivePiece& piece, Viewers& ready);
  void fail(Form& form, const std::string& why);
  void log_failure(Form& form, const std::string& why) const;

  const std::string name;
  const LiveLimits limits;
  mutable std::mutex mutex;
  bool closed = false;

  std::optional<StreamParameters> offered;
  StreamParameters stream;  // with its headers
  std::uint64_t serial = 0;
  std::optional<std::int64_t> last_dts;
  bool need_key = true;
  Group group;
  bool logged_long_group = false;
  Audio audio;
  std::array<Form, 5> forms;
  LiveCounts gone;  // of viewers who left
  LiveAudience audience;
};

}  // namespace campipe
