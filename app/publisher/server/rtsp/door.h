// Takes the connections to an RTSP server, and gives them to GStreamer with a channel each
// (publisher/server/rtsp/channel.h). For the thread of the server.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <string>

#include "app/publisher/server/rtsp/clients.h"
#include "app/publisher/server/rtsp/gst_handles.h"
#include "app/publisher/server/rtsp/logins.h"
#include "app/publisher/server/server_tls.h"
#include "core/unique_handle.h"

namespace campipe {

class RtspDoor {
 public:
  // What is named outlives it. `tls`: null: none.
  RtspDoor(GSocket* listener, GstRTSPServer* server, RtspClients& clients, RtspLogins& logins, GMainContext* context,
           ServerTls tls);
  ~RtspDoor() { stop_waiting(); }
  RtspDoor(const RtspDoor&) = delete;
  RtspDoor& operator=(const RtspDoor&) = delete;

  // For connections from now on.
  void renew(ServerTls tls) { tls_ = std::move(tls); }
  // One that another node has let in, as `identity`, and that is at `address`.
  void let_in(UniqueFd connection, Identity identity, const std::string& address);

 private:
  static gboolean on_connections(GSocket*, GIOCondition, gpointer self);
  static gboolean on_pause_over(gpointer self);
  void wait_for(GSource* source, GSourceFunc call);
  void stop_waiting();
  gboolean take_in();
  void welcome(int fd);
  void pause(int error);

  GSocket* listener_;
  GstRTSPServer* server_;
  RtspClients& clients_;
  RtspLogins& logins_;
  GMainContext* context_;
  ServerTls tls_;
  GSourcePtr waiting_;   // for connections, or for the end of a pause
  bool logged_ = false;  // that there are no descriptors
};

}  // namespace campipe
