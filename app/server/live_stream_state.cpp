#include "app/server/live_stream_state.h"

#include <algorithm>
#include <utility>

#include "core/log.h"
#include "stages/sinks/stream_headers.h"

namespace campipe {
namespace {

constexpr std::int64_t longest_gap_ns = 10'000'000'000;

// What a key frame tells, without the zeros behind it: they belong to what follows, and differ.
StreamParameters headers_of(const StreamParameters& offered, const PacketView& packet) {
  StreamParameters found = with_headers(offered, packet.data);
  while (!found.extradata.empty() && found.extradata.back() == 0) found.extradata.pop_back();
  return found;
}

PacketView view_of(const LivePiece& piece) { return {*piece.bytes, piece.dts, piece.key, piece.times}; }

}  // namespace

LiveStream::State::State(std::string of_name, const LiveLimits& of_limits)
    : name(std::move(of_name)), limits(of_limits) {
  for (const LiveForm form : {LiveForm::packets, LiveForm::fmp4, LiveForm::mpegts}) of(form).form = form;
}

void LiveStream::State::accept(const PacketView& packet, const StreamParameters& with, Viewers& ready) {
  if (!offered || *offered != with || is_break(packet.dts)) begin(with);
  last_dts = packet.dts;
  if (need_key && !packet.key) return;
  if (packet.key) {
    read_headers(packet);
    begin_group();
  }
  need_key = false;
  group_bytes += packet.data.size();
  const bool fits = group_bytes <= limits.group_bytes && of(LiveForm::packets).group.size() < limits.group_packets;
  if (whole && !fits && !packet.key) shorten_group();
  LivePiece raw;
  raw.header = of(LiveForm::packets).header;
  raw.bytes = std::make_shared<const std::vector<std::uint8_t>>(packet.data.begin(), packet.data.end());
  raw.key = packet.key;
  raw.dts = packet.dts;
  raw.times = packet.times;
  hand_out(of(LiveForm::packets), raw, ready);
  for (const LiveForm name_of_form : {LiveForm::fmp4, LiveForm::mpegts}) {
    Form& form = of(name_of_form);
    if (form.viewers.empty()) continue;
    if (const auto piece = muxed(form, raw)) hand_out(form, *piece, ready);
  }
}

bool LiveStream::State::is_break(std::int64_t dts) const {
  return last_dts && (dts <= *last_dts || dts - *last_dts > longest_gap_ns);
}

void LiveStream::State::begin(const StreamParameters& with) {
  ++serial;
  offered = with;
  stream = with;
  need_key = true;
  told_long_group = false;
  for (Form& form : forms) {
    form.muxer.reset();
    form.header.reset();
    form.group.clear();
    form.failure.clear();
  }
}

// Cameras that send their headers with their pictures only may change them so.
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
  packets.header = std::make_shared<const LiveHeader>(LiveHeader{serial, stream, {}, nullptr});
}

void LiveStream::State::begin_group() {
  whole = true;
  group_bytes = 0;
  for (Form& form : forms) form.group.clear();
}

void LiveStream::State::shorten_group() {
  whole = false;
  for (Form& form : forms) form.group.resize(std::min<std::size_t>(form.group.size(), 1));
  if (std::exchange(told_long_group, true)) return;
  spdlog::warn("{}: key frames are so far apart that new viewers must wait for one (encode.gop sets their distance)",
               name);
}

void LiveStream::State::start(Form& form) {
  try {
    form.muxer = std::make_unique<LiveMuxer>(form.form, stream);
    LiveHeader header{serial, stream, form.muxer->mime(), nullptr};
    if (!form.muxer->header().empty()) {
      header.bytes = std::make_shared<const std::vector<std::uint8_t>>(form.muxer->header());
    }
    form.header = std::make_shared<const LiveHeader>(std::move(header));
    form.failure.clear();
  } catch (const Error& error) {
    fail(form, error.what());
  }
}

void LiveStream::State::fail(Form& form, const std::string& why) {
  form.muxer.reset();
  form.group.clear();
  if (std::exchange(form.failure, why) == why) return;
  spdlog::warn("{}: cannot be watched as {}: {}", name, form.form == LiveForm::fmp4 ? "MP4" : "MPEG-TS", why);
}

// What has failed is tried again at each key frame.
std::optional<LivePiece> LiveStream::State::muxed(Form& form, const LivePiece& raw) {
  if (!form.muxer && raw.key) start(form);
  if (!form.muxer) return std::nullopt;
  try {
    LivePiece piece = raw;
    piece.header = form.header;
    piece.bytes = std::make_shared<const std::vector<std::uint8_t>>(form.muxer->mux(view_of(raw)));
    if (!piece.bytes->empty()) return piece;
  } catch (const Error& error) {
    fail(form, error.what());
  }
  return std::nullopt;
}

void LiveStream::State::hand_out(Form& form, const LivePiece& piece, Viewers& ready) {
  if (whole || piece.key) form.group.push_back(piece);
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
  viewer.begin(form.group, whole);
  form.viewers.push_back(&viewer);
  ++viewers;
}

void LiveStream::State::leave(LiveViewer& viewer) {
  Form& form = of(viewer.form_);
  if (std::erase(form.viewers, &viewer) == 0) return;  // it came after the end
  gone.sent += viewer.sent();
  gone.dropped += viewer.dropped();
  gone.bytes += viewer.bytes();
  --viewers;
  if (!form.viewers.empty() || form.form == LiveForm::packets) return;
  form.muxer.reset();
  form.header.reset();
  form.group.clear();
}

}  // namespace campipe
