// Who may see what by RTSP: Basic for every user; Digest for those who have an rtsp_secret, which Basic takes as well,
// as players send the one password that they were given in whichever way the server asks for. Over TLS only Basic is
// asked for. A user without a secret cannot use Digest, and players prefer it where it is offered: where some have a
// secret and others none, the others need TLS, or a player that can be set to use Basic. Answers are the same for
// users with a secret, without one, and who do not exist. A session is its user's: for others there is none of that
// name.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <string>

#include "app/publisher/server/access.h"
#include "app/publisher/server/rtsp/gst_handles.h"
#include "app/publisher/server/rtsp/logins.h"

namespace campipe {

// What was found of the login in a client's request; null: nothing was, and so it is wrong.
using FindRtspLogin = const RtspLogin* (*)(GstRTSPClient* client);
// As who the client was let in by another node, which has checked that; null: it logs in itself.
using FindLetIn = const Identity* (*)(GstRTSPClient* client);
// `logins` outlives it. `tls`: connections are encrypted.
GObjectPtr<GstRTSPAuth> make_rtsp_auth(RtspLogins& logins, FindRtspLogin find_login, FindLetIn find_let_in, bool tls);

// The one who sent something right last over this connection, as of then; without a user: none.
Identity rtsp_identity(GstRTSPClient* client);
// From now on the session is that one's.
void own_session(GstRTSPSession* session, GstRTSPClient* client);
// Whether a user who was let in may still see it. `path`: "/dock/small" or "dock/small"; what counts is the camera.
bool may_view(const Access& access, const Identity& identity, const std::string& path);
// The peer's, as Access wants it.
std::string rtsp_address(GstRTSPClient* client);
// What it counts as where many are counted (login_limit.h).
std::string rtsp_network(GstRTSPClient* client);
// An IPv4 address as such, which a socket of both kinds writes as "::ffff:10.0.0.7".
std::string without_mapping(std::string address);

}  // namespace campipe
