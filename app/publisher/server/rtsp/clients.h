// The connections of an RTSP server: how many there may be, how long each may do nothing, and who of them plays what.
// For the server's thread.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/publisher/server/access.h"
#include "app/publisher/server/rtsp/logins.h"
#include "app/publisher/server/rtsp/media.h"
#include "app/publisher/server/rtsp/server.h"
#include "core/clock.h"

namespace campipe {

class RtspClients {
 public:
  // `server` and what is named by reference outlive it.
  RtspClients(GstRTSPServer* server, GstRTSPSessionPool* sessions, RtspMediaContext& context, Access& access,
              const RtspLimits& limits);
  ~RtspClients();
  RtspClients(const RtspClients&) = delete;
  RtspClients& operator=(const RtspClients&) = delete;

  // Whether one more from that network may come in; for that, one that does nothing may have to go.
  bool make_room_for(const std::string& network);
  // To be called several times a second: connections that do nothing or send too slowly end, sessions that are not
  // played, and connections of users who may not see any more what they play.
  void look_after();
  void close_all();

 private:
  struct Session {
    GObjectPtr<GstRTSPSession> session;
    Clock::time_point begun;
    bool played = false;
  };
  struct Connection {
    GObjectPtr<GstRTSPClient> client;
    std::string network;
    Clock::time_point opened;
    Clock::time_point idle_since;
    std::vector<Session> sessions;  // that it began
    bool played = false;
    bool ending = false;  // it was asked to
  };

  static void on_connected(GstRTSPServer*, GstRTSPClient* client, gpointer self);
  static void on_session(GstRTSPClient* client, GstRTSPSession* session, gpointer self);
  static GstRTSPStatusCode before_describe(GstRTSPClient* client, GstRTSPContext* request, gpointer self);
  static GstRTSPStatusCode before_setup(GstRTSPClient* client, GstRTSPContext* request, gpointer self);
  bool relay(GstRTSPClient* client, const std::string& camera);
  static void on_closed(GstRTSPClient* client, gpointer self);
  static void on_play(GstRTSPClient* client, GstRTSPContext* request, gpointer self);
  static void on_stop(GstRTSPClient* client, GstRTSPContext* request, gpointer self);
  static void on_session_removed(GstRTSPSessionPool*, GstRTSPSession* session, gpointer self);
  void end_session(const GstRTSPSession* session) const;
  // Of those that `which` selects, the one that is missed least; null: all are needed.
  template <typename Predicate>
  Connection* find_idle(const Predicate& which);
  [[nodiscard]] std::size_t sessions_from(const std::string& network) const;
  void end_late();
  void end_unplayed();
  void forget_closed();

  GstRTSPServer* server_;
  GstRTSPSessionPool* sessions_;
  RtspMediaContext& context_;
  Access& access_;
  const RtspLimits limits_;
  std::map<GstRTSPClient*, Connection> open_;
  // A thread that sends asks the library's main loop to close a connection that is broken, without owning it. So what
  // has played lives on for a while.
  std::multimap<Clock::time_point, GObjectPtr<GstRTSPClient>> closed_;  // until then
};

// As RtspChannel::login(), of its connection.
const RtspLogin* login_of(GstRTSPClient* client);
// As RtspChannel::let_in(), of its connection; null: it was not.
const Identity* let_in_of(GstRTSPClient* client);
// The reader is to be sent away.
void end_connection(GstRTSPClient* client);

}  // namespace campipe
