// One RTSP client's bytes, between its socket and GStreamer: TLS, if it is served, and whole messages only
// (publisher/server/rtsp/framing.h), each after the login that it carries was checked (publisher/server/rtsp/logins.h).
//
// GStreamer makes a GSocketConnection for each socket. Where the socket has a channel, the connection's streams are the
// channel. TLS is OpenSSL's, as GLib's makes handshakes on threads of which there are a few, where ten slow clients
// hold up all others.
//
// A write never fails: what cannot be sent any more is gone, and that the connection is broken comes out when GStreamer
// reads. It locks up when a write fails while a reader catches up (gst-rtsp-server 1.22: check_transport_backlog()
// calls itself with the backlog locked, and on an error takes the stream's lock, which its sending thread holds while
// it waits for the backlog's).
#pragma once

#include <gio/gio.h>
#include <openssl/ssl.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "app/publisher/server/access.h"
#include "app/publisher/server/rtsp/framing.h"
#include "app/publisher/server/rtsp/logins.h"
#include "core/unique_handle.h"

namespace campipe {

class RtspChannel {
 public:
  // What read() and write() return where they moved nothing.
  static constexpr gssize failed = -1;
  static constexpr gssize would_block = -2;

  // Begins to check the login in a whole message; null: there is nothing to be checked.
  using CheckLogin = std::function<std::shared_ptr<const RtspLogin>(std::string_view message)>;

  // `socket` owns it; null: no TLS. Throws std::bad_alloc.
  RtspChannel(GSocket* socket, SSL_CTX* tls, CheckLogin check_login);
  RtspChannel(const RtspChannel&) = delete;
  RtspChannel& operator=(const RtspChannel&) = delete;

  // The server's thread. Bytes of whole messages; 0: the client has ended.
  gssize read(std::span<char> room);
  // There is something to read, though the socket may have nothing more.
  [[nodiscard]] bool ready() { return taken_ || more_ || (framing_.whole() && passes()); }
  // There is a message whose login is still being checked. What the client sends behind it is left in the kernel.
  [[nodiscard]] bool holds() { return framing_.whole() && !passes(); }
  // What was found of the login in the message that was read last; null: it had none.
  [[nodiscard]] const RtspLogin* login() const { return login_.get(); }
  // The client should have completed its message, or the handshake, and has not.
  [[nodiscard]] bool is_late(std::chrono::nanoseconds allowed) const;
  [[nodiscard]] const std::string& refusal() const { return framing_.refusal(); }

  // Who it is, where that was found out elsewhere: nothing more is asked of it. Nothing: it logs in.
  void let_in(Identity identity) { let_in_ = std::move(identity); }
  [[nodiscard]] const std::optional<Identity>& let_in() const { return let_in_; }

  struct SslFree {
    void operator()(SSL* tls) const { ::SSL_free(tls); }
  };
  // What a client's connection goes on with, elsewhere.
  struct Taken {
    UniqueFd fd;
    std::unique_ptr<SSL, SslFree> tls;  // null: none. It is of another descriptor yet
    std::string message;                // that GStreamer read last
    std::string rest;                   // what came behind it
  };
  // The server's thread, while GStreamer handles a message: takes the connection away from it, for which the client
  // has ended and gets no answer. Nothing: there are no descriptors.
  std::optional<Taken> take_over();

  // GStreamer is to see that the client has ended, when it next reads. That is how a connection is to be closed: what
  // gst_rtsp_client_close() frees, threads of medias may be using.
  void end();
  // Nobody reads or writes any more: the descriptor is given back.
  void close();

  // Any thread. How many bytes need not be written again, or would_block.
  gssize write(std::span<const GOutputVector> parts);

 private:
  bool passes();
  [[nodiscard]] bool hung_up() const;
  gssize receive(std::span<char> room);
  gssize receive_decrypted(std::span<char> room);
  gssize send(std::span<const GOutputVector> parts);
  gssize send_encrypted(std::span<const GOutputVector> parts);
  [[nodiscard]] gssize result_of(int result) const;

  GSocket* socket_;
  Clock::time_point opened_ = Clock::now();
  const CheckLogin check_login_;
  std::shared_ptr<const RtspLogin> login_;
  std::optional<Identity> let_in_;
  std::string newest_;   // the message that was read last
  bool asked_ = false;   // for the login of the message that is next
  bool passed_ = false;  // and it may go on
  RtspFraming framing_;
  bool more_ = false;   // a client that sends faster than is read lets others go first
  bool ended_ = false;  // by end()
  std::mutex mutex_;    // of the rest
  bool closed_ = false;
  bool taken_ = false;
  std::unique_ptr<SSL, SslFree> tls_;
  std::atomic<bool> greeted_{true};  // the handshake is complete
};

// From now on GStreamer's connection over `socket`, which is not blocking, goes through the channel that is returned;
// it lives as long as `socket`.
RtspChannel& put_channel(GSocket* socket, SSL_CTX* tls, RtspChannel::CheckLogin check_login);
// Null: it has none.
RtspChannel* channel_of(GSocket* socket);

}  // namespace campipe
