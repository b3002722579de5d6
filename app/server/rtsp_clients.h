// The connections of an RTSP server: how many there may be, how long each may do nothing, and who of them plays what.
// For the server's thread, but for what says otherwise.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <map>
#include <memory>

#include "app/server/access.h"
#include "app/server/rtsp_media.h"
#include "core/clock.h"

namespace campipe {

class RtspClients {
 public:
  // `server` and what is named by reference outlive it.
  RtspClients(GstRTSPServer* server, GstRTSPSessionPool* sessions, RtspMediaContext& context, Access& access);
  ~RtspClients();
  RtspClients(const RtspClients&) = delete;
  RtspClients& operator=(const RtspClients&) = delete;

  // To be called every few seconds: connections that do nothing, and of users who may not see it any more, end.
  void look_after();
  void close_all();

 private:
  static void on_connected(GstRTSPServer*, GstRTSPClient* client, gpointer self);
  static GstRTSPStatusCode before_describe(GstRTSPClient* client, GstRTSPContext* request, gpointer self);
  static void on_closed(GstRTSPClient* client, gpointer self);
  static void on_play(GstRTSPClient* client, GstRTSPContext* request, gpointer self);
  static void on_stop(GstRTSPClient* client, GstRTSPContext* request, gpointer self);
  static void on_session_removed(GstRTSPSessionPool*, GstRTSPSession* session, gpointer self);
  void end_session(const GstRTSPSession* session) const;

  GstRTSPServer* server_;
  GstRTSPSessionPool* sessions_;
  RtspMediaContext& context_;
  Access& access_;
  std::map<GstRTSPClient*, Clock::time_point> idle_since_;  // those that are open
  // A thread that sends tells the library's main loop to close a connection that is broken, without owning it. So what
  // is closed lives on for a while.
  std::map<GstRTSPClient*, GObjectPtr<GstRTSPClient>> owned_;
  std::map<GstRTSPClient*, Clock::time_point> closed_;
};

}  // namespace campipe
