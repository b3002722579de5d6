#include "app/publisher/server/rtsp/media.h"

#include <gst/base/gstbasesink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/publisher/server/rtsp/audio.h"
#include "app/publisher/server/rtsp/feed.h"
#include "app/publisher/server/rtsp/reports.h"
#include "app/publisher/server/rtsp/timestamps.h"
#include "core/c_callback.h"

namespace campipe {
namespace {

// GLib's way of deriving a class: structures that begin with their base, and functions written into a table.
struct Factory {
  GstRTSPMediaFactory base;
  std::string* stream;
  RtspMediaContext* context;
  std::string* logged_silent;  // the codec of audio that RTSP cannot carry
};
struct FactoryClass {
  GstRTSPMediaFactoryClass base;
};
struct Media {
  GstRTSPMedia base;
  RtspFeed* feed;
  std::shared_ptr<RtspReaders>* readers;
  RtspTimestamps timestamps;
  GstElement* pipeline;  // its own
};
struct MediaClass {
  GstRTSPMediaClass base;
};

template <typename Derived, typename Base>
Derived* derived(Base* base) {
  return reinterpret_cast<Derived*>(base);
}

constexpr auto unfit_for = std::chrono::minutes(1);
constexpr const char* audio_key = "campipe-audio";  // of a media's element: which it was made for

gpointer media_parent = nullptr;
gpointer factory_parent = nullptr;

gboolean setup_rtpbin(GstRTSPMedia* media, GstElement* rtpbin) {
  const GObjectPtr<GstElement> bin(gst_rtsp_media_get_element(media));
  Media* self = derived<Media>(media);
  intercept_reports(rtpbin, *self->readers);
  const auto* audio = static_cast<const AudioParameters*>(g_object_get_data(G_OBJECT(bin.get()), audio_key));
  self->feed->start({self->pipeline, GST_BIN(bin.get()), rtpbin, self->timestamps},
                    audio != nullptr ? std::optional(*audio) : std::nullopt);
  return TRUE;
}

gboolean unprepare(GstRTSPMedia* media) {
  Media* self = derived<Media>(media);
  self->feed->stop();
  (*self->readers)->clear();
  return static_cast<GstRTSPMediaClass*>(media_parent)->unprepare(media);
}

gboolean handle_message(GstRTSPMedia* media, GstMessage* message) {
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    const GErrorPtr owner(error);
    spdlog::warn("rtsp: a stream cannot be passed on: {}", error->message);
  }
  return static_cast<GstRTSPMediaClass*>(media_parent)->handle_message(media, message);
}

void finalize_media(GObject* object) {
  Media* self = derived<Media>(object);
  delete self->feed;
  delete self->readers;
  static_cast<GObjectClass*>(media_parent)->finalize(object);
}

GType media_type() {
  static const GType type = g_type_register_static_simple(
      GST_TYPE_RTSP_MEDIA, "CampipeRtspMedia", sizeof(MediaClass),
      [](gpointer table, gpointer) {
        media_parent = g_type_class_peek_parent(table);
        auto* media = static_cast<GstRTSPMediaClass*>(table);
        media->setup_rtpbin = c_callback<setup_rtpbin, FALSE>;
        media->unprepare = c_callback<unprepare, FALSE>;
        media->handle_message = c_callback<handle_message, FALSE>;
        static_cast<GObjectClass*>(table)->finalize = c_callback<finalize_media>;
      },
      sizeof(Media), nullptr, GTypeFlags{});
  return type;
}

// What RTSP can carry of the camera's audio.
std::optional<AudioParameters> audio_of(const LiveStream& stream, const Factory& factory) {
  const auto group = stream.newest_group();
  if (group.empty() || !group[0].header->audio) return std::nullopt;
  const AudioParameters& audio = *group[0].header->audio;
  if (has_rtsp_form(audio)) return audio;
  if (std::exchange(*factory.logged_silent, audio.codec) != audio.codec)
    spdlog::warn("{}: RTSP without audio, as it cannot carry {}", *factory.stream, audio.codec);
  return std::nullopt;
}

GstElement* create_element(GstRTSPMediaFactory* factory, const GstRTSPUrl* /*url*/) {
  const Factory* self = derived<Factory>(factory);
  const std::shared_ptr<LiveStream> stream = self->context->rig.stream(*self->stream);
  const auto parameters = stream ? stream->parameters() : std::nullopt;
  if (!parameters) return nullptr;
  if (!has_rtsp_form(*stream, *self->stream, *self->context)) return nullptr;
  const auto audio = audio_of(*stream, *self);
  const std::string pipeline = rtsp_pipeline(*parameters, audio);
  GError* error = nullptr;
  GstElement* element = gst_parse_launch_full(pipeline.c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (error != nullptr) {
    const GErrorPtr owner(error);
    self->context->refusals.log(*self->stream, error->message);
  }
  if (element != nullptr) add_timestamps(GST_BIN(element), self->context->timestamps);
  if (element != nullptr && audio)
    g_object_set_data_full(G_OBJECT(element), audio_key, new AudioParameters(*audio),
                           c_callback<[](gpointer own) { delete static_cast<AudioParameters*>(own); }>);
  return element;
}

// Packets go out when they come: the encoder has seen to their pace. The library configures some sinks
// otherwise after it has added them.
void do_not_wait(GstBaseSink* sink, GParamSpec* /*property*/ = nullptr, gpointer /*data*/ = nullptr) {
  if (gst_base_sink_get_sync(sink) != FALSE) gst_base_sink_set_sync(sink, FALSE);
}

void on_element(GstBin* /*pipeline*/, GstBin* /*parent*/, GstElement* element, gpointer /*data*/) {
  if (!GST_IS_BASE_SINK(element)) return;
  do_not_wait(GST_BASE_SINK(element));
  g_signal_connect(element, "notify::sync", G_CALLBACK(c_callback<do_not_wait>), nullptr);
}

GstElement* create_pipeline(GstRTSPMediaFactory* factory, GstRTSPMedia* media) {
  GstElement* pipeline = static_cast<GstRTSPMediaFactoryClass*>(factory_parent)->create_pipeline(factory, media);
  if (pipeline == nullptr) return nullptr;
  derived<Media>(media)->pipeline = pipeline;
  gst_element_set_start_time(pipeline, GST_CLOCK_TIME_NONE);  // its base time is RtspReportClock's
  g_signal_connect(pipeline, "deep-element-added", G_CALLBACK(c_callback<on_element>), nullptr);
  return pipeline;
}

void configure(GstRTSPMediaFactory* factory, GstRTSPMedia* media) {
  static_cast<GstRTSPMediaFactoryClass*>(factory_parent)->configure(factory, media);
  const Factory* self = derived<Factory>(factory);
  RtspMediaContext* context = self->context;
  const auto readers = std::make_shared<RtspReaders>(*self->stream);
  Media* ours = derived<Media>(media);
  ours->readers = new std::shared_ptr(readers);
  ours->timestamps = context->timestamps;
  // There is one, as create_element() found it; were it gone by now, an empty one ends at once.
  std::shared_ptr<LiveStream> stream = context->rig.stream(*self->stream);
  if (!stream) {
    stream = std::make_shared<LiveStream>();
    stream->close();
  }
  ours->feed = new RtspFeed(
      std::move(stream), readers, [context, readers] { context->dismiss(readers); },
      [context](const std::shared_ptr<const LiveHeader>& header) { context->unfit.add(header); });
  context->medias.add(readers);
}

void finalize_factory(GObject* object) {
  const Factory* self = derived<Factory>(object);
  self->context->refusals.forget(*self->stream);
  delete self->stream;
  delete self->logged_silent;
  static_cast<GObjectClass*>(factory_parent)->finalize(object);
}

GType factory_type() {
  static const GType type = g_type_register_static_simple(
      GST_TYPE_RTSP_MEDIA_FACTORY, "CampipeRtspMediaFactory", sizeof(FactoryClass),
      [](gpointer table, gpointer) {
        factory_parent = g_type_class_peek_parent(table);
        auto* factory = static_cast<GstRTSPMediaFactoryClass*>(table);
        factory->create_element = c_callback<create_element, nullptr>;
        factory->create_pipeline = c_callback<create_pipeline, nullptr>;
        factory->configure = c_callback<configure>;
        static_cast<GObjectClass*>(table)->finalize = c_callback<finalize_factory>;
      },
      sizeof(Factory), nullptr, GTypeFlags{});
  return type;
}

}  // namespace

void RtspUnfit::add(std::weak_ptr<const LiveHeader> header) {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [&](const Entry& entry) { return entry.until < now || entry.header.expired(); });
  entries_.push_back({std::move(header), now + unfit_for});
}

