#include "stages/sources/rtsp_dialogue.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "stages/sources/control_urls.h"
#include "stages/sources/next_function.h"
#include "stages/sources/rtsp_text.h"

namespace campipe {
namespace {

constexpr std::size_t longest_head = std::size_t{32} << 10;         // of an answer
constexpr std::size_t longest_description = std::size_t{64} << 10;  // that is looked at
constexpr int longest_sending_ms = 2000;                            // of a request, which fits the system's buffer
constexpr std::size_t packet_head = 4;                              // '$', a channel, and a size of two bytes

thread_local RtspDialogue* this_threads_dialogue = nullptr;

bool peer_has_closed(int fd) {
  pollfd entry{fd, POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

// The connection does not block, and its buffer is empty but for what was sent before.
bool send_whole(int fd, std::string_view text, int flags, RtspDialogue::Send next) {
  while (!text.empty()) {
    const ssize_t count = next(fd, text.data(), text.size(), flags);
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    if (errno == EINTR) continue;
    pollfd entry{fd, POLLOUT, 0};
    if (errno != EAGAIN || ::poll(&entry, 1, longest_sending_ms) <= 0) return false;
  }
  return true;
}

// "interleaved=2-3" of a transport; empty: it has none.
std::string channels_in(const std::string& transport) {
  const auto begin = transport.find("interleaved=");
  return begin == std::string::npos ? "" : transport.substr(begin, transport.find(';', begin) - begin);
}

// Of a request that the camera need not know. Its body stays what it is.
std::string without_refusal(const std::string& answer) {
  return "RTSP/1.0 200 OK" + answer.substr(answer.find_first_of("\r\n"));
}

}  // namespace

RtspDialogue::Use::Use(RtspDialogue& dialogue) { this_threads_dialogue = &dialogue; }
RtspDialogue::Use::~Use() { this_threads_dialogue = nullptr; }

ssize_t RtspDialogue::send_on_thread(int fd, const void* data, std::size_t size, int flags, Send next) noexcept {
  RtspDialogue* dialogue = this_threads_dialogue;
  try {
    return dialogue != nullptr ? dialogue->send(fd, data, size, flags, next) : next(fd, data, size, flags);
  } catch (...) {
    errno = ENOMEM;
    return -1;
  }
}

ssize_t RtspDialogue::receive_on_thread(int fd, void* data, std::size_t size, int flags, Receive next) noexcept {
  RtspDialogue* dialogue = this_threads_dialogue;
  try {
    return dialogue != nullptr ? dialogue->receive(fd, data, size, flags, next) : next(fd, data, size, flags);
  } catch (...) {
    errno = ENOMEM;
    return -1;
  }
}

void RtspDialogue::restart(Rules rules) {
  *this = RtspDialogue();
  rules_ = std::move(rules);
}

ssize_t RtspDialogue::send(int fd, const void* data, std::size_t size, int flags, Send next) {
  const std::string_view text(static_cast<const char*>(data), size);
  const auto request = read_request_line(text);
  if (!request) return next(fd, data, size, flags);
  if (fd != fd_ || rtsp_header(text, "CSeq") == "1") {
    // A connection to another place begins anew; what was left out there says nothing of this one.
    restart(std::move(rules_));
    fd_ = fd;
  }
  request_ = {request->method, request->uri, rtsp_header(text, "CSeq"), rtsp_header(text, "Transport")};
  answer_.reset();
  std::string sent(text);
  const std::string answer = rtsp_header(text, "Authorization");
  if (!answered_here_ || !rules_.login || answer.empty()) return next(fd, data, size, flags);
  const std::string own =
      answer_digest(*answered_here_, *rules_.login, request_.method, request_.uri, ++answers_, random_cnonce());
  replace_rtsp_header(sent, "Authorization", own);
  return send_whole(fd, sent, flags, next) ? static_cast<ssize_t>(size) : -1;
}

ssize_t RtspDialogue::receive(int fd, void* data, std::size_t size, int flags, Receive next) {
  // Where it has asked for a login, its answers to what is asked meanwhile may be challenges.
  const bool awaits_login = answered_here_ || (!challenges_.empty() && !request_.method.empty() && !answer_);
  const bool over = deaf_ || (playing_ && !awaits_login && passing_ == 0 && instead_.empty());
  if (fd != fd_ || over || size == 0) return next(fd, data, size, flags);
  if (!instead_.empty()) return serve(fd, data, size, next);
  if (passing_ > 0) return pass(fd, data, size, flags, next);
  return receive_answer(fd, data, size, flags, next);
}

// At the beginning of an answer, or of a packet.
ssize_t RtspDialogue::receive_answer(int fd, void* data, std::size_t size, int flags, Receive next) {
  char first = 0;
  const ssize_t there = next(fd, &first, 1, flags | MSG_PEEK);
  if (there <= 0) return there;
  if (first == '$') {
    passing_ = packet_head;
    packet_header_.clear();
    return pass(fd, data, size, flags, next);
  }
  std::vector<char> buffer(longest_head);
  const ssize_t count = next(fd, buffer.data(), buffer.size(), flags | MSG_PEEK);
  if (count <= 0) return count;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(count));
  const std::size_t head = size_of_head(text);
  const bool first_line = text.find('\n') != std::string_view::npos;
  const bool known =
      read_status_line(text) || read_request_line(text) || text.starts_with('\r') || text.starts_with('\n');
  if (head == 0 || !known) {
    // The rest of it is waited for, by the client, which asks again.
    if ((known || !first_line) && text.size() < longest_head && !peer_has_closed(fd)) {
      errno = EAGAIN;
      return -1;
    }
    deaf_ = true;
    return next(fd, data, size, flags);
  }
  const std::string answer(text.substr(0, head));
  const std::size_t description = description_in(answer);
  const bool is_whole = text.size() >= head + description;
  if (!is_whole && !peer_has_closed(fd)) {
    errno = EAGAIN;
    return -1;
  }
  instead_ = heard(answer);
  served_ = 0;
  replaced_ = head;
  if (description > 0 && is_whole) {
    replaced_ += description;
    hear_description(text.substr(head, description));
  }
  return serve(fd, data, size, next);
}

// Bytes of a description that is read with the answer's head; 0: there is none, or it is too long for that.
std::size_t RtspDialogue::description_in(std::string_view answer) const {
  const auto status = read_status_line(answer);
  const std::size_t size = rtsp_number(rtsp_header(answer, "Content-Length")).value_or(0);
  const bool is_one = request_.method == "DESCRIBE" && status && status->code < 300;
  return is_one && size <= longest_head - std::min(answer.size(), longest_head) ? size : 0;
}

// Behind the head, which is in `instead_`.
void RtspDialogue::hear_description(std::string_view description) {
  std::string base = rtsp_header(instead_, "Content-Base");
  if (base.find("://") == std::string::npos) base = request_.uri;
  const std::string whole = rules_.whole_controls ? with_whole_controls(description, base) : std::string(description);
  has_whole_controls_ = whole != description;
  tracks_ = read_tracks(whole);
  replace_rtsp_header(instead_, "Content-Length", std::to_string(whole.size()));
  instead_ += whole;
  passing_ = 0;
  is_description_ = false;
}

// Of `instead_`. The answer leaves the system's buffer with the last of it, so that poll() reports something as long as
// there is something.
ssize_t RtspDialogue::serve(int fd, void* data, std::size_t size, Receive next) {
  const std::size_t count = std::min(size, instead_.size() - served_);
  std::memcpy(data, instead_.data() + served_, count);
  served_ += count;
  if (served_ < instead_.size()) return static_cast<ssize_t>(count);
  std::vector<char> gone(replaced_);
  while (replaced_ > 0) {
    const ssize_t taken = next(fd, gone.data(), replaced_, 0);
    if (taken <= 0 && errno != EINTR) break;
    if (taken > 0) replaced_ -= static_cast<std::size_t>(taken);
  }
  instead_.clear();
  return static_cast<ssize_t>(count);
}

ssize_t RtspDialogue::pass(int fd, void* data, std::size_t size, int flags, Receive next) {
  const ssize_t count = next(fd, data, std::min(size, passing_), flags);
  if (count > 0) count_passed(static_cast<const char*>(data), static_cast<std::size_t>(count));
  return count;
}

void RtspDialogue::count_passed(const char* data, std::size_t size) {
  passing_ -= size;
  if (is_description_) {
    description_.append(data, size);
    if (passing_ > 0) return;
    tracks_ = read_tracks(description_);
    description_.clear();
    is_description_ = false;
    return;
  }
  const bool in_head = packet_header_.size() < packet_head && (!packet_header_.empty() || data[0] == '$');
  if (!in_head) return;
  packet_header_.append(data, size);
  if (packet_header_.size() < packet_head) return;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(packet_header_[at]); };
  passing_ = std::size_t{byte(2)} << 8 | byte(3);
}

// What the client hears of an answer.
std::string RtspDialogue::heard(const std::string& answer) {
  packet_header_.assign(packet_head, ' ');  // what follows is no packet
  const auto length = rtsp_number(rtsp_header(answer, "Content-Length"));
  passing_ = length.value_or(0);
  const auto status = read_status_line(answer);
  const std::string number = rtsp_header(answer, "CSeq");
  if (!status || (!number.empty() && number != request_.number)) return answer;
  answer_ = RtspAnswer{status->code, status->reason, rtsp_header(answer, "Transport")};
  const bool is_unknown = status->code == 405 || status->code == 501;
  if (request_.method == "OPTIONS" && is_unknown) return without_refusal(answer);
  const bool was_accepted = std::exchange(accepted_, status->code < 300);
  if (status->code >= 300) {
    failure_ = Refusal{request_.method, status->code, status->reason};
    return status->code == 401 ? heard_challenge(answer, playing_ && was_accepted) : heard_refusal(answer);
  }
  is_description_ = request_.method == "DESCRIBE" && passing_ > 0 && passing_ <= longest_description;
  playing_ = playing_ || request_.method == "PLAY";
  return heard_success(answer);
}

std::string RtspDialogue::heard_success(const std::string& answer) const {
  std::string changed = answer;
  if (const std::string session = rtsp_header(answer, "Session"); session.find(' ') != std::string::npos) {
    std::string dense = session;
    std::erase(dense, ' ');
    replace_rtsp_header(changed, "Session", dense);
  }
  const std::string channels = request_.method == "SETUP" ? channels_in(request_.transport) : "";
  if (!channels.empty() && !answer_->transport.empty() && channels_in(answer_->transport).empty())
    replace_rtsp_header(changed, "Transport", answer_->transport + ";" + channels);
  return changed;
}

// `is_stale`: the answers to the challenge before were right, whether the camera says so or not. The client then asks
// again at once.
std::string RtspDialogue::heard_challenge(const std::string& answer, bool is_stale) {
  challenges_.clear();
  for (const std::string& value : rtsp_headers(answer, "WWW-Authenticate")) {
    for (LoginChallenge& challenge : read_challenges(value)) challenges_.push_back(std::move(challenge));
  }
  const LoginChallenge* best = best_challenge(challenges_);
  answered_here_.reset();
  if (best == nullptr || (challenges_.size() == 1 && is_known_to_ffmpeg(*best) && !is_stale)) return answer;
  LoginChallenge told = *best;
  if (is_stale && told.scheme == "digest") told.fields["stale"] = "true";
  if (!is_known_to_ffmpeg(*best)) {
    answered_here_ = *best;
    answers_ = 0;
    told.fields["algorithm"] = "MD5";
    told.fields.erase("qop");
  }
  std::string changed = answer;
  replace_rtsp_header(changed, "WWW-Authenticate", challenge_value(told));
  return changed;
}

// A track that can be left out is set up, as the client hears it.
std::string RtspDialogue::heard_refusal(const std::string& answer) {
  const RtspTrack* track = request_.method == "SETUP" ? track_of(request_.uri) : nullptr;
  if (track == nullptr) return answer;
  failure_->track = *track;
  if (!can_be_left_out(*track, *failure_)) return answer;
  LeftOut left;
  left.why = *failure_;
  for (const RtspTrack& other : tracks_) {
    if (&other == track) break;
    if (other.media == "video") ++left.video_place;
    if (is_set_up(other)) ++left.place;
  }
  left_out_.push_back(left);
  failure_.reset();
  // With no port of the camera: there is none to which anything could be sent.
  const bool udp = request_.transport.find("client_port") != std::string::npos;
  std::string instead = "RTSP/1.0 200 OK\r\nCSeq: " + request_.number + "\r\n";
  instead += "Transport: " + request_.transport + (udp ? ";server_port=0-0" : "") + "\r\n";
  for (const char* kept : {"Session", "Content-Length"}) {
    if (const std::string value = rtsp_header(answer, kept); !value.empty())
      instead += std::string(kept) + ": " + value + "\r\n";
  }
  return instead + "\r\n";
}

bool RtspDialogue::can_be_left_out(const RtspTrack& track, const Refusal& refusal) const {
  if (refusal.status < 400) return false;
  // Over TCP it may be had.
  const bool by_tcp = request_.transport.find("/TCP") != std::string::npos;
  if (refusal.status == 461 && rules_.tries_tcp && !by_tcp) return false;
  if (track.media != "video") return true;
  std::size_t place = 0;
  bool others = false;
  std::size_t at = 0;
  for (const RtspTrack& other : tracks_) {
    if (other.media != "video") continue;
    const auto is_it = [&](const LeftOut& left) { return left.video_place == at; };
    if (&other == &track) place = at;
    others = others || (&other != &track && std::ranges::none_of(left_out_, is_it));
    ++at;
  }
  return others && (!rules_.video || static_cast<std::size_t>(*rules_.video) != place);
}

// Its control stands at the end of the URI, or is all of it.
const RtspTrack* RtspDialogue::track_of(const std::string& uri) const {
  const RtspTrack* found = nullptr;
  for (const RtspTrack& track : tracks_) {
    const std::string& control = track.control;
    const bool fits = !control.empty() && (uri == control || uri.ends_with("/" + control) ||
                                           (control.starts_with('/') && uri.ends_with(control)));
    if (fits && (found == nullptr || found->control.size() < control.size())) found = &track;
  }
  return found;
}

bool RtspDialogue::is_set_up(const RtspTrack& track) const {
  return track.media == "video" || (track.media == "audio" && rules_.with_audio);
}

const RtspTrack* RtspDialogue::track_at(int place) const {
  for (const RtspTrack& track : tracks_) {
    if (is_set_up(track) && place-- == 0) return &track;
  }
  return nullptr;
}

bool RtspDialogue::is_control_refused() const { return has_whole_controls_ && failure_ && failure_->method == "SETUP"; }

std::string RtspDialogue::video_codec() const {
  const auto video = std::ranges::find(tracks_, "video", &RtspTrack::media);
  return video != tracks_.end() ? video->codec : "";
}

const RtspTrack* RtspDialogue::unanswered_track() const {
  return request_.method == "SETUP" && !answer_ && !deaf_ ? track_of(request_.uri) : nullptr;
}

std::string RtspDialogue::seen() const {
  if (request_.method.empty()) return "";
  const RtspTrack* track = request_.method == "SETUP" ? track_of(request_.uri) : nullptr;
  const std::string what = request_.method + (track != nullptr ? " of its " + track->text() : "");
  if (deaf_) return "answers " + what + " with something that is no RTSP";
  if (!answer_) return "closes the connection without an answer to " + what;
  std::string text = "answers " + what + " with " + std::to_string(answer_->status) + " " + answer_->reason;
  if (request_.method == "SETUP")
    return text + " and the transport '" + shown_line(answer_->transport) + "', which does not fit";
  return text + " and nothing that FFmpeg could use";
}

}  // namespace campipe

extern "C" {

[[gnu::visibility("default")]] ssize_t send(int fd, const void* data, size_t size, int flags) {
  static const auto next = campipe::next_function<campipe::RtspDialogue::Send>("send");
  return campipe::RtspDialogue::send_on_thread(fd, data, size, flags, next);
}
}
