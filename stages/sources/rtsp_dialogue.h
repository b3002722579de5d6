// What FFmpeg's RTSP client and a camera say to each other, before the client hears it. It has four uses:
//
// - A refusal is known with its method, track and status, where the client returns no more than a class of errors.
// - A camera that refuses a track that campipe can do without (SETUP of the sound) is not lost for it: the client hears
//   that the track was set up, nothing comes of it, and campipe leaves it out.
// - The client knows Digest with MD5 alone (login_challenge.h). It hears of the one challenge that is answered best;
//   where that is another algorithm it hears MD5, and its answer is replaced by the right one.
// - Answers that the client would take for failures, or read wrongly, are put as it reads them: a refusal of OPTIONS,
//   which need not be known; a transport without the channels that were asked for; spaces in the session's header;
//   URLs of tracks in the description (control_urls.h).
//
// It stands where the bytes pass: the program's own send() and recv() (rtsp_dialogue.cpp, receive_limit.cpp), as far as
// a thread works for such a source. An answer is looked at while it is still in the system's buffer (MSG_PEEK), so that
// the client's poll() keeps working, and whatever is not changed passes as it comes. Behind the answer to PLAY nothing
// is looked at any more, but where the camera asks for logins: then the answers to what the client asks, and all that
// comes where the answers to logins go on being made here.
//
// Used by the source's thread alone.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stages/sources/login_challenge.h"

namespace campipe {

// Of a camera's description (SDP).
struct RtspTrack {
  std::string media;    // "video", "audio", "application"
  std::string codec;    // as it is described: "H264", "PCMU"; empty: it is not said
  std::string control;  // what its SETUP names, as it is written
  int width = 0;        // of its frames, as it is described; 0: it is not said
  int height = 0;
  // For messages: "audio (PCMU)".
  [[nodiscard]] std::string text() const;
};
std::vector<RtspTrack> read_tracks(std::string_view sdp);

class RtspDialogue {
 public:
  struct Rules {
    std::optional<Login> login;  // of the source's URL
    bool with_audio = true;      // the client sets up audio, too; never anything but video and audio
    std::optional<int> video;    // which video track is wanted, counted from 0; nothing: any
    bool tries_tcp = false;      // a transport that is refused is tried again as TCP
    bool whole_controls = true;  // with_whole_controls()
  };
  // An answer that is no success.
  struct Refusal {
    std::string method;
    int status = 0;
    std::string reason;                   // printable
    std::optional<RtspTrack> track = {};  // of SETUP
  };

  RtspDialogue() = default;

  // Another connection. Nothing of the former one is known any more.
  void restart(Rules rules);

  // As long as it lives, the dialogue is that of this thread. One at a time.
  class Use {
   public:
    explicit Use(RtspDialogue& dialogue);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
  };
  // For send() and recv(): they return what those return. `next`: the C library's.
  using Send = ssize_t (*)(int, const void*, std::size_t, int);
  using Receive = ssize_t (*)(int, void*, std::size_t, int);
  ssize_t send(int fd, const void* data, std::size_t size, int flags, Send next);
  ssize_t receive(int fd, void* data, std::size_t size, int flags, Receive next);
  // Of this thread's dialogue, if there is one; nothing leaves them but what those return.
  static ssize_t send_on_thread(int fd, const void* data, std::size_t size, int flags, Send next) noexcept;
  static ssize_t receive_on_thread(int fd, void* data, std::size_t size, int flags, Receive next) noexcept;

  // The newest answer that the client took for a failure; nothing: there was none.
  [[nodiscard]] const std::optional<Refusal>& failure() const { return failure_; }
  // For messages, where the client fails and there is no such answer: "answers SETUP of its video (H264) with 200 OK
  // and 'RTP/AVP;multicast', which does not fit". Behind the source's name; empty: nothing was asked.
  [[nodiscard]] std::string seen() const;
  // Tracks that are left out, with their place among those that the client sets up.
  struct LeftOut {
    std::size_t place = 0;
    std::size_t video_place = 0;  // among those of video
    Refusal why;
  };
  [[nodiscard]] const std::vector<LeftOut>& left_out() const { return left_out_; }
  // The logins that the camera offers, where it refused a request without one or with a wrong one.
  [[nodiscard]] const std::vector<LoginChallenge>& challenges() const { return challenges_; }
  // The description has other URLs than the client would make of it, and one of them is refused.
  [[nodiscard]] bool is_control_refused() const;
  // The one at that place among those that the client sets up. Null: there is none.
  [[nodiscard]] const RtspTrack* track_at(int place) const;
  // Of the first video that the camera describes (RtspTrack::codec); empty: there is none.
  [[nodiscard]] std::string video_codec() const;
  // The track whose SETUP was the last request, where that has no answer. Null: there is none.
  [[nodiscard]] const RtspTrack* unanswered_track() const;
  // What answers is no RTSP.
  [[nodiscard]] bool is_other_protocol() const { return deaf_; }

 private:
  struct Request {
    std::string method;
    std::string uri;
    std::string number;     // CSeq
    std::string transport;  // of SETUP
  };
  struct RtspAnswer {
    int status = 0;
    std::string reason;
    std::string transport;
  };

  ssize_t receive_answer(int fd, void* data, std::size_t size, int flags, Receive next);
  [[nodiscard]] std::size_t description_in(std::string_view answer) const;
  void hear_description(std::string_view description);
  ssize_t pass(int fd, void* data, std::size_t size, int flags, Receive next);
  ssize_t serve(int fd, void* data, std::size_t size, Receive next);
  void count_passed(const char* data, std::size_t size);
  std::string heard(const std::string& answer);
  std::string heard_challenge(const std::string& answer, bool is_stale);
  std::string heard_refusal(const std::string& answer);
  [[nodiscard]] std::string heard_success(const std::string& answer) const;
  [[nodiscard]] bool can_be_left_out(const RtspTrack& track, const Refusal& refusal) const;
  [[nodiscard]] bool is_set_up(const RtspTrack& track) const;
  [[nodiscard]] const RtspTrack* track_of(const std::string& uri) const;

  Rules rules_;
  int fd_ = -1;  // of the connection
  Request request_;
  std::vector<RtspTrack> tracks_;
  std::optional<Refusal> failure_;
  std::vector<LeftOut> left_out_;
  std::vector<LoginChallenge> challenges_;
  std::optional<LoginChallenge> answered_here_;
  unsigned answers_ = 0;  // to that
  bool playing_ = false;
  bool accepted_ = false;             // the request before the newest one
  std::optional<RtspAnswer> answer_;  // to `request_`

  // What is received: at the beginning of an answer or of a packet, where `passing_` is 0 and `instead_` is empty.
  std::size_t passing_ = 0;      // bytes that are passed on as they are
  std::string packet_header_;    // of a packet of RTP, as far as it has come; empty: it is none
  std::string description_;      // of the camera, as far as it has passed
  bool is_description_ = false;  // what passes
  bool has_whole_controls_ = false;
  std::string instead_;       // what the client receives in place of an answer
  std::size_t served_ = 0;    // bytes of it
  std::size_t replaced_ = 0;  // bytes of the answer, which are still in the system's buffer
  bool deaf_ = false;         // what comes is not understood, and is passed on
};

}  // namespace campipe
