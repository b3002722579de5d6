// Owners of what GLib and GStreamer count references of, or want to be given back.
#pragma once

#include <gio/gio.h>
#include <gst/gst.h>

#include <memory>

namespace campipe {

struct GObjectUnref {
  void operator()(gpointer object) const { g_object_unref(object); }
};
template <typename T>
using GObjectPtr = std::unique_ptr<T, GObjectUnref>;

// One more reference of what has another owner.
template <typename T>
GObjectPtr<T> share(T* object) {
  g_object_ref(object);
  return GObjectPtr<T>(object);
}

template <auto release>
struct GRelease {
  template <typename T>
  void operator()(T* thing) const {
    release(thing);
  }
};
using GMainContextPtr = std::unique_ptr<GMainContext, GRelease<g_main_context_unref>>;
using GMainLoopPtr = std::unique_ptr<GMainLoop, GRelease<g_main_loop_unref>>;
using GSourcePtr = std::unique_ptr<GSource, GRelease<g_source_unref>>;
using GErrorPtr = std::unique_ptr<GError, GRelease<g_error_free>>;
using GTextPtr = std::unique_ptr<gchar, GRelease<g_free>>;
using GstCapsPtr = std::unique_ptr<GstCaps, GRelease<gst_caps_unref>>;

}  // namespace campipe
