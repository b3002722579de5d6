// What a camera sends, which is known only when its source is open, and what its configuration becomes by that.
//
// A camera whose configuration depends on it (`codec: auto`; copies, where browsers are served) begins as if it sent
// H.264 that every player plays. The master reports what it really sends each time that it has opened the source; where
// that is something else it passes nothing on. The supervisor then has the camera go, and come anew by resolved().
// There it stays, whatever is sent later, until its configuration is changed: a camera that changes back and forth is
// not restarted each time.
#pragma once

#include <optional>
#include <string>

#include "core/source_stream.h"

namespace campipe {

struct CameraConfig;

struct SentStream {
  std::string codec;     // FFmpeg's name: "h264"
  std::string pixels;    // likewise: "yuv420p"; empty: not known
  int rotation = 0;      // how its frames must be turned and mirrored: core/orientation.h
  bool untimed = false;  // its frames are shown in another order than they come in, and it is unknown when
  bool cut = false;      // by its edit list, frames that others refer to are not to be shown
  friend bool operator==(const SentStream&, const SentStream&) = default;
  static void fields(auto& m, auto&& f) {
    f("codec", m.codec), f("pixels", m.pixels), f("rotation", m.rotation), f("untimed", m.untimed), f("cut", m.cut);
  }
};
// Its frames are reordered, so that its first packet has to be looked at.
bool may_be_untimed(const SourceStream& stream);
// `first`: its first packet; null: there is none, or it has not been looked at.
SentStream sent_stream(const SourceStream& stream, const AVPacket* first);

// One that a source can send. Its names go into the log: they are those that FFmpeg knows, and no others.
bool is_possible(const SentStream& sends);

// Recordings, browsers and players take it as it is, and show it upright.
bool plays_everywhere(const SentStream& sends);
bool browsers_play(const SentStream& sends);
// The camera is as it began. Its configuration may be the one that was asked for, or what that was resolved to.
bool fits(const CameraConfig& camera, const SentStream& sends);
// "h264", or why it does not play everywhere: "hevc, which browsers do not play".
std::string describe(const SentStream& sends);

// What is run of a camera that sends this; nothing: it is not known yet. The same for all that do not depend on it.
CameraConfig resolved(const CameraConfig& asked, const std::optional<SentStream>& sends);
// It is another configuration where the camera does not send what plays everywhere.
bool depends_on_stream(const CameraConfig& asked);
// What becomes of a camera that depends on it, for the log and --check.
std::string outcome(const CameraConfig& asked, const SentStream& sends);

}  // namespace campipe
