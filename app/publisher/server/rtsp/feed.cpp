#include "app/publisher/server/rtsp/feed.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <string_view>

#include "app/publisher/server/rtsp/audio.h"
#include "app/publisher/server/rtsp/jpeg_form.h"
#include "app/publisher/server/rtsp/timestamps.h"
#include "core/c_callback.h"
#include "stages/sinks/stream_headers.h"

namespace campipe {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_preparation = 3s;       // until the first key frame has come out as RTP
constexpr auto longest_key_wait = 2s;          // for a new key frame, where there is an older one
constexpr guint64 longest_queue = 16U << 20U;  // bytes
constexpr guint64 longest_audio_queue = 64U << 10U;
constexpr int most_unfit = 25;  // JPEGs in a row: one that is damaged is left out

std::string source_called(const std::string& name) {
  return "appsrc name=" + name + " is-live=true format=time do-timestamp=false block=false max-bytes=0 ! ";
}

bool has_boxes(const StreamParameters& stream) { return !stream.extradata.empty() && stream.extradata[0] == 1; }

GstCapsPtr caps_of(const StreamParameters& stream) {
  if (stream.codec == "mjpeg") {
    return GstCapsPtr(gst_caps_new_simple("image/jpeg", "width", G_TYPE_INT, stream.format.width, "height", G_TYPE_INT,
                                          stream.format.height, nullptr));
  }
  const bool boxes = has_boxes(stream);
  const bool h264 = stream.codec == "h264";
  GstCapsPtr caps(gst_caps_new_simple(h264 ? "video/x-h264" : "video/x-h265", "stream-format", G_TYPE_STRING,
                                      !boxes ? "byte-stream"
                                      : h264 ? "avc"
                                             : "hvc1",
                                      "alignment", G_TYPE_STRING, "au", nullptr));
  if (boxes) {
    GstBuffer* header = gst_buffer_new_memdup(stream.extradata.data(), stream.extradata.size());
    gst_caps_set_simple(caps.get(), "codec_data", GST_TYPE_BUFFER, header, nullptr);
    gst_buffer_unref(header);
  }
  return caps;
}

GstMemory* shared_memory(const SharedBytes& bytes) {
  // The memory is not written to: it is marked so.
  return gst_memory_new_wrapped(GST_MEMORY_FLAG_READONLY, const_cast<std::uint8_t*>(bytes->data()), bytes->size(), 0,
                                bytes->size(), new SharedBytes(bytes),
                                c_callback<[](gpointer owner) { delete static_cast<SharedBytes*>(owner); }>);
}

GstClockTime time_in(GstPadProbeInfo* info) {
  GstBuffer* buffer = (info->type & GST_PAD_PROBE_TYPE_BUFFER_LIST) != 0
                          ? gst_buffer_list_get(gst_pad_probe_info_get_buffer_list(info), 0)
                          : gst_pad_probe_info_get_buffer(info);
  return GST_BUFFER_PTS(buffer);
}

}  // namespace

std::string without_rtsp_form(const LivePiece& key_frame) {
  const StreamParameters& parameters = key_frame.header->stream;
  if (parameters.codec == "mjpeg") return without_rtp_form(*key_frame.bytes);
  if (parameters.codec != "h264" && parameters.codec != "hevc") return parameters.codec;
  return lacks_headers(parameters) ? parameters.codec + " without parameter sets" : "";
}

std::string rtsp_pipeline(const StreamParameters& stream, const std::optional<AudioParameters>& audio) {
  std::string text = "( " + source_called("source");
  if (stream.codec == "h264")
    text += "h264parse ! rtph264pay name=pay0 pt=96 config-interval=-1 ";
  else if (stream.codec == "hevc")
    text += "h265parse ! rtph265pay name=pay0 pt=96 config-interval=-1 ";
  else
    text += "rtpjpegpay name=pay0 pt=26 ";
  if (audio) text += source_called("audio") + rtsp_payloader(*audio) + " ";
  return text + ")";
}

// What the gate stops never comes through `pad`.
void RtspFeed::close_with(GstPad* pad, const SharedGate& gate) {
  constexpr auto data = static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST);
  gst_pad_add_probe(pad, data,
                    c_callback<[](GstPad*, GstPadProbeInfo* info, gpointer own) {
                      const GstClockTime open_from = static_cast<SharedGate*>(own)->get()->open_from.load();
                      return time_in(info) < open_from ? GST_PAD_PROBE_DROP : GST_PAD_PROBE_OK;
                    },
                               GST_PAD_PROBE_DROP>,
                    new SharedGate(gate), c_callback<[](gpointer own) { delete static_cast<SharedGate*>(own); }>);
}

