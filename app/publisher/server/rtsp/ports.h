// To which ports RTP is sent over UDP: not to those of services, nor back to the server.
#pragma once

namespace campipe {

// From now on SETUP is refused where a reader names such ports. Once GStreamer is initialized.
void restrict_client_ports();

}  // namespace campipe
