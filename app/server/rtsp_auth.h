// Who may see what by RTSP: Basic for every user; Digest for those who have an rtsp_secret, which Basic takes as well,
// as players send the one password that they were given in whichever way the server asks for. Over TLS only Basic is
// asked for. A user without a secret cannot use Digest, and players prefer it where it is offered: where some have a
// secret and others none, the others need TLS, or a player that tries again.
#pragma once

#include <gst/rtsp-server/rtsp-server.h>

#include <string>

#include "app/server/access.h"
#include "app/server/gst_handles.h"

namespace campipe {

// `access` outlives it. `certificate`: null: no TLS.
GObjectPtr<GstRTSPAuth> make_rtsp_auth(Access& access, GTlsCertificate* certificate);

// The one who sent something right last over this connection; empty: nobody.
std::string rtsp_user(GstRTSPClient* client);
// `path`: "/dock/small" or "dock/small"; what counts is the camera.
bool may_view(const Access& access, const std::string& user, const std::string& path);
// The peer's, as Access wants it.
std::string rtsp_address(GstRTSPClient* client);

}  // namespace campipe