bool RtspUnfit::has(const std::shared_ptr<const LiveHeader>& header) const {
  const auto now = Clock::now();
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(entries_,
                             [&](const Entry& entry) { return entry.until >= now && entry.header.lock() == header; });
}

void RtspRefusals::log(const std::string& stream, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(logged_[stream], why) != why) spdlog::warn("{}: no RTSP: {}", stream, why);
}

void RtspRefusals::forget(const std::string& stream) {
  const std::lock_guard lock(mutex_);
  logged_.erase(stream);
}

bool has_rtsp_form(const LiveStream& stream, const std::string& name, RtspMediaContext& context) {
  const auto group = stream.newest_group();
  if (group.empty()) return true;
  std::string what = without_rtsp_form(group[0]);
  if (what.empty() && context.unfit.has(group[0].header)) what = "this stream: nothing came out as RTP";
  if (what.empty()) return true;
  context.refusals.log(name, "it cannot carry " + what + "; encode it (encode: {codec: h264})");
  return false;
}

void RtspMedias::add(const std::shared_ptr<RtspReaders>& readers) {
  const std::lock_guard lock(mutex_);
  std::erase_if(medias_, [](const auto& media) { return media.expired(); });
  medias_.push_back(readers);
}

std::vector<std::shared_ptr<RtspReaders>> RtspMedias::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<RtspReaders>> all;
  for (const auto& media : medias_) {
    if (auto readers = media.lock()) all.push_back(std::move(readers));
  }
  return all;
}