// Before rtpbin, where it shows while the media is only prepared.
void RtspFeed::look_behind_payloader(GstBin* bin) const {
  constexpr auto data = static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_BUFFER_LIST);
  using Flag = std::shared_ptr<std::atomic<bool>>;
  const GObjectPtr<GstElement> payloader(gst_bin_get_by_name(bin, "pay0"));
  const GObjectPtr<GstPad> pad(gst_element_get_static_pad(payloader.get(), "src"));
  gst_pad_add_probe(pad.get(), data,
                    c_callback<[](GstPad*, GstPadProbeInfo*, gpointer own) {
                      *static_cast<Flag*>(own)->get() = true;
                      return GST_PAD_PROBE_REMOVE;
                    },
                               GST_PAD_PROBE_REMOVE>,
                    new Flag(came_out_), c_callback<[](gpointer own) { delete static_cast<Flag*>(own); }>);
}

RtspFeed::RtspFeed(std::shared_ptr<LiveStream> stream, std::shared_ptr<RtspReaders> readers,
                   std::function<void()> on_end, std::function<void(const std::shared_ptr<const LiveHeader>&)> on_unfit)
    : stream_(std::move(stream)),
      readers_(std::move(readers)),
      on_end_(std::move(on_end)),
      on_unfit_(std::move(on_unfit)),
      viewer_(stream_->watch(LiveForm::packets)) {}

void RtspFeed::start(const Parts& parts, std::optional<AudioParameters> audio) {
  stamps_ = parts.timestamps != RtspTimestamps::off;
  source_.reset(GST_APP_SRC(gst_bin_get_by_name(parts.bin, "source")));
  audio_.stream = std::move(audio);
  if (audio_.stream) {
    audio_.source.reset(GST_APP_SRC(gst_bin_get_by_name(parts.bin, "audio")));
    set_rtsp_caps(audio_.source.get(), *audio_.stream);
  }
  clock_.use(parts.pipeline, parts.rtpbin, audio_.source != nullptr);
  look_behind_payloader(parts.bin);
  // Behind rtpbin, where the library holds back what comes before a reader plays.
  g_signal_connect_data(parts.rtpbin, "pad-added", G_CALLBACK((c_callback<[](GstElement*, GstPad* pad, gpointer gate) {
                          if (std::string_view(GST_PAD_NAME(pad)).starts_with("send_rtp_src_"))
                            close_with(pad, *static_cast<SharedGate*>(gate));
                        }>)),
                        new SharedGate(gate_),
                        c_callback<[](gpointer gate, GClosure*) { delete static_cast<SharedGate*>(gate); }>,
                        GConnectFlags{});
  thread_ = std::jthread([this](const std::stop_token& stopping) { run(stopping); });
}

void RtspFeed::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void RtspFeed::run(const std::stop_token& stopping) {
  LivePiece piece;
  while (!stopping.stop_requested()) {
    // Short, as the thread is asked to stop while it waits.
    const LiveViewer::Next next = viewer_->take(piece, Clock::now() + 100ms);
    if (is_unfit()) {
      on_unfit_(header_);
      GST_ELEMENT_ERROR(
          source_.get(), STREAM, FORMAT,
          ("%s: nothing of it came out as RTP; encode it (encode: {codec: h264})", readers_->stream().c_str()),
          (nullptr));
      return;
    }
    if (next == LiveViewer::Next::timeout) continue;
    if (next == LiveViewer::Next::over || !feed(piece)) {
      gst_app_src_end_of_stream(source_.get());
      if (audio_.source) gst_app_src_end_of_stream(audio_.source.get());
      on_end_();
      return;
    }
  }
}

// The library would wait for it for 20 s, and serve nobody meanwhile.
bool RtspFeed::is_unfit() const {
  return prepared_ && !*came_out_ && Clock::now() - prepared_at_ > longest_preparation;
}

bool RtspFeed::feed(const LivePiece& piece) {
  if (piece.header != header_ && !take_stream(piece)) return false;
  if (piece.audio) {
    feed_audio(piece);
    return true;
  }
  const bool fits = header_->stream.codec != "mjpeg" || without_rtp_form(*piece.bytes).empty();
  unfit_ = fits ? 0 : unfit_ + 1;
  if (!fits) return unfit_ < most_unfit;
  if (!prepared_) {
    if (!piece.key) return true;
    prepared_ = true;
    prepared_at_ = Clock::now();
    begin_time(piece);
    push(piece);
    prepare_audio();
    return true;
  }
  if (readers_->empty() || gst_app_src_get_current_level_bytes(source_.get()) > longest_queue) {
    running_ = false;
    gate_->open_from = Gate::closed;
    keep_time(piece);
    return true;
  }
  if (!running_) {
    if (!begin(piece)) {
      keep_time(piece);
      return true;
    }
  } else if (timeline_.is_over(piece)) {
    begin_time(piece);
  }
  readers_->before(piece);
  push(piece);
  return true;
}

