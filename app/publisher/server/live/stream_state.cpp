#include "app/publisher/server/live/stream_state.h"

#include <algorithm>
#include <utility>

#include "core/log.h"
#include "stages/sinks/stream_headers.h"

namespace campipe {
namespace {

constexpr std::int64_t longest_gap_ns = 10'000'000'000;
constexpr std::size_t most_pieces = 10;  // with those of audio, for each frame that a group may have

// What a key frame holds of its stream, without the zeros behind it: they belong to what follows, and differ.
StreamParameters headers_of(const StreamParameters& offered, const PacketView& packet) {
  StreamParameters found = with_headers(offered, packet.data);
  while (!found.extradata.empty() && found.extradata.back() == 0) found.extradata.pop_back();
  return found;
}

LivePiece piece_of(const PacketView& packet, std::span<const std::uint8_t> data) {
  LivePiece piece;
  piece.bytes = std::make_shared<const std::vector<std::uint8_t>>(data.begin(), data.end());
  piece.dts = packet.dts;
  piece.times = packet.times;
  return piece;
}

PacketView view_of(const LivePiece& piece) { return {*piece.bytes, piece.dts, piece.key, piece.times}; }

const char* name_of(LiveForm form) { return form == LiveForm::mpegts ? "MPEG-TS" : "MP4"; }

}  // namespace

LiveStream::State::State(std::string of_name, const LiveLimits& of_limits, LiveAudience::OnChange on_audience)
    : name(std::move(of_name)), limits(of_limits), audience(std::move(on_audience)) {
  for (const LiveForm form : {LiveForm::packets, LiveForm::fmp4, LiveForm::mpegts, LiveForm::mp4, LiveForm::sound})
    of(form).form = form;
}

void LiveStream::State::accept(const PacketView& packet, const StreamParameters& with, Viewers& ready) {
  if (!offered || *offered != with || is_break(packet.dts)) begin(with);
  last_dts = packet.dts;
  if (need_key && !packet.key) return;
  if (packet.key) {
    renew_audio();
    read_headers(packet);
    begin_group();
  }
  need_key = false;
  group.bytes += packet.data.size();
  ++group.frames;
  const std::size_t pieces = of(LiveForm::packets).group.size();  // with audio
  const bool fits = group.bytes <= limits.group_bytes && group.frames <= limits.group_packets &&
                    pieces < most_pieces * limits.group_packets;
  if (group.whole && !fits && !packet.key) shorten_group();
  LivePiece raw = piece_of(packet, packet.data);
  raw.key = packet.key;
  hand_out(raw, ready);
}

void LiveStream::State::accept_audio(const PacketView& packet, Viewers& ready) {
  if (need_key || !audio.now) return;
  LivePiece raw = piece_of(packet, without_header(*audio.now, packet.data));
  if (raw.bytes->empty()) return;
  group.bytes += raw.bytes->size();
  raw.audio = true;
  hand_out(raw, ready);
}

bool LiveStream::State::is_break(std::int64_t dts) const {
  return last_dts && (dts <= *last_dts || dts - *last_dts > longest_gap_ns);
}

void LiveStream::State::begin(const StreamParameters& with) {
  ++serial;
  offered = with;
  stream = with;
  need_key = true;
  logged_long_group = false;
  for (Form& form : forms) {
    form.stop();
    form.header.reset();
    form.group.clear();
    form.failure.clear();
  }
}

// With a key frame: forms with a track for it begin anew.
void LiveStream::State::renew_audio() {
  if (audio.now == audio.next) return;
  audio.now = audio.next;
  ++serial;
  of(LiveForm::packets).header.reset();
  for (const LiveForm form : {LiveForm::mpegts, LiveForm::mp4, LiveForm::sound}) of(form).stop();
  of(LiveForm::sound).failure.clear();
}

// Cameras that send their headers with their frames only may change them so.
void LiveStream::State::read_headers(const PacketView& packet) {
  if (lacks_headers(*offered)) {
    StreamParameters found = headers_of(*offered, packet);
    if (!lacks_headers(found) && found != stream) {
      if (!lacks_headers(stream)) begin(StreamParameters(*offered));
      stream = std::move(found);
      of(LiveForm::packets).header.reset();
    }
  }
  Form& packets = of(LiveForm::packets);
  if (packets.header) return;
  packets.header = std::make_shared<const LiveHeader>(LiveHeader{serial, stream, {}, nullptr, audio.now});
}

void LiveStream::State::begin_group() {
  group = {};
  for (Form& form : forms) form.group.clear();
}

void LiveStream::State::shorten_group() {
  group.whole = false;
  for (Form& form : forms) form.group.resize(std::min<std::size_t>(form.group.size(), 1));
  if (std::exchange(logged_long_group, true)) return;
  spdlog::warn("{}: key frames are so far apart that new viewers must wait for one (encode.gop sets their distance)",
               name);
}

void LiveStream::State::start(Form& form) {
  try {
    auto track = audio_track(form);
    if (form.form == LiveForm::sound && !can_hold(form.form, *audio.now)) {
      form.encoder = std::make_unique<SoundEncoder>(*audio.now);
      track = form.encoder->parameters();
    }
    form.muxer = std::make_unique<LiveMuxer>(form.form, stream, track);
    LiveHeader header{serial, stream, form.muxer->mime(), nullptr, track};
    if (!form.muxer->header().empty()) {
      header.bytes = std::make_shared<const std::vector<std::uint8_t>>(form.muxer->header());
    }
    form.header = std::make_shared<const LiveHeader>(std::move(header));
    form.failure.clear();
  } catch (const Error& error) {
    fail(form, error.what());
  }
}

// What the form can hold of the camera's audio.
std::optional<AudioParameters> LiveStream::State::audio_track(Form& form) {
  if (!audio.now || form.form == LiveForm::fmp4 || form.form == LiveForm::sound || can_hold(form.form, *audio.now)) {
    form.logged_silent.clear();
    return form.form == LiveForm::fmp4 ? std::nullopt : audio.now;
  }
  if (std::exchange(form.logged_silent, audio.now->codec) != audio.now->codec)
    spdlog::warn("{}: watched as {} without audio, which cannot hold {}", name, name_of(form.form), audio.now->codec);
  return std::nullopt;
}

void LiveStream::State::fail(Form& form, const std::string& why) {
  form.stop();
  form.group.clear();
  form.failure = why;
  // Of fragments only their viewers know whether there is another output for browsers.
  if (form.form != LiveForm::fmp4) log_failure(form, why);
}

void LiveStream::State::log_failure(Form& form, const std::string& why) const {
  if (std::exchange(form.logged_failure, why) == why) return;
  if (form.form == LiveForm::sound) return spdlog::warn("{}: {}", name, why);
  spdlog::warn("{}: cannot be watched as {}: {}", name, name_of(form.form), why);
}

// What has failed is tried again at each key frame; sound, with other sound.
std::optional<LivePiece> LiveStream::State::muxed(Form& form, const LivePiece& raw) {
  const bool is_sound = form.form == LiveForm::sound;
  if (is_sound && !raw.audio) return std::nullopt;
  if (!form.muxer && (is_sound ? form.failure.empty() : raw.key)) start(form);
  if (!form.muxer) return std::nullopt;
  try {
    LivePiece piece = raw;
    piece.header = form.header;
    if (is_sound) {
      piece.key = true;
      piece.audio = false;
    }
    piece.bytes = std::make_shared<const std::vector<std::uint8_t>>(mux(form, raw));
    if (!piece.bytes->empty()) return piece;
  } catch (const Error& error) {
    fail(form, error.what());
  }
  return std::nullopt;
}

std::vector<std::uint8_t> LiveStream::State::mux(Form& form, const LivePiece& raw) {
  const PacketView packet = view_of(raw);
  if (!raw.audio) return form.muxer->mux(packet);
  if (!form.encoder) return form.muxer->mux_audio(packet);
  std::vector<std::uint8_t> fragments;
  for (const SoundEncoder::Sound& sound : form.encoder->encode(packet)) {
    const std::vector<std::uint8_t> fragment = form.muxer->mux_audio(sound.view());
    fragments.insert(fragments.end(), fragment.begin(), fragment.end());
  }
  return fragments;
}

void LiveStream::State::hand_out(const LivePiece& raw, Viewers& ready) {
  Form& packets = of(LiveForm::packets);
  LivePiece own = raw;
  own.header = packets.header;
  hand_out(packets, own, ready);
  for (Form& form : forms) {
    if (&form == &packets || form.viewers.empty()) continue;
    if (const auto piece = muxed(form, raw)) hand_out(form, *piece, ready);
  }
}

// Audio from before the key frame may come behind it: it is for those who have what came before.
void LiveStream::State::hand_out(Form& form, const LivePiece& piece, Viewers& ready) {
  const bool is_late = piece.audio && !form.group.empty() && piece.times.pts < form.group.front().times.pts;
  if (group.whole && !is_late) form.group.push_back(piece);
  const Clock::time_point now = Clock::now();
  for (LiveViewer* viewer : form.viewers) {
    if (!viewer->add(piece, now)) continue;
    if (auto one = viewer->weak_from_this().lock()) ready.push_back(std::move(one));
  }
}

void LiveStream::State::enter(LiveViewer& viewer) {
  Form& form = of(viewer.form_);
  if (form.viewers.empty() && form.form != LiveForm::packets) {
    for (const LivePiece& raw : of(LiveForm::packets).group) {
      if (auto piece = muxed(form, raw)) form.group.push_back(std::move(*piece));
    }
  }
  viewer.begin(form.group, group.whole);
  form.viewers.push_back(&viewer);
  audience.enter();
}

void LiveStream::State::leave(LiveViewer& viewer) {
  Form& form = of(viewer.form_);
  if (std::erase(form.viewers, &viewer) == 0) return;  // it came after the end
  gone.sent += viewer.sent();
  gone.dropped += viewer.dropped();
  gone.bytes += viewer.bytes();
  audience.leave();
  if (!form.viewers.empty() || form.form == LiveForm::packets) return;
  form.stop();
  form.header.reset();
  form.group.clear();
}

}  // namespace campipe