GObjectPtr<GstRTSPMediaFactory> make_rtsp_factory(const std::string& stream, RtspMediaContext& context) {
  GObjectPtr<GstRTSPMediaFactory> factory(GST_RTSP_MEDIA_FACTORY(g_object_new(factory_type(), nullptr)));
  derived<Factory>(factory.get())->stream = new std::string(stream);
  derived<Factory>(factory.get())->context = &context;
  derived<Factory>(factory.get())->logged_silent = new std::string();
  gst_rtsp_media_factory_set_media_gtype(factory.get(), media_type());
  gst_rtsp_media_factory_set_shared(factory.get(), TRUE);
  int transports = GST_RTSP_LOWER_TRANS_TCP;
  if (!context.encrypted) transports |= GST_RTSP_LOWER_TRANS_UDP;
  gst_rtsp_media_factory_set_protocols(factory.get(), static_cast<GstRTSPLowerTrans>(transports));
  gst_rtsp_media_factory_set_buffer_size(factory.get(), 512U << 10U);
  gst_rtsp_media_factory_set_publish_clock_mode(factory.get(), GST_RTSP_PUBLISH_CLOCK_MODE_NONE);
  // Sender reports are by this clock (publisher/server/rtsp/feed.cpp).
  const GObjectPtr<GstClock> clock(
      GST_CLOCK(g_object_new(GST_TYPE_SYSTEM_CLOCK, "clock-type", GST_CLOCK_TYPE_REALTIME, nullptr)));
  gst_rtsp_media_factory_set_clock(factory.get(), clock.get());
  return factory;
}

std::shared_ptr<RtspReaders> readers_of(GstRTSPMedia* media) {
  if (!G_TYPE_CHECK_INSTANCE_TYPE(media, media_type())) return nullptr;
  return *derived<Media>(media)->readers;
}

std::string missing_rtsp_elements() {
  constexpr std::array needed{"appsrc", "h264parse", "h265parse", "rtph264pay", "rtph265pay",    "rtpjpegpay",
                              "rtpbin", "udpsrc",    "udpsink",   "appsink",    "rtphdrextntp64"};
  std::string missing;
  for (const char* name : needed) {
    if (GstElementFactory* found = gst_element_factory_find(name)) {
      gst_object_unref(found);
    } else {
      missing += (missing.empty() ? "" : ", ") + std::string(name);
    }
  }
  return missing;
}

}  // namespace campipe