// Audio follows frames that are passed on.
void RtspFeed::feed_audio(const LivePiece& piece) {
  if (!running_ || !audio_.source || !readers_->any_reader_gets(true)) return;
  if (gst_app_src_get_current_level_bytes(audio_.source.get()) > longest_audio_queue) return;
  const std::int64_t time = timeline_.time_of(piece.times.pts);
  if (time <= audio_.last_time) return;
  audio_.last_time = time;
  readers_->before(piece);
  push_audio(piece.bytes, static_cast<GstClockTime>(time), piece.times.duration);
}

// The media cannot be described before each of its streams has something, and audio may not come for long: so this
// stands for it, as the first key frame does for the frames. The gate keeps both from readers.
void RtspFeed::prepare_audio() {
  if (!audio_.source) return;
  push_audio(std::make_shared<const std::vector<std::uint8_t>>(8), static_cast<GstClockTime>(RtspTimeline::lead), 0);
}

// Whether pieces are passed on from this one on.
bool RtspFeed::begin(const LivePiece& piece) {
  if (!piece.key) {
    // No key frame can be had: then the newest one, though it is old.
    if (Clock::now() - readers_->waiting_since() > longest_key_wait) viewer_ = stream_->watch(LiveForm::packets);
    return false;
  }
  running_ = true;
  if (timeline_.is_over(piece)) begin_time(piece);
  gate_->open_from = time_of(std::min(piece.dts, piece.times.pts));
  return true;
}

bool RtspFeed::take_stream(const LivePiece& piece) {
  const StreamParameters& stream = piece.header->stream;
  if (header_ && header_->stream.codec != stream.codec) return false;
  const auto& audio = piece.header->audio;
  const bool has_form = audio && has_rtsp_form(*audio);
  if (has_form ? audio_.stream != audio : audio_.stream.has_value()) return false;
  if (!header_ || header_->stream != stream) {
    gst_app_src_set_caps(source_.get(), caps_of(stream).get());
    with_header_ = stream.codec != "mjpeg" && !has_boxes(stream);
  }
  header_ = piece.header;
  return true;
}

void RtspFeed::begin_time(const LivePiece& piece) {
  timeline_.begin(piece);
  clock_.begin();
}

// For a piece that is not sent: a reader that has just come may get a report before it gets a frame.
void RtspFeed::keep_time(const LivePiece& piece) {
  if (!timeline_.is_over(piece)) clock_.update(piece, timeline_.time_of(piece.times.pts));
}

// Of a stream that no reader has set up the library takes nothing, but for the first piece.
void RtspFeed::push(const LivePiece& piece) {
  clock_.update(piece, timeline_.time_of(piece.times.pts));
  timeline_.advance(piece);
  if (running_ && !readers_->any_reader_gets(false)) return;
  GstBuffer* buffer = gst_buffer_new();
  if (with_header_ && piece.key) {
    const std::vector<std::uint8_t>& header = header_->stream.extradata;
    if (!header.empty())
      gst_buffer_append_memory(buffer, shared_memory(std::make_shared<std::vector<std::uint8_t>>(header)));
    with_header_ = false;  // the payloader repeats it
  }
  gst_buffer_append_memory(buffer, shared_memory(piece.bytes));
  put_times(buffer, time_of(piece.times.pts), time_of(piece.dts));
  if (piece.times.duration > 0) GST_BUFFER_DURATION(buffer) = static_cast<GstClockTime>(piece.times.duration);
  if (!piece.key) GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
  if (gst_app_src_push_buffer(source_.get(), buffer) != GST_FLOW_OK) spdlog::debug("rtsp: a packet was not taken");
}

void RtspFeed::put_times(GstBuffer* buffer, GstClockTime shown, GstClockTime decoded) const {
  GST_BUFFER_PTS(buffer) = shown;
  GST_BUFFER_DTS(buffer) = decoded;
  const auto taken = stamps_ ? clock_.utc_of(static_cast<std::int64_t>(shown)) : std::nullopt;
  if (taken) stamp(buffer, *taken);
}

void RtspFeed::push_audio(const SharedBytes& bytes, GstClockTime time, std::int64_t duration) {
  GstBuffer* buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, shared_memory(bytes));
  put_times(buffer, time, time);
  if (duration > 0) GST_BUFFER_DURATION(buffer) = static_cast<GstClockTime>(duration);
  if (gst_app_src_push_buffer(audio_.source.get(), buffer) != GST_FLOW_OK) spdlog::debug("rtsp: audio was not taken");
}

}  // namespace campipe
