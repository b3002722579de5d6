// The GObjects by which GStreamer gets at a channel.
#include <gio/gio.h>

#include <utility>

#include "app/publisher/server/rtsp/channel.h"
#include "app/publisher/server/rtsp/gst_handles.h"
#include "core/c_callback.h"

namespace campipe {
namespace {

constexpr const char* channel_key = "campipe-channel";  // of a socket
constexpr const char* input_key = "campipe-input";      // of its connection, which owns the streams
constexpr const char* output_key = "campipe-output";

// GLib's way of deriving a class: structures that begin with their base, and functions written into a table. The
// streams keep the socket, which owns the channel.
struct Input {
  GInputStream base;
  GSocket* socket;
};
struct InputClass {
  GInputStreamClass base;
};
struct Output {
  GOutputStream base;
  GSocket* socket;
};
struct OutputClass {
  GOutputStreamClass base;
};
gpointer input_parent = nullptr;
gpointer output_parent = nullptr;

// What GLib's class of TCP connections had before use_our_streams().
GInputStream* (*tcp_input_stream)(GIOStream*) = nullptr;
GOutputStream* (*tcp_output_stream)(GIOStream*) = nullptr;

template <typename Derived>
Derived* derived(gpointer base) {
  return static_cast<Derived*>(base);
}

void set_error(GError** error, gssize result, const char* what) {
  const bool waits = result == RtspChannel::would_block;
  g_set_error_literal(error, G_IO_ERROR, waits ? G_IO_ERROR_WOULD_BLOCK : G_IO_ERROR_CONNECTION_CLOSED, what);
}

// A source that is ready when the channel is, or its socket: that only for its end while the channel holds a message.
struct ReadySource {
  GSource base;
  GSocket* socket;
  gpointer descriptor;
  bool listens;
};

gboolean is_ready(GSource* source) {
  const auto* self = reinterpret_cast<ReadySource*>(source);
  return channel_of(self->socket)->ready() || g_source_query_unix_fd(source, self->descriptor) != 0 ? TRUE : FALSE;
}

gboolean prepare(GSource* source, gint* timeout) {
  *timeout = -1;
  auto* self = reinterpret_cast<ReadySource*>(source);
  RtspChannel& channel = *channel_of(self->socket);
  const bool listens = !channel.holds();
  if (std::exchange(self->listens, listens) != listens)
    g_source_modify_unix_fd(source, self->descriptor, listens ? G_IO_IN : GIOCondition{});
  return channel.ready() ? TRUE : FALSE;
}

GSource* make_ready_source(GSocket* socket) {
  static GSourceFuncs functions{c_callback<prepare, FALSE>,
                                c_callback<is_ready, FALSE>,
                                [](GSource*, GSourceFunc, gpointer) -> gboolean { return G_SOURCE_CONTINUE; },
                                [](GSource* source) { g_object_unref(reinterpret_cast<ReadySource*>(source)->socket); },
                                nullptr,
                                nullptr};
  GSource* source = g_source_new(&functions, sizeof(ReadySource));
  auto* self = reinterpret_cast<ReadySource*>(source);
  self->socket = G_SOCKET(g_object_ref(socket));
  self->descriptor = g_source_add_unix_fd(source, g_socket_get_fd(socket), G_IO_IN);
  self->listens = true;
  return source;
}

gboolean is_readable(GPollableInputStream* stream) {
  GSocket* socket = derived<Input>(stream)->socket;
  RtspChannel& channel = *channel_of(socket);
  if (channel.holds()) return FALSE;
  return channel.ready() || g_socket_condition_check(socket, G_IO_IN) != 0 ? TRUE : FALSE;
}

GSource* make_input_source(GPollableInputStream* stream, GCancellable* cancellable) {
  GSource* source = g_pollable_source_new_full(stream, nullptr, cancellable);
  const GSourcePtr ready(make_ready_source(derived<Input>(stream)->socket));
  g_source_add_child_source(source, ready.get());
  return source;
}

gssize read_nonblocking(GPollableInputStream* stream, void* buffer, gsize size, GError** error) {
  RtspChannel& channel = *channel_of(derived<Input>(stream)->socket);
  const gssize count = channel.read({static_cast<char*>(buffer), size});
  if (count >= 0) return count;
  set_error(error, count, channel.refusal().empty() ? "the connection is broken" : channel.refusal().c_str());
  return -1;
}

gboolean is_writable(GPollableOutputStream* stream) {
  return g_socket_condition_check(derived<Output>(stream)->socket, G_IO_OUT) != 0 ? TRUE : FALSE;
}

GSource* make_output_source(GPollableOutputStream* stream, GCancellable* cancellable) {
  const GSourcePtr writable(g_socket_create_source(derived<Output>(stream)->socket, G_IO_OUT, cancellable));
  return g_pollable_source_new_full(stream, writable.get(), cancellable);
}

GPollableReturn writev_nonblocking(GPollableOutputStream* stream, const GOutputVector* parts, gsize count,
                                   gsize* written, GError** /*error*/) {
  *written = 0;
  const gssize result = channel_of(derived<Output>(stream)->socket)->write({parts, count});
  if (result == RtspChannel::would_block) return G_POLLABLE_RETURN_WOULD_BLOCK;
  *written = static_cast<gsize>(result);
  return G_POLLABLE_RETURN_OK;
}

gssize write_nonblocking(GPollableOutputStream* stream, const void* buffer, gsize size, GError** error) {
  const GOutputVector part{buffer, size};
  const gssize result = channel_of(derived<Output>(stream)->socket)->write({&part, 1});
  if (result >= 0) return result;
  set_error(error, result, "it would block");
  return -1;
}

// The streams wait for nothing.
gssize refuse_to_wait(GError** error) {
  g_set_error_literal(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED, "this stream does not block");
  return -1;
}

void finalize_input(GObject* object) {
  g_object_unref(derived<Input>(object)->socket);
  static_cast<GObjectClass*>(input_parent)->finalize(object);
}

void finalize_output(GObject* object) {
  g_object_unref(derived<Output>(object)->socket);
  static_cast<GObjectClass*>(output_parent)->finalize(object);
}

void add_interface(GType type, GType interface, GInterfaceInitFunc fill) {
  const GInterfaceInfo info{fill, nullptr, nullptr};
  g_type_add_interface_static(type, interface, &info);
}

GType make_input_type() {
  const GType type = g_type_register_static_simple(
      G_TYPE_INPUT_STREAM, "CampipeRtspInput", sizeof(InputClass),
      [](gpointer table, gpointer) {
        input_parent = g_type_class_peek_parent(table);
        static_cast<GObjectClass*>(table)->finalize = c_callback<finalize_input>;
        static_cast<GInputStreamClass*>(table)->read_fn = [](GInputStream*, void*, gsize, GCancellable*,
                                                             GError** error) { return refuse_to_wait(error); };
      },
      sizeof(Input), nullptr, GTypeFlags{});
  add_interface(type, G_TYPE_POLLABLE_INPUT_STREAM, [](gpointer table, gpointer) {
    auto* pollable = static_cast<GPollableInputStreamInterface*>(table);
    pollable->is_readable = c_callback<is_readable, FALSE>;
    pollable->create_source = c_callback<make_input_source, nullptr>;
    pollable->read_nonblocking = c_callback<read_nonblocking, -1>;
  });
  return type;
}

GType make_output_type() {
  const GType type = g_type_register_static_simple(
      G_TYPE_OUTPUT_STREAM, "CampipeRtspOutput", sizeof(OutputClass),
      [](gpointer table, gpointer) {
        output_parent = g_type_class_peek_parent(table);
        static_cast<GObjectClass*>(table)->finalize = c_callback<finalize_output>;
        static_cast<GOutputStreamClass*>(table)->write_fn = [](GOutputStream*, const void*, gsize, GCancellable*,
                                                               GError** error) { return refuse_to_wait(error); };
      },
      sizeof(Output), nullptr, GTypeFlags{});
  add_interface(type, G_TYPE_POLLABLE_OUTPUT_STREAM, [](gpointer table, gpointer) {
    auto* pollable = static_cast<GPollableOutputStreamInterface*>(table);
    pollable->is_writable = c_callback<is_writable, FALSE>;
    pollable->create_source = c_callback<make_output_source, nullptr>;
    pollable->write_nonblocking = c_callback<write_nonblocking, -1>;
    pollable->writev_nonblocking = c_callback<writev_nonblocking, G_POLLABLE_RETURN_FAILED>;
  });
  return type;
}

// The stream that `connection` has, or gets now. GStreamer asks for both before a second thread knows the connection.
template <typename Stream, GType (*make_type)()>
gpointer stream_of(GIOStream* connection, const char* key, GSocket* socket) {
  static const GType type = make_type();
  if (gpointer stream = g_object_get_data(G_OBJECT(connection), key)) return stream;
  auto* stream = static_cast<Stream*>(g_object_new(type, nullptr));
  stream->socket = G_SOCKET(g_object_ref(socket));
  g_object_set_data_full(G_OBJECT(connection), key, stream, g_object_unref);
  return stream;
}

GInputStream* input_stream(GIOStream* connection) {
  GSocket* socket = g_socket_connection_get_socket(G_SOCKET_CONNECTION(connection));
  if (channel_of(socket) == nullptr) return tcp_input_stream(connection);
  return G_INPUT_STREAM((stream_of<Input, make_input_type>(connection, input_key, socket)));
}

GOutputStream* output_stream(GIOStream* connection) {
  GSocket* socket = g_socket_connection_get_socket(G_SOCKET_CONNECTION(connection));
  if (channel_of(socket) == nullptr) return tcp_output_stream(connection);
  return G_OUTPUT_STREAM((stream_of<Output, make_output_type>(connection, output_key, socket)));
}

// GStreamer lets GLib make the connection of a socket, of the class that is registered for TCP. Another class cannot be
// registered instead: g_socket_connection_factory_register_type(), called a second time for a protocol, frees the entry
// that it then uses (its hash table owns the keys, which are the values, too: GLib 2.74). So the functions of
// that class are replaced; connections of other sockets get what they got before.
void use_our_streams() {
  static const bool done = [] {
    auto* table = static_cast<GIOStreamClass*>(g_type_class_ref(G_TYPE_TCP_CONNECTION));  // for ever
    tcp_input_stream = table->get_input_stream;
    tcp_output_stream = table->get_output_stream;
    table->get_input_stream = c_callback<input_stream, nullptr>;
    table->get_output_stream = c_callback<output_stream, nullptr>;
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace

RtspChannel& put_channel(GSocket* socket, SSL_CTX* tls, RtspChannel::CheckLogin check_login) {
  use_our_streams();
  auto* channel = new RtspChannel(socket, tls, std::move(check_login));
  g_object_set_data_full(G_OBJECT(socket), channel_key, channel,
                         [](gpointer data) { delete static_cast<RtspChannel*>(data); });
  return *channel;
}

RtspChannel* channel_of(GSocket* socket) {
  return static_cast<RtspChannel*>(g_object_get_data(G_OBJECT(socket), channel_key));
}

}  // namespace campipe
