// The login of a screen that nobody sits at: its browser is given the address /?token=… once.
#pragma once

#include "app/publisher/server/access.h"
#include "app/publisher/server/http/server.h"

namespace campipe {

// Whether a request for a page brings a token.
bool brings_token(const HttpRequest& request);
// Leads on to the same address without the token, with the cookie of a session where the token is right, else to the
// login page. A browser that has a wall's session of that user keeps it, and one that is logged in stays so.
HttpAnswer log_in_wall(const HttpRequest& request, Access& access);
// Sets the wall's cookie again: a browser deletes a cookie 400 days after it was set.
void renew_wall_cookie(const HttpRequest& request, Access& access, HttpAnswer& answer);

}  // namespace campipe
